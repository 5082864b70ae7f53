"""Facts of this host, read from /proc and /sys."""

import os
import platform
from pathlib import Path

from nodrop.host.cpuid import read_cpuid
from nodrop.host.processor.models import name_hypervisor
from nodrop.model.facts import HostFacts

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def read_host() -> HostFacts:
    """Return the facts of this host; values that it does not report are `unknown`."""
    return HostFacts(
        name=platform.node(),
        kernel=platform.release(),
        cpu_model=_read_cpu_field("model name") or platform.machine(),
        core_count=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        clock_source=read_text(CLOCK_SOURCE) or "unknown",
        virtualization=_detect_virtualization(),
    )


def read_cpu_flags() -> frozenset[str]:
    """Return the feature flags of the first CPU, as the kernel names them; empty on architectures without flags."""
    return frozenset(_read_cpu_field("flags").split())


def read_text(path: Path) -> str:
    """Return the text of a small /proc or /sys file without its newline; empty if the file does not exist."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _read_cpu_field(name: str) -> str:
    for line in read_text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _detect_virtualization() -> str:
    """Return the hypervisor of this machine; `none` without one."""
    hypervisor = read_text(Path("/sys/hypervisor/type"))
    if hypervisor:
        return hypervisor
    if "hypervisor" not in read_cpu_flags():
        return "none"
    dmi = Path("/sys/class/dmi/id")
    maker = " ".join(filter(None, (read_text(dmi / "sys_vendor"), read_text(dmi / "product_name"))))
    return maker or _read_hypervisor_name() or "unknown hypervisor"


def _read_hypervisor_name() -> str:
    """Return the hypervisor that the CPU reports; empty if it reports none."""
    cpuid = read_cpuid()
    return name_hypervisor(cpuid.hypervisor) if cpuid and cpuid.hypervisor else ""
