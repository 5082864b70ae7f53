"""Differences between two host descriptors, leaf by leaf, with the source of each value."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from nodrop.analysis.host_labels import format_group, format_pair, format_path, is_list
from nodrop.model.chd import HostDescriptor
from nodrop.model.observation import Feature, Observation

Path = tuple[str, ...]
DescriptorPart = Literal["host", "capabilities", "settings", "resources"]
ChangeKind = Literal["differs", "there", "known"]
"""`differs`: both values known, and different; `there`: only one host has the item; `known`: known for one host."""

METADATA_KEYS = frozenset({"captured_at", "sha256", "nodrop_version", "chd_version", "warnings"})
"""Keys of the descriptor itself, not of the host."""
VOLATILE_KEYS = frozenset(
    {
        *("current_mhz", "usage_ratio", "free_bytes", "used_bytes_per_s", "used_bps"),
        *("surplus_count", "reserved_count", "virtual_interface_count", "polling_processes"),
    }
)
"""Keys whose values change at any time on the same host."""
GROUPED_KEYS = frozenset({"cpu", "vfs"})
"""Lists whose items usually change together: their changes are grouped."""


class DescriptorLeaf(NamedTuple):
    """A value of a descriptor."""

    value: Any
    known: bool
    source: str
    why: str


class HostChange(NamedTuple):
    """A difference between two hosts."""

    part: DescriptorPart
    key: str
    """Machine-readable path: `capabilities.processor.microcode`; for a group of items, the path of the first."""
    text: str
    kind: ChangeKind
    a: Any
    """The value in the descriptor; None: absent or unknown."""
    b: Any
    a_text: str
    b_text: str
    a_source: str
    b_source: str


class FlatDescriptor(NamedTuple):
    """A descriptor as a flat mapping."""

    leaves: dict[Path, DescriptorLeaf]
    items: dict[Path, str]
    """Titles of list items: nodes, NICs, switches."""


def diff_hosts(a: HostDescriptor, b: HostDescriptor, *, momentary: bool = False) -> tuple[HostChange, ...]:
    """Return the differences of B from A, in descriptor order, without times and hashes.

    Args:
        momentary: also what is another the next moment: use, free memory, clock rates.
    """
    flat_a, flat_b = flatten_descriptor(a), flatten_descriptor(b)
    changes: dict[Path, tuple[ChangeKind, DescriptorLeaf | None, DescriptorLeaf | None]] = {}
    for path in _order_paths(flat_a, flat_b):
        if not momentary and not VOLATILE_KEYS.isdisjoint(path):
            continue
        leaf_a, leaf_b = flat_a.leaves.get(path), flat_b.leaves.get(path)
        if leaf_a and leaf_b:
            if leaf_a.known != leaf_b.known:
                changes[path] = "known", leaf_a, leaf_b
            elif leaf_a.known and leaf_a.value != leaf_b.value:
                changes[path] = "differs", leaf_a, leaf_b
        else:
            descriptor, counterpart = (flat_a, flat_b) if leaf_a else (flat_b, flat_a)
            above = _find_missing_item(path, descriptor, counterpart)
            leaf = DescriptorLeaf(descriptor.items[above], True, "", "") if above else descriptor.leaves[path]
            if leaf.known:
                changes[above or path] = (
                    "there" if above else "known",
                    leaf if leaf_a else None,
                    None if leaf_a else leaf,
                )
    return tuple(_merge_changes(changes))


def flatten_descriptor(host: HostDescriptor) -> FlatDescriptor:
    """Return every leaf by its path; list items are identified by name."""
    flat = FlatDescriptor({}, {})
    _flatten(host, (), flat)
    return flat


def _flatten(value: object, path: Path, flat: FlatDescriptor) -> None:
    if isinstance(value, Observation):
        is_known = value.known and value.value is not None
        flat.leaves[path] = DescriptorLeaf(value.value if is_known else None, is_known, value.source, value.why)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            inner = getattr(value, name)
            if name == "sriov" and inner is not None:
                _flatten_item(inner, (*path, name), flat)
            elif name not in METADATA_KEYS:
                _flatten(inner, (*path, name), flat)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            _flatten_item(each, (*path, str(name)), flat)
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for each in value:
            _flatten_item(each, (*path, _format_item_name(each)), flat)
    elif value is not None and not (value == () and is_list(path[-1])):
        flat.leaves[path] = DescriptorLeaf(value, True, "", "")


def _flatten_item(value: object, path: Path, flat: FlatDescriptor) -> None:
    if not isinstance(value, (Observation, Feature)):
        flat.items[path] = _format_title(value)
    _flatten(value, path, flat)


def _format_item_name(item: Any) -> str:
    """Return the name that identifies an item in its list."""
    fields = type(item).model_fields
    name = next((each for each in ("pci_id", "name", "slot", "id") if each in fields), "")
    if name:
        return str(getattr(item, name))
    parts = [getattr(item, each) for each in ("level", "kind", "page_sizes", "size_bytes", "a", "b") if each in fields]
    return " ".join("/".join(each) if isinstance(each, tuple) else str(each) for each in parts if _is_plain(each))


def _is_plain(value: object) -> bool:
    return isinstance(value, (int, str, tuple))


def _format_title(item: object) -> str:
    """Return vendor, model and kind of an item, where known."""
    words = (getattr(getattr(item, name, None), "value", None) for name in ("vendor", "model", "kind"))
    return " ".join(str(word) for word in words if word) or "there"


def _order_paths(a: FlatDescriptor, b: FlatDescriptor) -> Iterator[Path]:
    """Return the paths of both descriptors in A's order; paths only in B follow A's paths with the same prefix."""
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


def _find_missing_item(path: Path, flat: FlatDescriptor, counterpart: FlatDescriptor) -> Path | None:
    """Return the outermost item around a leaf that the other host lacks; None where it has them all."""
    above = (path[:length] for length in range(1, len(path)))
    return next((each for each in above if each in flat.items and each not in counterpart.items), None)


def _merge_changes(
    changes: Mapping[Path, tuple[ChangeKind, DescriptorLeaf | None, DescriptorLeaf | None]],
) -> Iterator[HostChange]:
    """Merge equal changes of several CPUs or virtual functions into one."""

    def group(pair: tuple[Path, tuple[ChangeKind, DescriptorLeaf | None, DescriptorLeaf | None]]) -> tuple[object, ...]:
        path, (kind, a, b) = pair
        values = (repr(a and (a.value, a.known, a.why)), repr(b and (b.value, b.known, b.why)))
        return _generalize_path(path), kind, *values

    ordered: dict[tuple[object, ...], list[Path]] = {}
    for path, change in changes.items():
        ordered.setdefault(group((path, change)), []).append(path)
    for paths in ordered.values():
        yield _build_change(paths, *changes[paths[0]])


def _generalize_path(path: Path) -> Path:
    return tuple("*" if index and path[index - 1] in GROUPED_KEYS else each for index, each in enumerate(path))


def _build_change(
    paths: list[Path], kind: ChangeKind, a: DescriptorLeaf | None, b: DescriptorLeaf | None
) -> HostChange:
    path = paths[0]
    text = format_path(path)
    if len(paths) > 1:
        at = next(index for index, each in enumerate(_generalize_path(path)) if each == "*")
        text = format_path((*path[: at - 1], format_group(path[at - 1], [each[at] for each in paths]), *path[at + 1 :]))
    a_text, b_text = _format_sides(path, kind, a, b)
    return HostChange(
        part=_find_part(path),
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


def _format_sides(path: Path, kind: ChangeKind, a: DescriptorLeaf | None, b: DescriptorLeaf | None) -> tuple[str, str]:
    if kind == "there":
        return tuple(each.value if each else "absent" for each in (a, b))  # type: ignore[return-value]
    text_a, text_b = format_pair(path[-1], a.value if a else None, b.value if b else None)
    return tuple(  # type: ignore[return-value]
        text if leaf and leaf.known else _format_unknown(leaf) for text, leaf in ((text_a, a), (text_b, b))
    )


def _format_unknown(leaf: DescriptorLeaf | None) -> str:
    if leaf is None:
        return "not in the descriptor"
    return f"unknown: {leaf.why}" if leaf.why else "unknown"


def _find_part(path: Path) -> DescriptorPart:
    if path[:2] == ("capabilities", "settings"):
        return "settings"
    return path[0]  # type: ignore[return-value]
