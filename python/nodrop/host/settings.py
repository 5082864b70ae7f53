"""How the system is set up, where it bears on packets. Source: RFC 8204 section 3.3; ETSI GS NFV-PER 001 clause 7."""

from nodrop.host import leaves
from nodrop.host.source import Source
from nodrop.model.observation import Observation

_FILES = {
    "kernel_cmdline": "/proc/cmdline",
    "isolated_cpus": "/sys/devices/system/cpu/isolated",
    "nohz_full": "/sys/devices/system/cpu/nohz_full",
}


def describe(source: Source) -> dict[str, Observation[str]]:
    """Every setting by its name."""
    return {name: leaves.text(source, path) for name, path in _FILES.items()}
