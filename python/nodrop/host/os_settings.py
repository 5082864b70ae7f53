"""System settings that affect packet processing. Source: RFC 8204 section 3.3; ETSI GS NFV-PER 001 clause 7.

Values: `on` or `off` for switches, `none` for empty lists, CPU lists in the kernel's notation.
"""

import os
import re
from collections.abc import Callable

from nodrop.host import cmdline, cpu_lists, observations
from nodrop.host.cmdline import CMDLINE
from nodrop.host.inputs import Source
from nodrop.model.observation import Observation
from nodrop.system.cpu_sets import format_cpu_list

_SLICE = "/sys/fs/cgroup/system.slice"
_TABLES = ("/proc/net/ip_tables_names", "/proc/net/ip6_tables_names")
_MOST_PROCESSES = 20_000
_CPU = "/sys/devices/system/cpu"
_VULNERABILITIES = f"{_CPU}/vulnerabilities"
_TUNED = "/etc/tuned"
_RT = "/proc/sys/kernel/sched_rt_{}_us"
_CHOSEN = re.compile(r"\[([^\]]+)\]")
_SWITCH = {0: "off", 1: "on"}

_SWITCHES = {
    "ksm": ("/sys/kernel/mm/ksm/run", {**_SWITCH, 2: "off, unmerging"}),
    "nmi_watchdog": ("/proc/sys/kernel/nmi_watchdog", _SWITCH),
    "soft_watchdog": ("/proc/sys/kernel/soft_watchdog", _SWITCH),
    "timer_migration": ("/proc/sys/kernel/timer_migration", _SWITCH),
    "numa_balancing": ("/proc/sys/kernel/numa_balancing", {**_SWITCH, 2: "on, between tiers", 3: "on, all of it"}),
}
_PLAIN_FILES = {
    "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "swappiness": "/proc/sys/vm/swappiness",
    "zone_reclaim": "/proc/sys/vm/zone_reclaim_mode",
    "netdev_budget": "/proc/sys/net/core/netdev_budget",
    "netdev_max_backlog": "/proc/sys/net/core/netdev_max_backlog",
    "busy_poll": "/proc/sys/net/core/busy_poll",
    "socket_receive_max_bytes": "/proc/sys/net/core/rmem_max",
    "bpf_jit": "/proc/sys/net/core/bpf_jit_enable",
}


def describe_os_settings(source: Source) -> dict[str, Observation[str]]:
    """Return every setting by name."""
    ways: dict[str, Callable[[Source], Observation[str]]] = {
        "kernel_cmdline": _observe_cmdline,
        "isolated_cpus": lambda at: _observe_cpus(at, f"{_CPU}/isolated", "isolcpus"),
        "nohz_full": lambda at: _observe_cpus(at, f"{_CPU}/nohz_full", "nohz_full"),
        "rcu_nocbs": _observe_rcu_nocbs,
        "irqbalance": _observe_irqbalance,
        "irq_affinity": _observe_irq_affinity,
        "transparent_hugepages": _observe_transparent_hugepages,
        "swap": _observe_swap,
        "rt_throttling": _observe_rt_throttling,
        "tuned_profile": _observe_tuned_profile,
        "mitigations": _observe_mitigations,
        "power_profile": _observe_power_profile,
        "firewall": _observe_firewall,
        "services": _observe_services,
    }
    settings = {name: way(source) for name, way in ways.items()}
    settings |= {name: _observe_switch(source, path, words) for name, (path, words) in _SWITCHES.items()}
    return settings | {name: observations.observe_text(source, path) for name, path in _PLAIN_FILES.items()}


def _observe_cmdline(source: Source) -> Observation[str]:
    text = cmdline.read_cmdline(source)
    return observations.observe_unreadable(source, CMDLINE) if text is None else source.moment.reported(text, CMDLINE)


def _observe_cpus(source: Source, path: str, argument: str) -> Observation[str]:
    """Return a CPU list; a kernel without the file may have been built without the feature."""
    text = source.tree.read_text(path)
    if text is not None:
        return source.moment.reported(text if text and text != "(null)" else "none", path)
    if cmdline.read_arguments(source, argument) == () or (
        source.live and source.tree.failure_reason(path) == "no such file"
    ):
        return source.moment.inferred("none", CMDLINE, f"{path}: {source.tree.failure_reason(path)}")
    return observations.observe_unreadable(source, path)


def _observe_rcu_nocbs(source: Source) -> Observation[str]:
    arguments = cmdline.read_arguments(source, "rcu_nocbs")
    if arguments is None:
        return observations.observe_unreadable(source, CMDLINE)
    return source.moment.reported((arguments[-1] or "all") if arguments else "none", CMDLINE)


def _observe_irq_affinity(source: Source) -> Observation[str]:
    """Return the default CPUs of interrupts."""
    path = "/proc/irq/default_smp_affinity"
    cpus = cpu_lists.read_cpu_mask(source.tree, path)
    return (
        observations.observe_unreadable(source, path)
        if cpus is None
        else source.moment.reported(format_cpu_list(cpus) or "none", path)
    )


def _observe_transparent_hugepages(source: Source) -> Observation[str]:
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    text = source.tree.read_text(path)
    if text is None:
        return observations.observe_unreadable(source, path)
    chosen = _CHOSEN.search(text)
    return source.moment.reported(chosen[1] if chosen else text, path)


def _observe_swap(source: Source) -> Observation[str]:
    path = "/proc/swaps"
    text = source.tree.read_text(path)
    if text is None:
        return observations.observe_unreadable(source, path)
    rows = [line.split() for line in text.splitlines()[1:]]
    kib = [int(row[2]) for row in rows if len(row) > 2 and re.fullmatch(r"\d{1,15}", row[2])]
    if len(kib) != len(rows):
        return source.moment.unknown("holds lines without a size", path)
    return source.moment.reported(f"{sum(kib)} KiB on {' '.join(row[0] for row in rows)}" if kib else "none", path)


def _observe_rt_throttling(source: Source) -> Observation[str]:
    """Return the share of each period available to real-time tasks; -1: unlimited."""
    paths = [_RT.format(each) for each in ("runtime", "period")]
    runtime, period = (source.tree.read_number(path) for path in paths)
    if runtime is None or period is None:
        return observations.observe_unreadable(source, paths[0] if runtime is None else paths[1])
    off = runtime < 0 or runtime >= period
    return source.moment.reported("off" if off else f"on, {runtime} of {period} us", paths[0])


def _observe_tuned_profile(source: Source) -> Observation[str]:
    path = f"{_TUNED}/active_profile"
    text = source.tree.read_text(path)
    if text:
        return source.moment.reported(text, path)
    if text is None and source.live and not source.tree.exists(_TUNED):
        return source.moment.inferred("none", _TUNED, "tuned is not installed")
    return observations.observe_unreadable(source, path) if text is None else source.moment.reported("none", path)


def _observe_mitigations(source: Source) -> Observation[str]:
    """Return the CPU vulnerabilities with their mitigation status; `none` if the CPU is not affected."""
    tree = source.tree
    names = tree.list_directory(_VULNERABILITIES)
    if not names:
        return observations.observe_unreadable(source, _VULNERABILITIES)
    texts = {name: tree.read_text(f"{_VULNERABILITIES}/{name}") for name in names}
    affected = [f"{name}: {text}" for name, text in texts.items() if text and text != "Not affected"]
    reported = cmdline.read_arguments(source, "mitigations")
    return source.moment.reported(
        " | ".join(affected) or "none", _VULNERABILITIES, f"mitigations={reported[-1]}" if reported else ""
    )


def _observe_power_profile(source: Source) -> Observation[str]:
    return observations.select_first_known(
        lambda: observations.observe_text(source, f"{_CPU}/cpu0/cpufreq/energy_performance_preference"),
        lambda: observations.observe_text(source, "/sys/firmware/acpi/platform_profile"),
        lambda: observations.observe_text(source, f"{_CPU}/cpu0/power/energy_perf_bias"),
    )


def _observe_switch(source: Source, path: str, words: dict[int, str]) -> Observation[str]:
    observation = observations.observe_number(source, path)
    if observation.value is None:
        return source.moment.unknown(observation.why, path)
    return source.moment.reported(words.get(observation.value, str(observation.value)), path)


def _observe_irqbalance(source: Source) -> Observation[str]:
    """Return `running` or `not running`."""
    processes = [each for each in source.tree.list_directory("/proc") if each.isdecimal()][:_MOST_PROCESSES]
    if not processes:
        return source.moment.unknown(
            source.tree.failure_reason("/proc") or "no processes in the capture", "/proc/*/comm"
        )
    if source.tree.read_text("/proc/1/comm") is None:
        return source.moment.unknown("other users' processes are not shown", "/proc/*/comm")
    runs = any(source.tree.read_text(f"/proc/{each}/comm") == "irqbalance" for each in processes)
    return source.moment.reported("running" if runs else "not running", "/proc/*/comm")


def _observe_services(source: Source) -> Observation[str]:
    """Return the systemd services that have processes."""
    names = [each for each in source.tree.list_directory(_SLICE) if each.endswith(".service")]
    if not names:
        reason = source.tree.failure_reason(_SLICE)
        return source.moment.unknown(f"{reason}: systemd does not run here" if reason else "no services", _SLICE)
    running = [each for each in names if _is_populated(source, f"{_SLICE}/{each}")]
    return source.moment.reported(" ".join(each.removesuffix(".service") for each in running) or "none", _SLICE)


def _observe_firewall(source: Source) -> Observation[str]:
    """Return nftables hooks and iptables tables, which every packet of the kernel passes; readable by root only."""
    if not source.live:
        return source.moment.unknown("not in the capture", "nft")
    legacy = [name for path in _TABLES for name in (source.tree.read_text(path) or "").split()]
    ruleset = source.programs("nft", "list", "ruleset")
    hooks = [line.split() for line in (ruleset.text or "").splitlines() if " hook " in line]
    parts = [f"nftables, {len(hooks)} hooks"] if hooks else []
    parts += [f"iptables, tables {' '.join(sorted(set(legacy)))}"] if legacy else []
    if parts:
        return source.moment.reported("; ".join(parts), "nft list ruleset")
    if ruleset.text is None:
        reason = "needs root" if os.geteuid() else ruleset.why
        return source.moment.unknown(reason, "nft list ruleset")
    return source.moment.reported("none", "nft list ruleset")


def _is_populated(source: Source, path: str) -> bool:
    text = source.tree.read_text(f"{path}/cgroup.events")
    return text is None or "populated 1" in text
