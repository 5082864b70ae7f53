"""Descriptor files of hosts and VMs: reads several forms, writes one canonical form. ETSI GS NFV-PER 001 clause 8.

`read_vmd` and `read_chd` return validated values or raise a ConfigError that names file, line, key and value;
`format_descriptor` returns the text.
"""

from nodrop.descriptors.chd import list_altered, read_chd
from nodrop.descriptors.fingerprint import add_fingerprints, compute_fingerprint
from nodrop.descriptors.messages import Remark
from nodrop.descriptors.vmd import read_vmd
from nodrop.descriptors.writer import DescriptorForm, format_descriptor

__all__ = [
    "DescriptorForm",
    "Remark",
    "add_fingerprints",
    "compute_fingerprint",
    "format_descriptor",
    "list_altered",
    "read_chd",
    "read_vmd",
]
