"""Captured machines, by name: see tests/trees/README.md."""

import atexit
import contextlib
import functools
from pathlib import Path

from nodrop.host.capture import open_capture
from nodrop.host.describe import describe_host
from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.chd import HostDescriptor

TREES = Path(__file__).parent / "trees"
NAMES = tuple(sorted(each.name.removesuffix(".tar.xz") for each in TREES.glob("*.tar.xz")))
_UNPACKED = contextlib.ExitStack()
atexit.register(_UNPACKED.close)


@functools.cache
def machine(name: str) -> Source:
    """Return the files of a machine, unpacked until the tests end; do not change them."""
    return _UNPACKED.enter_context(open_capture(TREES / f"{name}.tar.xz"))


@functools.cache
def describe_machine(name: str) -> HostDescriptor:
    """Return nodrop's description of it."""
    return describe_host(reopen_machine(name))


def reopen_machine(name: str) -> Source:
    """Return the same machine with empty caches."""
    source = machine(name)
    return source._replace(tree=FileTree(source.tree.root))


def make_tree(root: Path, files: dict[str, str | bytes]) -> FileTree:
    """Build a tree of files; a text that begins with `-> ` is the target of a link."""
    for name, content in files.items():
        place = root / name.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("-> "):
            place.symlink_to(content.removeprefix("-> "))
        else:
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return FileTree(root)
