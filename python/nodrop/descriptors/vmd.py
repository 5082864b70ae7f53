"""A VM's descriptor from a file: YAML or JSON, with units as people write them."""

from pathlib import Path

from nodrop.descriptors.files import MIB, text_in
from nodrop.descriptors.wording import Remark, validated
from nodrop.document import read
from nodrop.model.vmd import VmDescriptor

KIND = "a VM Descriptor"
BYTES_MAX = MIB // 4


def read_vmd(file: Path | str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """The VM that a file describes, with remarks on what was not clear in it; `-` is standard input.

    Raises: ConfigError naming file, line, key and value of everything that cannot be used.
    """
    return vmd_of_text(text_in(file, KIND, BYTES_MAX), str(file))


def vmd_of_text(text: str, name: str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """The VM that a text describes. Raises ConfigError as `read_vmd`."""
    return validated(VmDescriptor, read(text, name)), ()
