"""In what two hosts differ, by their descriptors: leaf by leaf, with where each was seen."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from nodrop.analysis.host_labels import both_shown, is_list, many_text, path_text
from nodrop.model.chd import HostDescriptor
from nodrop.model.observation import Feature, Observation

Path = tuple[str, ...]
Part = Literal["host", "capabilities", "settings", "resources"]
Kind = Literal["differs", "there", "known"]
"""Both are known and not the same; one host has it and the other not; it is known of one host alone."""

ABOUT = frozenset({"captured_at", "sha256", "nodrop_version", "chd_version", "warnings"})
"""Of the descriptors, not of the hosts."""
MOMENTARY = frozenset(
    {
        *("current_mhz", "usage_ratio", "free_bytes", "used_bytes_per_s", "used_bps"),
        *("surplus_count", "reserved_count", "virtual_interface_count", "polling_processes"),
    }
)
"""Another the next moment on one and the same host."""
ALIKE = frozenset({"cpu", "vfs"})
"""Of these there are many, and what changes changes for several at once."""


class Leaf(NamedTuple):
    """What a descriptor says in one place."""

    value: Any
    known: bool
    source: str
    why: str


class Change(NamedTuple):
    """Something in which two hosts differ."""

    part: Part
    key: str
    """For programs: `capabilities.processor.microcode`; of several alike the first."""
    text: str
    kind: Kind
    a: Any
    """As the descriptor has it; None: not there, or not known."""
    b: Any
    a_text: str
    b_text: str
    a_source: str
    b_source: str


class Leaves(NamedTuple):
    """A descriptor, flat."""

    leaves: dict[Path, Leaf]
    items: dict[Path, str]
    """Nodes, cards, switches ...: whatever there may be several of."""


def hosts_differ(a: HostDescriptor, b: HostDescriptor, *, momentary: bool = False) -> tuple[Change, ...]:
    """In what B differs from A, in the order of a descriptor; times and hashes are no difference.

    Args:
        momentary: also what is another the next moment: use, free memory, clock rates.
    """
    of_a, of_b = flat(a), flat(b)
    found: dict[Path, tuple[Kind, Leaf | None, Leaf | None]] = {}
    for path in _in_order(of_a, of_b):
        if not momentary and not MOMENTARY.isdisjoint(path):
            continue
        one, other = of_a.leaves.get(path), of_b.leaves.get(path)
        if one and other:
            if one.known != other.known:
                found[path] = "known", one, other
            elif one.known and one.value != other.value:
                found[path] = "differs", one, other
        else:
            own, beside = (of_a, of_b) if one else (of_b, of_a)
            above = _missing(path, own, beside)
            leaf = Leaf(own.items[above], True, "", "") if above else own.leaves[path]
            if leaf.known:
                found[above or path] = "there" if above else "known", leaf if one else None, None if one else leaf
    return tuple(_merged(found))


def flat(host: HostDescriptor) -> Leaves:
    """Every leaf by its path, items of lists by what they are called."""
    found = Leaves({}, {})
    _flatten(host, (), found)
    return found


def _flatten(value: object, path: Path, found: Leaves) -> None:
    if isinstance(value, Observation):
        known = value.known and value.value is not None
        found.leaves[path] = Leaf(value.value if known else None, known, value.source, value.why)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            inner = getattr(value, name)
            if name == "sriov" and inner is not None:
                _item(inner, (*path, name), found)
            elif name not in ABOUT:
                _flatten(inner, (*path, name), found)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            _item(each, (*path, str(name)), found)
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for each in value:
            _item(each, (*path, _called(each)), found)
    elif value is not None and not (value == () and is_list(path[-1])):
        found.leaves[path] = Leaf(value, True, "", "")


def _item(value: object, path: Path, found: Leaves) -> None:
    if not isinstance(value, (Observation, Feature)):
        found.items[path] = _title(value)
    _flatten(value, path, found)


def _called(item: Any) -> str:
    """What an item of a list is told from others by."""
    fields = type(item).model_fields
    name = next((each for each in ("pci_id", "name", "slot", "id") if each in fields), "")
    if name:
        return str(getattr(item, name))
    parts = [getattr(item, each) for each in ("level", "kind", "page_sizes", "size_bytes", "a", "b") if each in fields]
    return " ".join("/".join(each) if isinstance(each, tuple) else str(each) for each in parts if _plain(each))


def _plain(value: object) -> bool:
    return isinstance(value, (int, str, tuple))


def _title(item: object) -> str:
    """The item in a word or two, where it says so."""
    words = (getattr(getattr(item, name, None), "value", None) for name in ("vendor", "model", "kind"))
    return " ".join(str(word) for word in words if word) or "there"


def _in_order(a: Leaves, b: Leaves) -> Iterator[Path]:
    """Paths of both: A's, each part of what B alone has behind A's part of that name."""
    rank = {path: index for index, path in enumerate(a.leaves)}
    last: dict[Path, int] = {}
    for path, index in rank.items():
        for length in range(1, len(path)):
            last[path[:length]] = index

    def key(path: Path) -> tuple[int, int]:
        if path in rank:
            return rank[path], 0
        return next((last[path[:length]] for length in range(len(path), 0, -1) if path[:length] in last), len(rank)), 1

    return iter(sorted(dict.fromkeys((*a.leaves, *b.leaves)), key=key))


def _missing(path: Path, own: Leaves, other: Leaves) -> Path | None:
    """The outermost item around a leaf that the other host has not; None where it has them all."""
    above = (path[:length] for length in range(1, len(path)))
    return next((each for each in above if each in own.items and each not in other.items), None)


def _merged(found: Mapping[Path, tuple[Kind, Leaf | None, Leaf | None]]) -> Iterator[Change]:
    """Changes, those of several CPUs or functions that are alike as one."""

    def group(pair: tuple[Path, tuple[Kind, Leaf | None, Leaf | None]]) -> tuple[object, ...]:
        path, (kind, a, b) = pair
        values = (repr(a and (a.value, a.known, a.why)), repr(b and (b.value, b.known, b.why)))
        return _pattern(path), kind, *values

    ordered: dict[tuple[object, ...], list[Path]] = {}
    for path, change in found.items():
        ordered.setdefault(group((path, change)), []).append(path)
    for paths in ordered.values():
        yield _change(paths, *found[paths[0]])


def _pattern(path: Path) -> Path:
    return tuple("*" if index and path[index - 1] in ALIKE else each for index, each in enumerate(path))


def _change(paths: list[Path], kind: Kind, a: Leaf | None, b: Leaf | None) -> Change:
    path = paths[0]
    text = path_text(path)
    if len(paths) > 1:
        at = next(index for index, each in enumerate(_pattern(path)) if each == "*")
        text = path_text((*path[: at - 1], many_text(path[at - 1], [each[at] for each in paths]), *path[at + 1 :]))
    a_text, b_text = _texts(path, kind, a, b)
    return Change(
        part=_part(path),
        key=".".join(path),
        text=text,
        kind=kind,
        a=a.value if a else None,
        b=b.value if b else None,
        a_text=a_text,
        b_text=b_text,
        a_source=a.source if a else "",
        b_source=b.source if b else "",
    )


def _texts(path: Path, kind: Kind, a: Leaf | None, b: Leaf | None) -> tuple[str, str]:
    if kind == "there":
        return tuple(each.value if each else "not there" for each in (a, b))  # type: ignore[return-value]
    one, other = both_shown(path[-1], a.value if a else None, b.value if b else None)
    return tuple(  # type: ignore[return-value]
        text if leaf and leaf.known else _unknown(leaf) for text, leaf in ((one, a), (other, b))
    )


def _unknown(leaf: Leaf | None) -> str:
    if leaf is None:
        return "not in the descriptor"
    return f"unknown: {leaf.why}" if leaf.why else "unknown"


def _part(path: Path) -> Part:
    if path[:2] == ("capabilities", "settings"):
        return "settings"
    return path[0]  # type: ignore[return-value]
