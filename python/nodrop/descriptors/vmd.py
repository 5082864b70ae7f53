"""A VM's descriptor from a file: YAML or JSON with units as people write them, or the form printed in the standard."""

from pathlib import Path

from nodrop.descriptors import etsi_topology, vmd_rules
from nodrop.descriptors.messages import Complaint, Remark, refuse, validated
from nodrop.descriptors.read_text import MIB, STDIN, text_in
from nodrop.descriptors.units import counted
from nodrop.descriptors.vmd_defaults import written_out
from nodrop.model.vmd import VmDescriptor
from nodrop.system.yaml_reader import Document, read

KIND = "a VM Descriptor"
BYTES_MAX = MIB // 4


def read_vmd(file: Path | str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """The VM that a file describes, with remarks on what was not clear in it; `-` is standard input.

    Raises: ConfigError naming file, line, key and value of everything that cannot be used.
    """
    name = "standard input" if str(file) == STDIN else str(file)
    return vmd_of_text(text_in(file, KIND, BYTES_MAX), name)


def vmd_of_text(text: str, name: str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """The VM that a text describes. Raises ConfigError as `read_vmd`."""
    remarks: list[Remark] = []
    document = (
        etsi_topology.document_of(text, name, remarks) if etsi_topology.is_printed_form(text) else read(text, name)
    )
    found: list[Complaint] = []
    document = written_out(_counted(document, found), found)
    refuse(document, found)
    vmd = validated(VmDescriptor, document)
    refuse(document, vmd_rules.complaints(vmd))
    doubtful = [Remark(f"{'.'.join(each.key)}: {each.text}", document.line(each.key)) for each in vmd_rules.doubts(vmd)]
    return vmd, (*remarks, *doubtful)


def _counted(document: Document, complaints: list[Complaint]) -> Document:
    return document._replace(content=counted(dict(document.content), (), complaints))
