"""Host features exposed by OpenStack (Nova, Placement, Neutron), queried with openstacksdk. Read-only.

Source: https://docs.openstack.org/api-ref/compute/ (os-hypervisors), .../placement/ (resource providers),
.../network/v2/ (agents); os-traits and os-resource-classes.
"""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.model.exposure import FeatureExposure, StackExposure, build_absent, build_exposed, build_partly_exposed

NAME = "OpenStack"
TIMEOUT_S = 10.0
"""Limit for all requests together."""
REQUEST_TIMEOUT_S = 4.0
HYPERVISORS = "2.87"
"""The last microversion of Nova that reports a hypervisor's CPU."""
PLACEMENT = "1.36"
FORBIDDEN = 403
FILES = ("clouds.yaml", "~/.config/openstack/clouds.yaml", "/etc/openstack/clouds.yaml")


class ComputeHost(NamedTuple):
    """API objects of one compute host."""

    hypervisor: dict[str, Any]
    """Nova's os-hypervisors."""
    inventories: dict[str, dict[str, Any]]
    """Placement's, by resource class, of the host and its child providers."""
    usages: dict[str, int]
    traits: frozenset[str]
    agents: Sequence[dict[str, Any]]
    """Neutron's, on the host."""


def query_openstack(hostname: str) -> StackExposure:
    """Query the compute host of this name in the cloud selected by the environment."""
    if not _is_configured():
        return build_unavailable("no cloud is named: neither OS_CLOUD, OS_AUTH_URL nor a clouds.yaml")
    try:
        import openstack  # noqa: F401  (an extra)
    except ImportError:
        return build_unavailable("openstacksdk is not installed: pip install 'nodrop[openstack]'")
    answers: list[StackExposure] = []
    asking = threading.Thread(target=lambda: answers.append(_query(hostname)), name="openstack", daemon=True)
    asking.start()
    asking.join(TIMEOUT_S)
    return answers[0] if answers else build_unavailable(f"it did not answer within {TIMEOUT_S:g} s")


def build_unavailable(reason: str) -> StackExposure:
    """Return an exposure with unknown features and the reason."""
    unknown = FeatureExposure(status="unknown", value=reason)
    return StackExposure(name=NAME, level="orchestrator", why=reason, features=dict.fromkeys(READERS, unknown))


def _is_configured() -> bool:
    config_file = os.environ.get("OS_CLIENT_CONFIG_FILE")
    files = (config_file,) if config_file else FILES
    return bool(os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL")) or any(
        os.path.isfile(Path(each).expanduser())  # noqa: PTH113 - never raises, however closed a home is
        for each in files
    )


def _query(hostname: str) -> StackExposure:
    import openstack

    try:
        cloud = openstack.connect(api_timeout=REQUEST_TIMEOUT_S)
        hypervisors = _get(cloud.compute, "/os-hypervisors/detail", HYPERVISORS)["hypervisors"]
        hypervisor = next((each for each in hypervisors if _is_host(each, hostname)), None)
        if hypervisor is None:
            names = ", ".join(each["hypervisor_hostname"] for each in hypervisors[:5])
            return build_unavailable(
                f"this host, {hostname}, is none of its compute hosts: {names or 'there are none'}"
            )
        return build_exposure(read_compute_host(cloud, hypervisor), read_version(cloud))
    except Exception as error:  # whatever a cloud answers, it ends no command
        return build_unavailable(_format_reason(error))


def _format_reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:160]
    if getattr(getattr(error, "response", None), "status_code", 0) == FORBIDDEN:
        return f"this user may not list compute hosts, an administrator may: {text}"
    return f"{type(error).__name__}: {text}"


def _get(service: Any, path: str, version: str = "") -> Any:
    answer = service.get(path, microversion=version or None)
    answer.raise_for_status()
    return answer.json()


def _is_host(hypervisor: dict[str, Any], hostname: str) -> bool:
    """Return whether the name matches fully or by its first label."""
    name = str(hypervisor.get("hypervisor_hostname", ""))
    return hostname in (name, name.partition(".")[0])


def read_version(cloud: Any) -> str:
    """Read the newest microversion of Nova."""
    document = _get(cloud.compute, "/")
    return f"Nova {document['version'].get('version', '')}" if "version" in document else ""


def read_compute_host(cloud: Any, hypervisor: dict[str, Any]) -> ComputeHost:
    """Read a compute host, listed by Nova, from all services."""
    name = hypervisor["hypervisor_hostname"]
    root = _get(cloud.placement, f"/resource_providers?name={name}", PLACEMENT)["resource_providers"]
    providers = _get(cloud.placement, f"/resource_providers?in_tree={root[0]['uuid']}", PLACEMENT) if root else {}
    inventories: dict[str, dict[str, Any]] = {}
    usages: dict[str, int] = {}
    traits: set[str] = set()
    for each in providers.get("resource_providers", []):
        place = f"/resource_providers/{each['uuid']}"
        inventories |= _get(cloud.placement, f"{place}/inventories", PLACEMENT)["inventories"]
        usages |= _get(cloud.placement, f"{place}/usages", PLACEMENT)["usages"]
        traits.update(_get(cloud.placement, f"{place}/traits", PLACEMENT)["traits"])
    host = str(hypervisor.get("service", {}).get("host", name))
    agents = _get(cloud.network, f"/agents?host={host}")["agents"]
    return ComputeHost(hypervisor, inventories, usages, frozenset(traits), agents)


def build_exposure(host: ComputeHost, version: str = "") -> StackExposure:
    """Build the exposure from the services' data."""
    return StackExposure(
        name=NAME, level="orchestrator", version=version, features={key: way(host) for key, way in READERS.items()}
    )


def _describe_hypervisor(host: ComputeHost) -> FeatureExposure:
    kind = host.hypervisor.get("hypervisor_type")
    place = "Nova os-hypervisors: hypervisor_type, state"
    return build_exposed(f"{kind}, {host.hypervisor.get('state')}", place) if kind else build_absent("type", place)


def _build_inventory_reader(name: str, what: str) -> Callable[[ComputeHost], FeatureExposure]:
    place = f"Placement inventories: {name}"

    def way(host: ComputeHost) -> FeatureExposure:
        inventory = host.inventories.get(name)
        if inventory is None:
            return build_absent(f"{what}: no inventory of {name}", place)
        return build_exposed(f"{_count_free(host, name)} of {inventory['total']} {name} free", place)

    return way


def _count_free(host: ComputeHost, name: str) -> int:
    inventory = host.inventories[name]
    whole = (inventory["total"] - inventory.get("reserved", 0)) * inventory.get("allocation_ratio", 1.0)
    return int(whole) - host.usages.get(name, 0)


def _build_class_reader(*words: str, what: str, partly: bool = False) -> Callable[[ComputeHost], FeatureExposure]:
    """Return a reader for device resource classes whose names contain any of these words."""
    place = f"Placement resource classes: {' or '.join(words)}"

    def way(host: ComputeHost) -> FeatureExposure:
        classes = sorted(name for name in host.inventories if any(word in name for word in words))
        if not classes:
            return build_absent(what, place)
        value = ", ".join(f"{name}={host.inventories[name]['total']}" for name in classes)
        return (build_partly_exposed if partly else build_exposed)(value, place)

    return way


def _build_trait_reader(*words: str, what: str) -> Callable[[ComputeHost], FeatureExposure]:
    place = f"Placement traits: {' or '.join(words)}"

    def way(host: ComputeHost) -> FeatureExposure:
        traits = sorted(trait for trait in host.traits if any(word in trait for word in words))
        if not traits:
            return build_absent(what, place)
        return build_exposed(", ".join(traits[:3]) + (f" and {len(traits) - 3} more" if len(traits) > 3 else ""), place)

    return way


def _describe_cpu(host: ComputeHost) -> FeatureExposure:
    info = host.hypervisor.get("cpu_info")
    flags = [trait for trait in host.traits if trait.startswith("HW_CPU_")]
    place = "Nova os-hypervisors: cpu_info; Placement traits: HW_CPU_*"
    model = info.get("model") if isinstance(info, dict) else None
    if not model and not flags:
        return build_absent("model and no trait", place)
    value = f"{model or 'no model'}, {len(flags)} traits"
    return build_exposed(value, place) if model and flags else build_partly_exposed(value, place)


def _describe_ovs(host: ComputeHost) -> FeatureExposure:
    place = "Neutron agents: configurations.datapath_type"
    kinds = {each.get("configurations", {}).get("datapath_type") for each in host.agents} - {None}
    if not kinds:
        return build_absent("agent that tells its datapath", place)
    return build_exposed(f"datapath {', '.join(sorted(kinds))}{' (user space)' if 'netdev' in kinds else ''}", place)


def _describe_cores(host: ComputeHost) -> FeatureExposure:
    place = "Placement inventories and usages: VCPU, PCPU"
    counts = [f"{_count_free(host, name)} {name} free" for name in ("VCPU", "PCPU") if name in host.inventories]
    return (
        build_partly_exposed(f"{', '.join(counts)}, by number and not by name", place)
        if counts
        else build_absent("inventory", place)
    )


def _describe_isolation(host: ComputeHost) -> FeatureExposure:
    place = "Placement inventories: PCPU"
    inventory = host.inventories.get("PCPU")
    if inventory is None:
        return build_absent("inventory of PCPU: no cpu_dedicated_set", place)
    return build_partly_exposed(
        f"{inventory['total']} CPUs kept for VMs that have them alone; whether the host leaves them alone is not said",
        place,
    )


def _describe_kernel(host: ComputeHost) -> FeatureExposure:
    place = "Nova os-hypervisors: hypervisor_version, servers' details"
    reported = host.hypervisor.get("hypervisor_version")
    return build_absent(f"kernel: hypervisor_version is {reported}, that of the emulator", place)


READERS: dict[str, Callable[[ComputeHost], FeatureExposure]] = {
    "hypervisor": _describe_hypervisor,
    "iommu": _build_trait_reader("IOMMU", what="trait of it"),
    "direct-cache": _build_trait_reader("DDIO", "DIRECT_CACHE", what="trait of it"),
    "memory": _build_inventory_reader("MEMORY_MB", "memory"),
    "large-pages": _build_class_reader("HUGEPAGE", "MEMORY_PAGE", what="inventory of pages: Nova keeps them to itself"),
    "nic": _build_class_reader(
        "CUSTOM_PCI_", "NET_BW_", what="PCI device in Placement, and no bandwidth of a card", partly=True
    ),
    "crypto": _build_class_reader("CRYPTO", "QAT", what="such device in Placement"),
    "pci-socket": _build_trait_reader("NUMA", "SOCKET", what="trait of a node or socket"),
    "pci-bandwidth": _build_class_reader("PCI_BW", "PCI_BANDWIDTH", what="inventory of it"),
    "sriov": _build_class_reader("SRIOV_NET_VF", "_VF", what="virtual functions in Placement"),
    "cpu": _describe_cpu,
    "ovs": _describe_ovs,
    "cores": _describe_cores,
    "isolation": _describe_isolation,
    "core-socket": _build_trait_reader("NUMA", "SOCKET", what="trait of a node or socket"),
    "kernel": _describe_kernel,
    "tlb": _build_trait_reader("TLB", what="trait of it"),
}
"""By the key of the row."""
