"""NFVbench's keys without an effect in nodrop: kept unchanged, and reported if they would act in NFVbench."""

import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from nodrop.config.keys import SHARED, iter_leaves
from nodrop.config.nfvbench.rule import get_key_value
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.targets import find_usable_trex, has_cloud
from nodrop.system.yaml_reader import Key, preview_value

OPENSTACK = "no cloud is configured (openrc_file, clouds_detail), so nothing is staged in OpenStack"
TREX = "the generator is nodrop's engine, not TRex"
PLUGIN = "NFVbench's plugins are not loaded; nodrop's plugins are Python packages with the entry point nodrop.config"
SILENT = ""
"""No note: the key is an output, or has no effect in NFVbench either."""

UNUSED_KEYS: dict[str, str] = {
    "traffic_generator.host_name": SILENT,
    "traffic_generator.tg_gateway_ip_cidrs": "the tester's addresses determine their link",
    "internal_networks.middle.mpls_transport_labels": "the tester sends nothing into the network between two VMs",
    "cores_used": SILENT,
    "intf_speed_used": SILENT,
    "intf_speed_detected": SILENT,
    "factory_module": PLUGIN,
    "factory_class": PLUGIN,
    "no_vswitch_access": "nodrop has no plugin that reads the counters of a virtual switch",
    "debug_mask": SILENT,
    "pause_sec": "no pause is needed: each trial waits for its last frames before its counts are read",
    "unidir_reverse_traffic_pps": "unidirectional traffic has no reverse frames",
}
"""Notes on keys and sections that no rule reads."""

CLOUD_KEYS = {
    "vm_image_file": OPENSTACK,
    "flavor_type": OPENSTACK,
    "flavor": OPENSTACK,
    "availability_zone": OPENSTACK,
    "compute_nodes": OPENSTACK,
    "hypervisor_hostname": OPENSTACK,
    "sriov": OPENSTACK,
    "use_sriov_middle_net": OPENSTACK,
    "loop_vm_name": OPENSTACK,
    "idle_networks": OPENSTACK,
    "external_networks": "no cloud is configured (openrc_file, clouds_detail); write an EXT chain's VLANs as vlans",
    "edge_networks": "no cloud is configured (openrc_file, clouds_detail), so routers in the path are local",
    "use_management_port": "VNFs in network namespaces need no login",
    "use_floating_ip": "VNFs in network namespaces need no login",
    "vif_multiqueue_size": "the loopback VNF has one queue per interface",
    "num_mbufs": "VPP does not run; vnf.queue_slots sets the queue size of the loopback VNF",
    "no_cleanup": "a private lab ends with its run; bring up a persistent one with `nodrop lab up`, use it with --lab",
}
"""Notes on keys that have no effect unless a cloud is configured."""

TREX_KEYS = {
    "traffic_generator.generator_profile": TREX,
    "restart": TREX,
    "cache_size": TREX,
    "i40e_mixed": TREX,
    "mbuf_64": TREX,
    "mbuf_factor": TREX,
    "no_flow_stats": "nodrop's engine always counts frames, at no cost",
}
"""Notes on keys that have no effect if nodrop's engine sends."""

OUTPUT_KEYS = {
    "json": "the result is written there in NFVbench's format",
    "std_json": "the result is written there in NFVbench's format, under NFVbench's file name",
}
"""Keys that no rule reads, because the exporters of results read them by this name."""


@functools.cache
def list_unused_keys() -> tuple[tuple[Key, str], ...]:
    """Return every unused key that has a value, with its note; cached, since every run compares all keys and rules."""
    return tuple(_iter_unused_keys())


def _iter_unused_keys() -> Iterator[tuple[Key, str]]:
    for leaf in iter_leaves(NfvbenchConfig):
        if leaf.key[0] in SHARED or leaf.key[0] in OUTPUT_KEYS or any(RULES.find(leaf.key)):
            continue
        paths = [".".join(leaf.key[:depth]) for depth in range(len(leaf.key), 0, -1)]
        yield leaf.key, next((UNUSED_KEYS[key] for key in paths if key in UNUSED_KEYS), SILENT)


def list_translation_notes(original: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note for each of NFVbench's keys that is set and acts differently in nodrop.

    Args:
        original: `Config.nfvbench`.
    """
    config = NfvbenchConfig.model_validate({key: value for key, value in original.items() if key not in SHARED})
    default = NfvbenchConfig()
    notes = []
    for key, note in (*list_unused_keys(), *_list_ineffective_keys(config)):
        value = get_key_value(config, ".".join(key))
        if note and _has_effect(key, value) and value != get_key_value(default, ".".join(key)):
            notes.append(f"{'.'.join(key)}: no effect ({preview_value(_get_original(original, key))}); {note}")
    return (*notes, *_list_adjustment_notes(config))


def _list_ineffective_keys(config: NfvbenchConfig) -> Iterator[tuple[Key, str]]:
    """Yield every translated key that has no effect with the other keys, with its note."""
    tables = ({} if has_cloud(config) else CLOUD_KEYS) | ({} if find_usable_trex(config) else TREX_KEYS)
    for leaf in iter_leaves(NfvbenchConfig):
        paths = [".".join(leaf.key[:depth]) for depth in range(len(leaf.key), 0, -1)]
        if note := next((tables[key] for key in paths if key in tables), None):
            yield leaf.key, note


def _has_effect(key: Key, value: Any) -> bool:
    """Return whether a value has an effect in NFVbench: generators do once they have interfaces."""
    if key[-1] == "generator_profile":
        return any(port.get("pci") for each in value for port in (each.model_extra or {}).get("interfaces") or ())
    return bool(value)


def _list_adjustment_notes(config: NfvbenchConfig) -> Iterator[str]:
    """Yield notes on values that are not translated literally."""
    available = len(os.sched_getaffinity(0))
    if config.cores and config.cores > available and not find_usable_trex(config):
        yield f"cores: only {available} available ({config.cores}); the engine uses those"
    if config.service_mode and not find_usable_trex(config):
        yield "service_mode: replaced (true); frames of the trials are captured to files, see the section capture"
    small = [
        size for each in config.traffic_profile for size in each.l2frame_size if size.isdecimal() and int(size) < 64
    ]
    if small:
        yield f"traffic_profile: frame sizes below Ethernet's minimum ({', '.join(small)}); 64 bytes are sent"


def _get_original(original: Mapping[str, Any], key: Key) -> Any:
    """Return a value as the user wrote it."""
    value: Any = original
    for part in key:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
