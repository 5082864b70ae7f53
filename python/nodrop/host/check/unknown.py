"""What would make known what is not."""

from nodrop.host.check.rule import Condition

NEXT_STEPS = (
    ("needs root", "run it as root"),
    ("no msr driver", "modprobe msr, then run it as root"),
    ("in the capture", "describe the machine itself: nodrop host describe"),
    ("does not hold it", "describe the machine anew: nodrop host describe -o FILE"),
    ("says nothing", "describe the machine anew: nodrop host describe -o FILE"),
    ("not installed", "install what is named"),
    ("is not loaded", "load the hypervisor's module: modprobe kvm_intel, or kvm_amd"),
    ("shows no unit of it", "switch the IOMMU on, in the BIOS and for the kernel"),
    ("which of its CPUs VMs may have", "say which CPUs VMs may have: nodrop host describe --eligible-cpus LIST"),
    ("did not answer", "start the service that is named"),
)
"""Reasons as observations give them, and what helps."""


def find_next_step(found: Condition) -> str:
    """What to do first to know more; empty where nothing is known to help."""
    reasons = " ".join(each.value for each in found.evidence if "unknown" in each.value)
    return next((way for reason, way in NEXT_STEPS if reason in reasons), "")
