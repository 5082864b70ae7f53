"""What of a plan only an administrator can have, said where a cloud refuses somebody else."""

from collections.abc import Iterator
from contextlib import contextmanager

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan
from nodrop.stage.openstack.api_errors import Refused
from nodrop.stage.openstack.inventory import Inventory
from nodrop.stage.openstack.login import Cloud

FORBIDDEN = 403


@contextmanager
def of_an_administrator(cloud: Cloud, plan: CloudPlan, there: Inventory) -> Iterator[None]:
    """Within it, a refusal for want of a role lists everything that needs one. Raises StageError."""
    try:
        yield
    except Refused as refused:
        if refused.status != FORBIDDEN or cloud.is_admin:
            raise
        listed = "; ".join(admin_needs(plan, there)) or "nothing else"
        raise StageError(f"{refused}. By the usual policies an administrator is needed here for: {listed}") from refused


def admin_needs(plan: CloudPlan, there: Inventory) -> Iterator[str]:
    """What of it needs one, by the services' usual policies, each with the way without.

    Source: the sample policies of Nova and Neutron (os_compute_api:os-flavor-manage, :servers:create:zero_disk_flavor,
    :servers:create:forced_host, create_network:provider:network_type).
    """
    if plan.flavor and not there.flavor:
        yield f"flavor {plan.flavor.name}, which is to be made (have one made, and name it: openstack.flavor.name)"
    if plan.flavor and (there.flavor or {}).get("disk", plan.flavor.disk_gib) == 0 and plan.servers:
        yield f"servers of a flavor without a disk, as {plan.flavor.name} (have one with a disk)"
    if numbered := [
        network.name
        for network in plan.networks
        if network.name not in there.networks and (network.segmentation_id is not None or network.physical_network)
    ]:
        yield (
            f"segmentation ids and physical networks of {', '.join(numbered[:4])}"
            f"{' and more' if len(numbered) > 4 else ''} (have them made, and name them)"
        )
    if plan.hosts:
        yield f"servers on {', '.join(plan.hosts)} (name an availability zone instead)"
