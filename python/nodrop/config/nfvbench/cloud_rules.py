"""Translation rules from NFVbench's OpenStack keys to nodrop's section `openstack`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop.config.nfvbench.rule import NfvbenchSettings, Rules
from nodrop.config.nfvbench.targets import has_cloud

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
"""NFVbench's sections of networks, and nodrop's."""


def expand_path(file: str | None) -> str | None:
    """Return a file's path with `~` expanded; None for none."""
    return str(Path(file).expanduser()) if file else None


def collapse_list(values: Sequence[Any] | None) -> Any:
    """Return a single value alone, so that it is incremented by chain, and several values as a list."""
    return None if not values else values[0] if len(values) == 1 else list(values)


def convert_network_type(name: str) -> str | None:
    """Return None for NFVbench's default, `vlan`: nodrop then derives the type from the tunnel."""
    return None if name == "vlan" else name


RULES.alias("openrc_file", "openstack.openrc", expand_path)
RULES.alias("clouds_detail", "openstack.cloud", lambda name: name or None)
RULES.alias("flavor_type", "openstack.flavor.name")
RULES.alias("flavor.vcpus", "openstack.flavor.vcpus")
RULES.alias("flavor.ram", "openstack.flavor.ram")
RULES.alias("flavor.disk", "openstack.flavor.disk")
RULES.alias("flavor.extra_specs", "openstack.flavor.extra_specs", dict)
RULES.alias("availability_zone", "openstack.availability_zone", lambda zone: (zone or "").partition(":")[0] or None)
RULES.alias("sriov", "openstack.sriov")
RULES.alias("use_sriov_middle_net", "openstack.sriov_middle")
RULES.alias("loop_vm_name", "openstack.server")
RULES.alias("vif_multiqueue_size", "openstack.multiqueue")
RULES.alias("num_mbufs", "openstack.mbufs")
RULES.alias("use_management_port", "openstack.management")
RULES.alias("no_cleanup", "openstack.keep")
RULES.alias("generic_poll_sec", "openstack.poll")
RULES.alias("check_traffic_time_sec", "openstack.active_timeout")

for section, role in NETWORKS.items():
    target = f"openstack.networks.{role}"
    RULES.alias(f"{section}.name", f"{target}.name")
    RULES.alias(f"{section}.subnet", f"{target}.subnet")
    RULES.alias(f"{section}.cidr", f"{target}.cidr")
    RULES.alias(f"{section}.network_type", f"{target}.type", convert_network_type)
    RULES.alias(f"{section}.segmentation_id", f"{target}.segmentation_id", collapse_list)
    RULES.alias(f"{section}.physical_network", f"{target}.physical_network", collapse_list)
for section in ("management_network", "edge_networks.left", "edge_networks.right"):
    RULES.alias(f"{section}.gateway", f"openstack.networks.{NETWORKS[section]}.gateway")


@RULES.rule("vm_image_file", "openstack.image.file openstack.image.name")
def translate_image(settings: NfvbenchSettings) -> NodropKeys:
    """Return the image file, and its stem as the image's name."""
    file = expand_path(settings.config.vm_image_file)
    return {"openstack.image.file": file} | ({"openstack.image.name": Path(file).stem} if file else {})


RULES.derive(  # users without administrator rights set a single name
    "compute_nodes hypervisor_hostname",
    "openstack.hosts",
    lambda config: list(config.compute_nodes or filter(None, (config.hypervisor_hostname,))) or None,
)
RULES.derive(  # as in NFVbench, only with a management interface
    "use_floating_ip use_management_port",
    "openstack.floating_ip",
    lambda config: config.use_floating_ip and config.use_management_port,
)


@RULES.rule(
    "edge_networks.left.router_name edge_networks.right.router_name",
    "openstack.router_names.left openstack.router_names.right",
)
def translate_router_names(settings: NfvbenchSettings) -> NodropKeys:
    """Return the router names that are set; the chain's number is appended to each."""
    edges = {"left": settings.config.edge_networks.left, "right": settings.config.edge_networks.right}
    return {f"openstack.router_names.{side}": edge.router_name for side, edge in edges.items() if edge.router_name}


@RULES.rule(
    "external_networks.left external_networks.right",
    "openstack.external.left openstack.external.right",
    conditions="openrc_file clouds_detail",
)
def translate_external(settings: NfvbenchSettings) -> NodropKeys:
    """Return the networks of an EXT chain, which are looked up only if a cloud is configured."""
    networks = settings.config.external_networks
    is_cloud = has_cloud(settings.config)
    return (
        {
            "openstack.external.left": collapse_list(networks.left) if is_cloud else None,
            "openstack.external.right": collapse_list(networks.right) if is_cloud else None,
        }
        if settings.has("external_networks")
        else {}
    )
