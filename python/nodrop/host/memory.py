"""Memory modules and what they can do. Source: ETSI GS NFV-PER 001 clause 8.1.1.2."""

from nodrop.host.source import Source
from nodrop.model.chd import MemoryCapabilities


def describe(source: Source) -> MemoryCapabilities:
    """The modules, by SMBIOS or EDAC."""
    return MemoryCapabilities(kind=source.moment.unknown("not looked for"))
