"""Who makes VMs on a machine, and which of the nine capabilities of clause 8.1.1.3 it has and uses."""

from nodrop.host.source import Source
from nodrop.model.chd import Hypervisor


def describe(source: Source) -> Hypervisor:
    """The hypervisor of a machine."""
    return Hypervisor(kind=source.moment.unknown("not looked for"))
