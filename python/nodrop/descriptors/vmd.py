"""VM Descriptors from YAML or JSON files with units, or in the form printed in the standard."""

from pathlib import Path

from nodrop.descriptors import etsi_topology, vmd_rules
from nodrop.descriptors.messages import Complaint, Remark, refuse, validate_document
from nodrop.descriptors.read_text import MIB, STDIN, read_text
from nodrop.descriptors.units import parse_units
from nodrop.descriptors.vmd_defaults import apply_defaults
from nodrop.model.vmd import VmDescriptor
from nodrop.system.yaml_reader import ParsedFile, parse_document

KIND = "a VM Descriptor"
BYTES_MAX = MIB // 4


def read_vmd(file: Path | str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """Read a VM descriptor and remarks on ambiguities; `-` is standard input.

    Raises: ConfigError naming file, line, key and value of every problem.
    """
    name = "standard input" if str(file) == STDIN else str(file)
    return parse_vmd(read_text(file, KIND, BYTES_MAX), name)


def parse_vmd(text: str, name: str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """Parse a VM descriptor. Raises ConfigError as `read_vmd`."""
    remarks: list[Remark] = []
    document = (
        etsi_topology.parse_printed_form(text, name, remarks)
        if etsi_topology.is_printed_form(text)
        else parse_document(text, name)
    )
    complaints: list[Complaint] = []
    document = apply_defaults(_parse_document_units(document, complaints), complaints)
    refuse(document, complaints)
    vmd = validate_document(VmDescriptor, document)
    refuse(document, vmd_rules.check_vmd(vmd))
    doubtful = [
        Remark(f"{'.'.join(each.key)}: {each.text}", document.find_line(each.key))
        for each in vmd_rules.find_doubts(vmd)
    ]
    return vmd, (*remarks, *doubtful)


def _parse_document_units(document: ParsedFile, complaints: list[Complaint]) -> ParsedFile:
    return document._replace(content=parse_units(dict(document.content), (), complaints))
