"""Compute Host Descriptors from YAML, JSON or XML files."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nodrop.descriptors import chd_rules
from nodrop.descriptors.fingerprint import compute_fingerprint
from nodrop.descriptors.messages import refuse, validate_document
from nodrop.descriptors.read_text import MIB, STDIN, read_text
from nodrop.descriptors.xml_form import from_xml
from nodrop.errors import ConfigError
from nodrop.model.chd import HostDescriptor
from nodrop.system.yaml_reader import ParsedFile, ReadLimits, parse_document

KIND = "a Compute Host Descriptor"
BYTES_MAX = 16 * MIB
"""512 fully described CPUs take about 2 MiB."""
BOUNDS = ReadLimits(text=BYTES_MAX, values=300_000)


def read_chd(file: Path | str) -> HostDescriptor:
    """Read a host descriptor; `-` is standard input.

    Raises: ConfigError naming file, line, key and value of every problem.
    """
    name = "standard input" if str(file) == STDIN else str(file)
    return parse_chd(read_text(file, KIND, BYTES_MAX), name)


def parse_chd(text: str, name: str) -> HostDescriptor:
    """Parse a host descriptor. Raises ConfigError as `read_chd`."""
    document = _parse_document(text, name)
    host = validate_document(HostDescriptor, document)
    refuse(document, chd_rules.check_chd(host))
    return host


def list_altered(host: HostDescriptor) -> tuple[str, ...]:
    """Return the halves whose values do not match their hash, i.e. that were edited."""
    halves = (("capabilities", host.capabilities), ("resources", host.resources))
    return tuple(name for name, half in halves if half.sha256 and half.sha256 != compute_fingerprint(half))


def _parse_document(text: str, name: str) -> ParsedFile:
    begin = text.lstrip()[:1]
    if begin == "<":
        return _parse_xml(text, name)
    if begin == "{":
        return _parse_json(text, name)
    return parse_document(text, name, BOUNDS)


def _parse_xml(text: str, name: str) -> ParsedFile:
    if text.count("<") > 2 * BOUNDS.values:
        raise ConfigError(f"{name}: more than {BOUNDS.values} XML elements; not a descriptor")
    try:
        _, content = from_xml(text)
    except ValueError as error:
        raise ConfigError(f"{name}: XML {error}") from None
    if not isinstance(content, dict):
        raise ConfigError(f'{name}: the XML root is not of type="map"; not a descriptor')
    return ParsedFile(name, content, {})


def _parse_json(text: str, name: str) -> ParsedFile:
    """Parse JSON with Python's own reader, a hundred times faster."""
    try:
        content: dict[str, Any] = json.loads(
            text, object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"{name}: {where}: invalid JSON: {error.msg}; fix the line") from None
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise ConfigError(f"{name}: invalid JSON: {problem}; fix it") from None
    return ParsedFile(name, content, {})


def _reject_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"key {twice!r} is a duplicate")
    return members


def _reject_constant(text: str) -> Iterator[None]:
    raise ValueError(f"{text} is not a JSON number")
