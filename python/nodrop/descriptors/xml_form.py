"""A reversible mapping between JSON values and XML, so that every descriptor has an XML form.

An object is an element of type `map` with a child for each key; a list one of type `list` with `item`s; a number,
`true`/`false` and `null` have their JSON spelling in an element of type `number`, `boolean`, `null`; an element without
a type is text. A key that is not an XML name is an `entry` with the key as attribute. Text with characters not allowed
in XML is of type `json`: its spelling as a JSON string; such a key is in the attribute `json`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_NAME = re.compile(r"(?![xX][mM][lL])[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters not allowed by XML 1.0 section 2.2, and the carriage return, which parsers turn into a line feed."""
_DEPTH_MAX = 60


def to_xml(value: Json, root: str) -> str:
    """Return a value as an indented XML document with this root element, ending with a newline."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(_format_element(root, value, "")) + "\n"


def from_xml(text: str) -> tuple[str, Json]:
    """Return root name and value of a document written by `to_xml`.

    Raises:
        ValueError: Not XML, not of this form, nested too deep, or with a document type, which could define entities.
    """
    if "<!DOCTYPE" in text:
        raise ValueError("has a document type (<!DOCTYPE ...>), which no descriptor needs; remove it")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"is no well-formed XML: {error}") from None
    return root.tag, _parse_value(root, 0)


def _format_element(name: str, value: Json, indent: str, key: str = "") -> Iterable[str]:
    kind, text = _format_leaf(value)
    opened = name + key + (f' type="{kind}"' if kind else "")
    if text is not None:
        yield f"{indent}<{opened}>{escape(text)}</{name}>" if text else f"{indent}<{opened}/>"
        return
    children = _list_children(value)
    if not children:
        yield f"{indent}<{opened}/>"
        return
    yield f"{indent}<{opened}>"
    for child, child_key, each in children:
        yield from _format_element(child, each, indent + "  ", child_key)
    yield f"{indent}</{name}>"


def _format_leaf(value: Json) -> tuple[str, str | None]:
    """Return type and text of an element; text is None if it has children."""
    if isinstance(value, str):
        return ("json", json.dumps(value)) if _NOT_IN_XML.search(value) else ("", value)
    if isinstance(value, Mapping):
        return "map", None
    if isinstance(value, Sequence):
        return "list", None
    kind = "null" if value is None else "boolean" if isinstance(value, bool) else "number"
    return kind, json.dumps(value)


def _list_children(value: Json) -> list[tuple[str, str, Json]]:
    """Return name, attribute for the key and value of each child."""
    if isinstance(value, Mapping):
        return [(*_format_key(key), each) for key, each in value.items()]
    assert isinstance(value, Sequence) and not isinstance(value, str)
    return [("item", "", each) for each in value]


def _format_key(key: str) -> tuple[str, str]:
    if _NAME.fullmatch(key) and key != "entry":
        return key, ""
    return "entry", f" json={quoteattr(json.dumps(key))}" if _NOT_IN_XML.search(key) else f" key={quoteattr(key)}"


def _parse_value(element: ElementTree.Element, depth: int) -> Json:
    if depth > _DEPTH_MAX:
        raise ValueError(f"is nested deeper than {_DEPTH_MAX} elements")
    kind, text = element.get("type", ""), element.text or ""
    if kind == "map":
        members: dict[str, Json] = {}
        for child in element:
            key = _parse_key(child)
            if key in members:
                raise ValueError(f"has {key!r} twice in <{element.tag}>")
            members[key] = _parse_value(child, depth + 1)
        return members
    if kind == "list":
        return [_parse_value(child, depth + 1) for child in element]
    if kind not in ("", "json", "number", "boolean", "null") or len(element):
        raise ValueError(f"has <{element.tag}> of type {kind or 'text'!r} where text, a map or a list is expected")
    return _parse_scalar(element.tag, kind, text)


def _parse_key(element: ElementTree.Element) -> str:
    if element.tag != "entry":
        return element.tag
    if "json" in element.attrib:
        return str(_parse_scalar("entry", "json", element.attrib["json"]))
    return element.get("key", "")


def _parse_scalar(tag: str, kind: str, text: str) -> Json:
    if not kind:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        raise ValueError(f"has <{tag}> of type {kind} with {text[:40]!r} in it") from None
    fits = {
        "json": isinstance(value, str),
        "number": isinstance(value, (int, float)) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "null": value is None,
    }
    if not fits[kind]:
        raise ValueError(f"has <{tag}> of type {kind} with {text[:40]!r} in it")
    assert value is None or isinstance(value, (str, int, float))
    return value
