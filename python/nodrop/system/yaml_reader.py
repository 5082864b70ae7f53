"""Text to keys with values, and the line of each: YAML with the plain types of YAML 1.2, of which JSON is a part.

So `no`, `on` and `10:30` are text, `010` is ten and `1e3` a number, as their writers mean them.
Source: YAML 1.2.2 section 10.3.2 (core schema).
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import yaml

from nodrop.errors import ConfigError

Key = tuple[str, ...]
"""A key as its path from the top."""

DIGITS_MAX = 300
DEPTH_MAX = 24


class ReadLimits(NamedTuple):
    """How much is read, so that nothing anybody sends costs more than a sentence."""

    text: int = 2**20
    values: int = 100_000


DEFAULT_LIMITS = ReadLimits()
"""Far beyond any configuration."""
NODES_PER_VALUE = 2
"""Nodes of the parser for a value: most have a key."""
LIBYAML_MIN_CHARS = 2**16
"""From here on text is parsed by libyaml where it is there: ten times as fast, its sentences a little less clear."""

TAG = "tag:yaml.org,2002:"
IMPLICIT_TYPES = {
    "null": (r"~|null|Null|NULL|", "~nN"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "merge": ("<<", "<"),
}
"""Kinds of unquoted values that are not text: what they look like, and with what they begin."""


class ParsedFile(NamedTuple):
    """What somebody wrote in one place."""

    name: str
    content: Mapping[str, Any]
    lines: Mapping[Key, int]
    """Line of every key and list item, from 1; none for what was not read from text."""

    def line(self, key: Key) -> int | None:
        """Where the key is, or else what it is in."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key)


class _Loader(yaml.SafeLoader):
    """The parser, with these kinds and no others."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


class Dumper(yaml.SafeDumper):
    """Writes what this reads: it quotes text that would be taken for something else, here or by YAML 1.1."""


for _kind, (_pattern, _first) in IMPLICIT_TYPES.items():
    _firsts = [*_first, ""] if _kind == "null" else list(_first)
    _Loader.add_implicit_resolver(f"{TAG}{_kind}", re.compile(f"(?:{_pattern})$"), _firsts)
    Dumper.add_implicit_resolver(f"{TAG}{_kind}", re.compile(f"(?:{_pattern})$"), _firsts)


def _long(text: str, bounds: ReadLimits) -> Any:
    """The same by libyaml. It composes all there is, by recursion in C, so levels and values are counted before."""

    class Loader(yaml.CSafeLoader):
        yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    level = count = 0
    for event in yaml.parse(text, Loader=Loader):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        count += isinstance(event, yaml.NodeEvent)
        if level > DEPTH_MAX or count > NODES_PER_VALUE * bounds.values:
            mark: Any = event.start_mark
            found = f"more than {DEPTH_MAX} levels" if level > DEPTH_MAX else f"more than {bounds.values} values"
            raise yaml.MarkedYAMLError(problem=f"{found} found", problem_mark=mark)
    return Loader(text)


def parse_document(text: str, name: str, bounds: ReadLimits = DEFAULT_LIMITS) -> ParsedFile:
    """The document in a text.

    Raises: ConfigError naming the document and the line of what cannot be read.
    """
    if len(text) > bounds.text:
        raise ConfigError(
            f"{name}: {len(text)} characters found, at most {bounds.text} expected; leave out what is no key"
        )
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented with tabs, YAML may not.
    loader: _Loader | None = None
    try:
        loader = _Loader(text) if len(text) < LIBYAML_MIN_CHARS or not yaml.__with_libyaml__ else _long(text, bounds)
        node = loader.get_single_node()
        reader = _Reader(bounds.values)
        content = None if node is None else reader.value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
        raise ConfigError(f"{name}: {where}: YAML expected, {error.problem}; mend the line") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        found = f"the control character U+{int(error.character):04X}"
        raise ConfigError(f"{name}: line {line}: text expected, found {found}; save it as UTF-8 text") from None
    except RecursionError:
        where = f"line {loader.line + 1}: " if loader else ""
        raise ConfigError(f"{name}: {where}YAML expected, more than {DEPTH_MAX} levels found; write fewer") from None
    if content is None:
        return ParsedFile(name, {}, {})
    if not isinstance(content, dict):
        found = preview_value(content)
        hint = ", with a blank after the colon" if isinstance(content, str) and ":" in content else ""
        raise ConfigError(f"{name}: keys with values expected, found {found}; write for example `profile: quick`{hint}")
    return ParsedFile(name, content, reader.lines)


def from_mapping(content: Mapping[str, Any], name: str) -> ParsedFile:
    """The document that a mapping already is, as from JSON that somebody else has read.

    Raises: ConfigError for what no text could say: keys that are not text, too many or too deep values.
    """
    for count, (value, path) in enumerate(_everything(content, ())):
        where = f"{name}: {'.'.join(path)}"
        if count > DEFAULT_LIMITS.values or len(path) > DEPTH_MAX:
            raise ConfigError(
                f"{name}: more than {DEFAULT_LIMITS.values} values or {DEPTH_MAX} levels found; write fewer"
            )
        if not isinstance(value, (str, int, float, bool, Mapping, list, tuple, type(None))):
            raise ConfigError(f"{where}: text, a number, a list or keys expected, found {type(value).__name__}")
        if isinstance(value, int) and abs(value) >= 10**DIGITS_MAX:
            raise ConfigError(f"{where}: a number of more than {DIGITS_MAX} digits asked; write a smaller one")
    return ParsedFile(name, content, {})


def parse_value(text: str) -> Any:
    """A value as a file would have it: `1` a number, `[1, 2]` a list; text that is no YAML is text."""
    try:
        node = _Loader(text).get_single_node()
        return None if node is None else _Reader().value(node, ())
    except (yaml.YAMLError, RecursionError):
        return text


def preview_value(value: object) -> str:
    """A value as a sentence shows it: in one line, and not all of it when it is long."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:90]}... ({len(text)} characters)"


def to_yaml_line(value: object) -> str:
    """A value as YAML in one line."""
    text: str = yaml.dump(value, Dumper=Dumper, default_flow_style=True, width=math.inf, allow_unicode=True)
    return text.strip().removesuffix("...").strip()


class _Reader:
    """Values of nodes, with the line of each."""

    def __init__(self, values_max: int = DEFAULT_LIMITS.values) -> None:
        self.lines: dict[Key, int] = {}
        self._max = values_max
        self._count = 0

    def value(self, node: yaml.Node, path: Key) -> Any:
        """What a node says; an alias says it again."""
        self._count += 1
        if self._count > self._max:
            _fail(node, f"more than {self._max} values found, with what aliases repeat")
        if len(path) > DEPTH_MAX:
            _fail(node, f"more than {DEPTH_MAX} levels found")
        if path:
            self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{TAG}map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{TAG}seq":
            return [self.value(item, (*path, str(index))) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        return _fail(node, f"the tag {node.tag} found, which means nothing here")

    def _mapping(self, node: yaml.MappingNode, path: Key) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        inherited: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{TAG}merge":
                for below in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    if not isinstance(below, yaml.MappingNode):
                        _fail(value_node, "keys with values expected after <<")
                    inherited = self._mapping(below, path) | inherited
                continue
            key = _scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, (str, int, float)) or isinstance(key, bool):
                _fail(key_node, "a key expected, plain text" if key is None else f"a key expected, found {key!r}")
            if key in found:
                _fail(key_node, f"key {preview_value(key)} is written twice")
            self.lines[*path, str(key)] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, (*path, str(key)))
        return inherited | found


def _scalar(node: yaml.ScalarNode) -> Any:
    """Text, number, truth value or nothing."""
    kind, text = node.tag.removeprefix(TAG), str(node.value)
    pattern = IMPLICIT_TYPES[kind][0] if kind in IMPLICIT_TYPES else ""
    if kind != "str" and not (pattern and re.fullmatch(pattern, text)):
        _fail(node, f"the tag {node.tag} found on {preview_value(text)}")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        if len(text) > DIGITS_MAX:
            _fail(node, f"a number of {len(text)} digits found, at most {DIGITS_MAX} expected")
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if kind == "float":
        return float(re.sub(r"\.(?=[a-zA-Z])", "", text))
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")  # JSON writes one character as two halves.
    except UnicodeDecodeError:
        return _fail(node, "half a character found")


def _fail(node: yaml.Node, problem: str) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _everything(value: object, path: Key) -> Iterator[tuple[object, Key]]:
    """Every value with its path, as deep as is allowed and one more."""
    yield value, path
    if len(path) > DEPTH_MAX:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _everything(inner, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _everything(inner, (*path, str(index)))
