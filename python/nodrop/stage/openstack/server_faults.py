"""Why a server could not be started, in plain words: Nova often says only that there is no host for it."""

import re
from collections.abc import Iterator

from nodrop.model.cloud import CloudPlan, CloudServer
from nodrop.stage.openstack.rest import Json

PAGES = "hw:mem_page_size"
CPUS = "hw:cpu_policy"
NODES = "hw:numa_nodes"
NO_HOST = re.compile(
    r"no valid host|no suitable host|not enough hosts|insufficient|no allocation candidates", re.IGNORECASE
)
PORTS = re.compile(r"binding failed|failed to allocate the network|vif|port ", re.IGNORECASE)
QUOTA = re.compile(r"quota", re.IGNORECASE)
IMAGE = re.compile(r"image", re.IGNORECASE)


def reason(server: CloudServer, plan: CloudPlan, found: Json) -> str:
    """What became of a server, and what to do.

    Args:
        server: as it was planned.
        plan: what else was.
        found: the server as Nova tells it.
    """
    said = " ".join(str((found.get("fault") or {}).get("message") or "").split()).rstrip(".")
    status = found["status"]
    why = said or "Nova does not say why"
    return f"server {server.name} asked for, it is {status}: {why}; {_advice(server, plan, said)}"


def _advice(server: CloudServer, plan: CloudPlan, said: str) -> str:
    if QUOTA.search(said):
        return "a quota is used up: take away what is not needed, or ask an administrator for more"
    if NO_HOST.search(said):
        return f"no compute host has all that it needs: {', '.join(_needs(server, plan))}"
    if PORTS.search(said):
        return (
            "its ports could not be bound on the host: see that an agent or driver for these networks runs there, and "
            "that the physical networks are mapped on it (openstack network agent list)"
        )
    if IMAGE.search(said):
        return "see whether the image is for such a machine (openstack image show)"
    return "look into nova-compute's log on its host"


def _needs(server: CloudServer, plan: CloudPlan) -> Iterator[str]:
    """What a host has to have."""
    if plan.flavor:
        yield f"{plan.flavor.vcpus} vCPUs and {plan.flavor.ram_mib} MiB free"
        specs = plan.flavor.extra_specs
        if specs.get(CPUS) == "dedicated":
            yield "CPUs kept for VMs that have them alone (cpu_dedicated_set)"
        if specs.get(PAGES, "any") not in ("any", "small"):
            yield f"free huge pages ({PAGES}={specs[PAGES]})"
        if NODES in specs:
            yield f"{specs[NODES]} NUMA nodes that each have their share free"
    if direct := [port for port in server.ports if port.vnic_type == "direct"]:
        names = {network.name: network.physical_network for network in plan.networks}
        where = ", ".join(str(names.get(port.network) or port.network) for port in direct)
        yield f"a free virtual function for each of its SR-IOV ports ({where}; pci.device_spec of nova-compute)"
    if plan.hosts:
        yield f"and to be {' or '.join(plan.hosts)}"
    elif plan.availability_zone:
        yield f"and to be in availability zone {plan.availability_zone}"
    if plan.server_group:
        yield f"and to fit the policy {plan.server_group} of the server group"
