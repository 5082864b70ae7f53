"""What stood in a cloud: which VM where, and what it took."""

from collections.abc import Iterator

from rich.table import Table

from nodrop.model.cloud import CloudFacts
from nodrop.model.result import RunResult
from nodrop.report.tables import plain_table
from nodrop.units import format_seconds

FEW = 12
"""VMs that are listed one by one."""


def cloud_of(result: RunResult) -> CloudFacts | None:
    """What stood there; None where nothing did."""
    return result.facts.stage.cloud if result.facts else None


def cloud_lines(result: RunResult) -> Iterator[str]:
    """Where and in how much time it was staged, with how many requests; and what had to be made twice."""
    cloud = cloud_of(result)
    if cloud is None or result.facts is None:
        return
    made = sum(not each.found for each in cloud.resources)
    found = len(cloud.resources) - made
    up_s = result.facts.stage.up_s
    took = f"staged in {format_seconds(up_s)}" if up_s is not None else "standing from the run before"
    hosts = sorted({server.host for server in cloud.servers if server.host})
    on = f" on {', '.join(hosts)}" if hosts else ""
    calls = ", ".join(f"{service} {count}" for service, count in sorted(cloud.api_call_counts.items()))
    yield (
        f"Cloud {cloud.cloud}: {_vms(len(cloud.servers))}{on}, {took}, {made} things made and {found} found, by "
        f"{sum(cloud.api_call_counts.values())} requests ({calls}) as "
        f"{'an administrator' if cloud.is_admin else 'a user who is no administrator'}."
    )
    again = sorted({server.chain for server in cloud.servers if server.restaged})
    if again:
        which = f"chain{'s' if len(again) > 1 else ''} {', '.join(map(str, again))}"
        yield f"Nothing passed the first VMs of {which}; these were made a second time before anything was measured."


def cloud_table(cloud: CloudFacts) -> Table:
    """Every VM: its chain, where it runs, and by which addresses frames reach it."""
    table = plain_table("VM", "chain", "host", "zone", "MAC left", "MAC right", "log in")
    for server in cloud.servers:
        left, right = (*server.macs, "-", "-")[:2]
        table.add_row(
            server.name,
            str(server.chain),
            server.host or "-",
            server.availability_zone or "-",
            left,
            right,
            server.address or "-",
        )
    return table


def _vms(count: int) -> str:
    return f"{count} VM{'' if count == 1 else 's'}"
