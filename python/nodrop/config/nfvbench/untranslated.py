"""NFVbench's keys that name what is not here: kept as written, and never passed over in silence when they would act."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from nodrop.config.keys import SHARED, iter_leaves
from nodrop.config.nfvbench.rule import get_key_value
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.targets import find_usable_trex, has_cloud
from nodrop.system.yaml_reader import Key, preview_value

OPENSTACK = "no cloud is (openrc_file, clouds_detail), so nothing is staged in OpenStack"
TREX = "TRex is not the generator, nodrop's own engine sends and receives"
PLUGIN = "NFVbench's plugins are not loaded; nodrop's are Python packages with the entry point nodrop.config"
SILENT = ""
"""Says nothing: it is an output, or has no effect in NFVbench either."""

UNUSED_KEYS: dict[str, str] = {
    "traffic_generator.host_name": SILENT,
    "traffic_generator.tg_gateway_ip_cidrs": "the tester's addresses alone say which link they are on",
    "internal_networks.middle.mpls_transport_labels": "the tester sends nothing into the network between two VMs",
    "cores_used": SILENT,
    "intf_speed_used": SILENT,
    "intf_speed_detected": SILENT,
    "factory_module": PLUGIN,
    "factory_class": PLUGIN,
    "no_vswitch_access": "no plugin reads the counters of a virtual switch here",
    "debug_mask": SILENT,
    "pause_sec": "a trial's counts are read once its last frames have had time to arrive, so no pause is needed",
    "unidir_reverse_traffic_pps": "traffic that goes one way goes that way only",
}
"""Key or section, and what happens instead. What a rule reads is not kept."""

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
    "external_networks": "no cloud is (openrc_file, clouds_detail); write the VLANs of an EXT chain as vlans",
    "edge_networks": "no cloud is (openrc_file, clouds_detail), so routers in the path are of this machine",
    "use_management_port": "a chain in network namespaces needs no login",
    "use_floating_ip": "a chain in network namespaces needs no login",
    "vif_multiqueue_size": "the loopback VNF has one queue on each interface",
    "num_mbufs": "there is no VPP; vnf.queue_slots says how many frames the loopback VNF can hold",
    "no_cleanup": "a lab goes with its run; one that is to stay is brought up with `nodrop lab up`, used with --lab",
}
"""Keys without effect where no cloud is asked for anything, and what happens instead."""

TREX_KEYS = {
    "traffic_generator.generator_profile": TREX,
    "restart": TREX,
    "cache_size": TREX,
    "i40e_mixed": TREX,
    "mbuf_64": TREX,
    "mbuf_factor": TREX,
    "no_flow_stats": "frames are counted anyway, at no cost",
}
"""Keys without effect where nodrop's own engine sends, and what happens instead."""

OUTPUT_KEYS = {
    "json": "the result goes there in NFVbench's form",
    "std_json": "the result goes there in NFVbench's form, in a file of NFVbench's name for it",
}
"""Keys that no rule reads, because whoever acts on them does so by this name."""


def iter_unused_keys() -> Iterator[tuple[Key, str]]:
    """Every kept key that has a value, with what happens instead."""
    for leaf in iter_leaves(NfvbenchConfig):
        if leaf.key[0] in SHARED or leaf.key[0] in OUTPUT_KEYS or any(RULES.of(leaf.key)):
            continue
        near = [".".join(leaf.key[:depth]) for depth in range(len(leaf.key), 0, -1)]
        yield leaf.key, next((UNUSED_KEYS[key] for key in near if key in UNUSED_KEYS), SILENT)


def translation_notes(written: Mapping[str, Any]) -> tuple[str, ...]:
    """What to know about NFVbench's keys that were written: one sentence for each that does something else here.

    Args:
        written: `Config.nfvbench`.
    """
    config = NfvbenchConfig.model_validate({key: value for key, value in written.items() if key not in SHARED})
    default = NfvbenchConfig()
    said = []
    for key, instead in (*iter_unused_keys(), *_without_effect(config)):
        value = get_key_value(config, ".".join(key))
        if instead and _acts(key, value) and value != get_key_value(default, ".".join(key)):
            said.append(f"{'.'.join(key)}: {preview_value(_raw(written, key))} asked; {instead}")
    return (*said, *_adjusted(config))


def _without_effect(config: NfvbenchConfig) -> Iterator[tuple[Key, str]]:
    """Every key that is translated and has no effect beside the others, with what happens instead."""
    tables = ({} if has_cloud(config) else CLOUD_KEYS) | ({} if find_usable_trex(config) else TREX_KEYS)
    for leaf in iter_leaves(NfvbenchConfig):
        near = [".".join(leaf.key[:depth]) for depth in range(len(leaf.key), 0, -1)]
        if found := next((tables[key] for key in near if key in tables), None):
            yield leaf.key, found


def _acts(key: Key, value: Any) -> bool:
    """Whether a value does something in NFVbench: generators do once they have interfaces."""
    if key[-1] == "generator_profile":
        return any(port.get("pci") for each in value for port in (each.model_extra or {}).get("interfaces") or ())
    return bool(value)


def _adjusted(config: NfvbenchConfig) -> Iterator[str]:
    """What is translated, but not to the letter."""
    there = len(os.sched_getaffinity(0))
    if config.cores and config.cores > there and not find_usable_trex(config):
        yield f"cores: {config.cores} asked, {there} there; the engine is given those"
    if config.service_mode and not find_usable_trex(config):
        yield "service_mode: true asked; frames of the trials are kept in files, see capture"
    small = [
        size for each in config.traffic_profile for size in each.l2frame_size if size.isdecimal() and int(size) < 64
    ]
    if small:
        yield f"traffic_profile: frames of {', '.join(small)} bytes asked; Ethernet has at least 64, which is sent"


def _raw(written: Mapping[str, Any], key: Key) -> Any:
    """A value as it was written."""
    value: Any = written
    for part in key:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
