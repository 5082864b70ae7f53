"""What a stage made, taken away again when it could not be brought up, or is not needed any more."""

from collections.abc import Iterator, Sequence

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan, CloudResource
from nodrop.stage.base import OnProgress
from nodrop.stage.openstack import cleanup
from nodrop.stage.openstack.login import Cloud
from nodrop.system.log_files import LOGGER

AGAIN = "run nodrop cleanup when the cloud is well again"


def take_away(cloud: Cloud, resources: Sequence[CloudResource], on_progress: OnProgress) -> str:
    """Take away what was made, and say how that went; what was found stays. Never raises for what a cloud says."""
    made = [each for each in resources if not each.found]
    if not made:
        return "Nothing was made"
    kept = cleanup.take_away(cloud, made, on_progress)
    if not kept:
        return f"What was made was taken away again ({counted(made)})"
    named = ", ".join(f"{each.resource.kind} {each.resource.name}" for each in kept[:8])
    more = f" and {len(kept) - 8} more" if len(kept) > 8 else ""
    return f"What was made was taken away again but for {named}{more} ({kept[0].why}): {AGAIN}"


def stray(cloud: Cloud, plan: CloudPlan, known: Sequence[CloudResource]) -> Iterator[CloudResource]:
    """What carries the plan's mark and one of its names and is on no record: made by a request without an answer."""
    ids = {each.id for each in known}
    names = _names(plan)
    try:
        left = cleanup.find(cloud, plan.label)
    except StageError as error:
        LOGGER.warning("what requests without an answer made could not be looked for: %s", error)
        return
    for each in left:
        name = each.resource.name
        is_joint = any(name.startswith(f"{router.name}-") for router in plan.routers)
        if each.resource.id not in ids and (name in names or is_joint):
            yield each.resource


def counted(resources: Sequence[CloudResource]) -> str:
    """`2 networks, 2 subnets, 4 ports`."""
    counts: dict[str, int] = {}
    for each in resources:
        kind = each.kind.replace("_", " ")
        counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items())


def _names(plan: CloudPlan) -> frozenset[str]:
    """Of all that a plan makes."""
    return frozenset(
        name
        for name in (
            plan.image.name if plan.image else None,
            plan.flavor.name if plan.flavor else None,
            *(network.name for network in plan.networks if not network.must_exist),
            *(network.subnet for network in plan.networks if not network.must_exist),
            *(server.name for server in plan.servers),
            *(port.name for server in plan.servers for port in server.ports),
            *(router.name for router in plan.routers),
        )
        if name
    )
