"""What runs beside: services, the balancer of interrupts, the packet filter."""

import os

from nodrop.host.inputs import Source
from nodrop.model.observation import Observation

_SLICE = "/sys/fs/cgroup/system.slice"
_TABLES = ("/proc/net/ip_tables_names", "/proc/net/ip6_tables_names")
_MOST_PROCESSES = 20_000


def describe_irqbalance(source: Source) -> Observation[str]:
    """`running` or `not running`."""
    processes = [each for each in source.tree.names("/proc") if each.isdecimal()][:_MOST_PROCESSES]
    if not processes:
        return source.moment.unknown(source.tree.why("/proc") or "no processes in the capture", "/proc/*/comm")
    if source.tree.text("/proc/1/comm") is None:
        return source.moment.unknown("other users' processes are not shown", "/proc/*/comm")
    runs = any(source.tree.text(f"/proc/{each}/comm") == "irqbalance" for each in processes)
    return source.moment.reported("running" if runs else "not running", "/proc/*/comm")


def describe_services(source: Source) -> Observation[str]:
    """Those of systemd that have processes."""
    names = [each for each in source.tree.names(_SLICE) if each.endswith(".service")]
    if not names:
        why = source.tree.why(_SLICE)
        return source.moment.unknown(f"{why}: systemd does not run here" if why else "no services", _SLICE)
    running = [each for each in names if _populated(source, f"{_SLICE}/{each}")]
    return source.moment.reported(" ".join(each.removesuffix(".service") for each in running) or "none", _SLICE)


def describe_firewall(source: Source) -> Observation[str]:
    """Hooks of nftables and tables of iptables, which every packet of the kernel passes; root alone may see them."""
    if not source.live:
        return source.moment.unknown("not in the capture", "nft")
    legacy = [name for path in _TABLES for name in (source.tree.text(path) or "").split()]
    ruleset = source.programs("nft", "list", "ruleset")
    hooks = [line.split() for line in (ruleset.text or "").splitlines() if " hook " in line]
    parts = [f"nftables, {len(hooks)} hooks"] if hooks else []
    parts += [f"iptables, tables {' '.join(sorted(set(legacy)))}"] if legacy else []
    if parts:
        return source.moment.reported("; ".join(parts), "nft list ruleset")
    if ruleset.text is None:
        why = "needs root" if os.geteuid() else ruleset.why
        return source.moment.unknown(why, "nft list ruleset")
    return source.moment.reported("none", "nft list ruleset")


def _populated(source: Source, path: str) -> bool:
    said = source.tree.text(f"{path}/cgroup.events")
    return said is None or "populated 1" in said
