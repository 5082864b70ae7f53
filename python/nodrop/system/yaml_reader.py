"""Parses YAML to keys, values and the line of each, with the types of YAML 1.2, which includes JSON.

Therefore `no`, `on` and `10:30` are text, `010` is ten and `1e3` a number.
Source: YAML 1.2.2 section 10.3.2 (core schema).
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import yaml

from nodrop.errors import ConfigError

Key = tuple[str, ...]
"""The path of a key from the top level."""

DIGITS_MAX = 300
DEPTH_MAX = 24
TOO_DEEP = f"more than {DEPTH_MAX} levels"


class ReadLimits(NamedTuple):
    """The largest input that is parsed, so that no input takes long to reject."""

    text: int = 2**20
    values: int = 100_000


DEFAULT_LIMITS = ReadLimits()
"""Far beyond any configuration."""
NODES_PER_VALUE = 2
"""Nodes of the parser per value: most values have a key."""
LIBYAML_MIN_CHARS = 2**16
"""Text of this length is parsed by libyaml if available: ten times as fast, with slightly less clear error messages."""
READ_AHEAD_CHARS = 1024
"""How far a YAML scanner looks for the `:` of a key (YAML 1.2.2 section 7.4.2)."""

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
"""Types of unquoted values other than text: pattern and possible first characters."""


class ParsedFile(NamedTuple):
    """The content of one source."""

    name: str
    content: Mapping[str, Any]
    lines: Mapping[Key, int]
    """Line of every key and list item, from 1; empty for content that was not parsed from text."""

    def find_line(self, key: Key) -> int | None:
        """Return the line of a key, or of its closest parent."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key)


class _SizeCheck:
    """Counts the levels and nodes of a text, event by event, before a parser composes them recursively."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._level = 0
        self._node_count = 0

    def add(self, event: yaml.Event) -> None:
        """Count an event. Raises: MarkedYAMLError at the first level or node beyond the limits."""
        self._level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        self._node_count += isinstance(event, yaml.NodeEvent)
        mark: Any = event.start_mark  # libyaml's marks are of another class, with the same attributes
        if self._level > DEPTH_MAX:
            raise yaml.MarkedYAMLError(problem=TOO_DEEP, problem_mark=mark)
        if self._node_count > NODES_PER_VALUE * self._limits.values:
            raise yaml.MarkedYAMLError(problem=f"more than {self._limits.values} values", problem_mark=mark)


class _Loader(yaml.SafeLoader):
    """A YAML parser with these types only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def __init__(self, text: str, limits: ReadLimits) -> None:
        super().__init__(text)
        self._size = _SizeCheck(limits)

    def get_event(self) -> yaml.Event:
        """Return the next event, counted."""
        event: yaml.Event = super().get_event()  # type: ignore[no-untyped-call]
        self._size.add(event)
        return event


class Dumper(yaml.SafeDumper):
    """A YAML writer for this reader: it quotes text that YAML 1.1 or this reader would take for another type."""


for _kind, (_pattern, _first) in IMPLICIT_TYPES.items():
    _firsts = [*_first, ""] if _kind == "null" else list(_first)
    _Loader.add_implicit_resolver(f"{TAG}{_kind}", re.compile(f"(?:{_pattern})$"), _firsts)
    Dumper.add_implicit_resolver(f"{TAG}{_kind}", re.compile(f"(?:{_pattern})$"), _firsts)


def _load_with_libyaml(text: str, limits: ReadLimits) -> Any:
    """Return a libyaml loader. libyaml composes all nodes recursively in C, so levels and values are counted
    beforehand."""

    class Loader(yaml.CSafeLoader):
        yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    size = _SizeCheck(limits)
    for event in yaml.parse(text, Loader=Loader):
        size.add(event)
    return Loader(text)


def parse_document(text: str, name: str, limits: ReadLimits = DEFAULT_LIMITS) -> ParsedFile:
    """Parse a text. Raises: ConfigError with the name and the line of invalid content."""
    if len(text) > limits.text:
        raise ConfigError(
            f"{name}: too long ({len(text)} characters, at most {limits.text}); write keys with values only"
        )
    if text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # JSON may be indented with tabs, YAML may not
    try:
        loader = (
            _Loader(text, limits)
            if len(text) < LIBYAML_MIN_CHARS or not yaml.__with_libyaml__
            else _load_with_libyaml(text, limits)
        )
        node = loader.get_single_node()
        reader = _Reader(limits.values)
        content = None if node is None else reader.value(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "unknown line"
        problem = TOO_DEEP if mark and _ends_too_deep(text[: mark.index]) else error.problem
        raise ConfigError(f"{name}: {place}: invalid YAML ({problem}); correct the line") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = f"U+{int(error.character):04X}"
        raise ConfigError(f"{name}: line {line}: control character ({character}); save it as UTF-8 text") from None
    if content is None:
        return ParsedFile(name, {}, {})
    if not isinstance(content, dict):
        hint = ", with a blank after the colon" if isinstance(content, str) and ":" in content else ""
        raise ConfigError(
            f"{name}: not a mapping ({preview_value(content)}); write keys with values, e.g. `profile: quick`{hint}"
        )
    return ParsedFile(name, content, reader.lines)


def _ends_too_deep(text: str) -> bool:
    """Return whether a text ends with more brackets opened in a row than there may be levels.

    A scanner reads up to 1,024 characters ahead of the event that it returns. The one of libyaml 0.2.6 gives up at
    1,000 levels within them, before it returns events to count.
    """
    return re.search(rf"(?:[\[{{]\s*){{{DEPTH_MAX + 1}}}$", text[-READ_AHEAD_CHARS:]) is not None


def from_mapping(content: Mapping[str, Any], name: str) -> ParsedFile:
    """Return a mapping that another program parsed, e.g. from JSON, as a parsed file.

    Raises: ConfigError for values that YAML text cannot hold, too many values or too many levels.
    """
    for count, (value, path) in enumerate(_walk(content, ())):
        place = f"{name}: {'.'.join(path)}"
        if count > DEFAULT_LIMITS.values or len(path) > DEPTH_MAX:
            raise ConfigError(f"{name}: more than {DEFAULT_LIMITS.values} values or {DEPTH_MAX} levels; write fewer")
        if not isinstance(value, (str, int, float, bool, Mapping, list, tuple, type(None))):
            raise ConfigError(
                f"{place}: unsupported type ({type(value).__name__}); use text, a number, a list or a mapping"
            )
        if isinstance(value, int) and abs(value) >= 10**DIGITS_MAX:
            raise ConfigError(f"{place}: more than {DIGITS_MAX} digits; write a smaller number")
    return ParsedFile(name, content, {})


def parse_value(text: str) -> Any:
    """Parse a value as in a file: `1` is a number, `[1, 2]` a list; text that is not YAML stays text."""
    try:
        node = _Loader(text, DEFAULT_LIMITS).get_single_node()
        return None if node is None else _Reader().value(node)
    except yaml.YAMLError:
        return text


def preview_value(value: object) -> str:
    """Return a value in one line for messages, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:90]}... ({len(text)} characters)"


def to_yaml_line(value: object) -> str:
    """Return a value as YAML in one line."""
    text: str = yaml.dump(value, Dumper=Dumper, default_flow_style=True, width=math.inf, allow_unicode=True)
    return text.strip().removesuffix("...").strip()


class _Reader:
    """Converts nodes to values and records their lines."""

    def __init__(self, values_max: int = DEFAULT_LIMITS.values) -> None:
        self.lines: dict[Key, int] = {}
        self._max = values_max
        self._count = 0

    def value(self, node: yaml.Node, path: Key = (), level: int = 0) -> Any:
        """Return the value of a node; an alias returns the value again. Keys that << adds are one level below it."""
        self._count += 1
        if self._count > self._max:
            _fail(node, f"more than {self._max} values, aliases included")
        if level > DEPTH_MAX:
            _fail(node, TOO_DEEP)
        if path:
            self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{TAG}map":
            return self._build_mapping(node, path, level)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{TAG}seq":
            return [self.value(item, (*path, str(index)), level + 1) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return _build_scalar(node)
        return _fail(node, f"unsupported tag {node.tag}")

    def _build_mapping(self, node: yaml.MappingNode, path: Key, level: int) -> dict[Any, Any]:
        if level > DEPTH_MAX:
            _fail(node, TOO_DEEP)
        mapping: dict[Any, Any] = {}
        inherited: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{TAG}merge":
                for below in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    if not isinstance(below, yaml.MappingNode):
                        _fail(value_node, "a mapping is required after <<")
                    inherited = self._build_mapping(below, path, level + 1) | inherited
                continue
            key = _build_scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, (str, int, float)) or isinstance(key, bool):
                _fail(
                    key_node,
                    "a key must be plain text" if key is None else f"a key must be text or a number, not {key!r}",
                )
            if key in mapping:
                _fail(key_node, f"duplicate key {preview_value(key)}")
            self.lines[*path, str(key)] = key_node.start_mark.line + 1
            mapping[key] = self.value(value_node, (*path, str(key)), level + 1)
        return inherited | mapping


def _build_scalar(node: yaml.ScalarNode) -> Any:
    """Return text, a number, a boolean or None."""
    kind, text = node.tag.removeprefix(TAG), str(node.value)
    pattern = IMPLICIT_TYPES[kind][0] if kind in IMPLICIT_TYPES else ""
    if kind != "str" and not (pattern and re.fullmatch(pattern, text)):
        _fail(node, f"tag {node.tag} does not match {preview_value(text)}")
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        if len(text) > DIGITS_MAX:
            _fail(node, f"a number of {len(text)} digits, at most {DIGITS_MAX} are allowed")
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if kind == "float":
        return float(re.sub(r"\.(?=[a-zA-Z])", "", text))
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")  # JSON may write a character as a surrogate pair
    except UnicodeDecodeError:
        return _fail(node, "an unpaired surrogate")


def _fail(node: yaml.Node, problem: str) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _walk(value: object, path: Key) -> Iterator[tuple[object, Key]]:
    """Yield every value with its path, one level deeper than allowed."""
    yield value, path
    if len(path) > DEPTH_MAX:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk(inner, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _walk(inner, (*path, str(index)))
