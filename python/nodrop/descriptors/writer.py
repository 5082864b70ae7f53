"""Descriptors as YAML, JSON or XML text."""

import json
from typing import Any, Literal

import yaml

from nodrop.descriptors.xml_form import to_xml
from nodrop.model.base import Value
from nodrop.model.vmd import VmDescriptor
from nodrop.system.yaml_reader import Dumper

DescriptorForm = Literal["yaml", "json", "xml"]
ROOTS = {"HostDescriptor": "chd", "VmDescriptor": "vmd"}
INLINE_MAX = 88
WIDTH = 10**6
"""Prevents line breaks."""


def format_descriptor(value: Value, form: DescriptorForm) -> str:
    """Format a descriptor for `read_chd` or `read_vmd`. VM descriptors omit default values."""
    content = to_content(value)
    if form == "json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    if form == "xml":
        return to_xml(content, ROOTS.get(type(value).__name__, "value"))
    text: str = yaml.dump(content, Dumper=_DescriptorDumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return text


def to_content(value: Value) -> dict[str, Any]:
    """Return a descriptor as plain lists and dictionaries."""
    if isinstance(value, VmDescriptor):
        requested: dict[str, Any] = _to_integers(value.model_dump(mode="json", exclude_defaults=True))
        return {"vmd_version": value.vmd_version} | requested
    return value.model_dump(mode="json")


def _to_integers(value: Any) -> Any:
    """Convert integral floats to integers, 10000000000.0 to 10000000000."""
    if isinstance(value, dict):
        return {key: _to_integers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_to_integers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _DescriptorDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """The configuration's dumper, with libyaml if available; lists of scalars in one line."""

    yaml_implicit_resolvers = Dumper.yaml_implicit_resolvers

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        """Write equal values in full."""
        return True


def _represent_list(dumper: Any, items: list[Any]) -> yaml.SequenceNode:
    short = not any(isinstance(each, dict) for each in items) and len(str(items)) <= INLINE_MAX
    node: yaml.SequenceNode = dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)
    return node


_DescriptorDumper.add_representer(list, _represent_list)
