"""Descriptors written down: YAML for people, JSON for programs, XML where that is wanted."""

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
"""Nothing is broken into lines."""


def format_descriptor(value: Value, form: DescriptorForm) -> str:
    """A descriptor as text that `read_chd` or `read_vmd` reads again. A VM's leaves out what nobody asked."""
    content = to_content(value)
    if form == "json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    if form == "xml":
        return to_xml(content, ROOTS.get(type(value).__name__, "value"))
    text: str = yaml.dump(content, Dumper=_DescriptorDumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return text


def to_content(value: Value) -> dict[str, Any]:
    """A descriptor as plain lists and keys with values."""
    if isinstance(value, VmDescriptor):
        asked: dict[str, Any] = _to_integers(value.model_dump(mode="json", exclude_defaults=True))
        return {"vmd_version": value.vmd_version} | asked
    return value.model_dump(mode="json")


def _to_integers(value: Any) -> Any:
    """The same with 10000000000.0 as 10000000000."""
    if isinstance(value, dict):
        return {key: _to_integers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_to_integers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _DescriptorDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """As the configuration's, by libyaml where it is there; lists of numbers and words in one line."""

    yaml_implicit_resolvers = Dumper.yaml_implicit_resolvers

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        """Equal values are written each."""
        return True


def _represent_list(dumper: Any, items: list[Any]) -> yaml.SequenceNode:
    short = not any(isinstance(each, dict) for each in items) and len(str(items)) <= INLINE_MAX
    node: yaml.SequenceNode = dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)
    return node


_DescriptorDumper.add_representer(list, _represent_list)
