"""What the machine under the run is, read from /proc and /sys."""

import os
import platform
from pathlib import Path

from nodrop.model.facts import HostFacts

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def read_host() -> HostFacts:
    """Facts of this host. What a host does not tell is `unknown`."""
    return HostFacts(
        name=platform.node(),
        kernel=platform.release(),
        cpu_model=_cpu_field("model name") or platform.machine(),
        core_count=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        clock_source=read_text(CLOCK_SOURCE) or "unknown",
        virtualization=_virtualization(),
    )


def cpu_flags() -> frozenset[str]:
    """Feature flags of the first CPU, as the kernel names them; empty on an architecture that lists none."""
    return frozenset(_cpu_field("flags").split())


def read_text(path: Path) -> str:
    """A small file of the kernel's without the newline; empty when it is not there."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _cpu_field(name: str) -> str:
    for line in read_text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _virtualization() -> str:
    """Who made this machine up, if it is one that was made up."""
    hypervisor = read_text(Path("/sys/hypervisor/type"))
    if hypervisor:
        return hypervisor
    if "hypervisor" not in cpu_flags():
        return "none"
    dmi = Path("/sys/class/dmi/id")
    maker = " ".join(filter(None, (read_text(dmi / "sys_vendor"), read_text(dmi / "product_name"))))
    return maker or "a hypervisor that does not say its name"
