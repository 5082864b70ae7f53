"""Descriptors of hosts and VMs as files: read whoever wrote them, written in one form. ETSI GS NFV-PER 001 clause 8.

`read_vmd` and `read_chd` give checked values or a ConfigError that names file, line, key and value; `text_of` writes.
"""

from nodrop.descriptors.chd import altered, read_chd
from nodrop.descriptors.fingerprint import fingerprint, with_fingerprints
from nodrop.descriptors.messages import Remark
from nodrop.descriptors.vmd import read_vmd
from nodrop.descriptors.writer import Form, text_of

__all__ = [
    "Form",
    "Remark",
    "altered",
    "fingerprint",
    "read_chd",
    "read_vmd",
    "text_of",
    "with_fingerprints",
]
