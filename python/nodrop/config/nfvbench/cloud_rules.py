"""What NFVbench's keys of OpenStack become: nodrop's under `openstack`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop.config.nfvbench.rule import NfvbenchSettings, Rules

NodropKeys = Mapping[str, Any]
RULES = Rules()
NETWORKS = {
    "internal_networks.left": "left",
    "internal_networks.right": "right",
    "internal_networks.middle": "middle",
    "idle_networks": "idle",
    "management_network": "management",
    "floating_network": "floating",
    "edge_networks.left": "edge_left",
    "edge_networks.right": "edge_right",
}
"""Sections of networks there and here."""


def expand_path(written: str | None) -> str | None:
    """A file's path, with the user's home directory in it; None for none."""
    return str(Path(written).expanduser()) if written else None


def single_or_list(written: Sequence[Any] | None) -> Any:
    """A single one by itself, so that it is counted up; several as a list."""
    return None if not written else written[0] if len(written) == 1 else list(written)


def convert_network_type(written: str) -> str | None:
    """`vlan` is what a network is where its chain is in no tunnel."""
    return None if written == "vlan" else written


RULES.alias("openrc_file", "openstack.openrc", expand_path)
RULES.alias("clouds_detail", "openstack.cloud", lambda name: name or None)
RULES.alias("flavor_type", "openstack.flavor.name")
RULES.alias("flavor.vcpus", "openstack.flavor.vcpus")
RULES.alias("flavor.ram", "openstack.flavor.ram")
RULES.alias("flavor.disk", "openstack.flavor.disk")
RULES.alias("flavor.extra_specs", "openstack.flavor.extra_specs", dict)
RULES.alias("availability_zone", "openstack.availability_zone", lambda zone: zone or None)
RULES.alias("sriov", "openstack.sriov")
RULES.alias("use_sriov_middle_net", "openstack.sriov_middle")
RULES.alias("loop_vm_name", "openstack.server")
RULES.alias("vif_multiqueue_size", "openstack.multiqueue")
RULES.alias("num_mbufs", "openstack.mbufs")
RULES.alias("use_management_port", "openstack.management")
RULES.alias("no_cleanup", "openstack.keep")
RULES.alias("generic_poll_sec", "openstack.poll")
RULES.alias("check_traffic_time_sec", "openstack.active_timeout")

for theirs, ours in NETWORKS.items():
    there = f"openstack.networks.{ours}"
    RULES.alias(f"{theirs}.name", f"{there}.name")
    RULES.alias(f"{theirs}.subnet", f"{there}.subnet")
    RULES.alias(f"{theirs}.cidr", f"{there}.cidr")
    RULES.alias(f"{theirs}.network_type", f"{there}.type", convert_network_type)
    RULES.alias(f"{theirs}.segmentation_id", f"{there}.segmentation_id", single_or_list)
    RULES.alias(f"{theirs}.physical_network", f"{there}.physical_network", single_or_list)
for theirs in ("management_network", "edge_networks.left", "edge_networks.right"):
    RULES.alias(f"{theirs}.gateway", f"openstack.networks.{NETWORKS[theirs]}.gateway")


@RULES.rule("vm_image_file", "openstack.image.file openstack.image.name")
def translate_image(asked: NfvbenchSettings) -> NodropKeys:
    """The image is called what its file is."""
    file = expand_path(asked.config.vm_image_file)
    return {"openstack.image.file": file} | ({"openstack.image.name": Path(file).stem} if file else {})


@RULES.rule("compute_nodes hypervisor_hostname", "openstack.hosts")
def translate_hosts(asked: NfvbenchSettings) -> NodropKeys:
    """Where the VMs run; users who are no administrators write one name."""
    config = asked.config
    return {"openstack.hosts": list(config.compute_nodes or filter(None, (config.hypervisor_hostname,))) or None}


@RULES.rule("use_floating_ip use_management_port", "openstack.floating_ip")
def translate_floating_ip(asked: NfvbenchSettings) -> NodropKeys:
    """As NFVbench has it, only where there is an interface to log in by."""
    return {"openstack.floating_ip": asked.config.use_floating_ip and asked.config.use_management_port}


@RULES.rule(
    "edge_networks.left.router_name edge_networks.right.router_name",
    "openstack.router_names.left openstack.router_names.right",
)
def translate_router_names(asked: NfvbenchSettings) -> NodropKeys:
    """Those that were written; each is followed by the chain's number."""
    edges = {"left": asked.config.edge_networks.left, "right": asked.config.edge_networks.right}
    return {f"openstack.router_names.{side}": edge.router_name for side, edge in edges.items() if edge.router_name}


@RULES.rule(
    "external_networks.left external_networks.right",
    "openstack.external.left openstack.external.right",
    beside="openrc_file clouds_detail",
)
def translate_external(asked: NfvbenchSettings) -> NodropKeys:
    """Networks of an EXT chain are looked up where there is a cloud to ask."""
    config, there = asked.config, asked.config.external_networks
    is_known = bool(config.openrc_file or config.clouds_detail)
    return (
        {
            "openstack.external.left": single_or_list(there.left) if is_known else None,
            "openstack.external.right": single_or_list(there.right) if is_known else None,
        }
        if asked.has("external_networks")
        else {}
    )
