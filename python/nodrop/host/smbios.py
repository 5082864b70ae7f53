"""The structures of the SMBIOS (DMI) tables.

Source: DMTF DSP0134, System Management BIOS Reference Specification 3.7, clauses 6.1 and 7.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.host.inputs import Source

PROCESSOR, MEMORY_ARRAY, MEMORY_DEVICE, END = 4, 16, 17, 127
TABLE = "/sys/firmware/dmi/tables/DMI"
_TAGGED = {PROCESSOR: (0x20, 0x21), MEMORY_ARRAY: (), MEMORY_DEVICE: (0x18, 0x19), END: ()}
"""Structures read here, with the offsets of their serial numbers and asset tags."""
_HEADER_BYTES = 4
_STRUCTURES_MAX = 16_384


class Structure(NamedTuple):
    """One structure of the table."""

    kind: int
    handle: int
    body: bytes
    """From its first byte on, so that offsets match the specification."""
    strings: tuple[str, ...]

    def read_byte(self, offset: int) -> int | None:
        """Return a byte; None if the structure, of an older version, is shorter."""
        return self._read_number(offset, 1)

    def read_word(self, offset: int) -> int | None:
        """Return two bytes."""
        return self._read_number(offset, 2)

    def read_dword(self, offset: int) -> int | None:
        """Return four bytes."""
        return self._read_number(offset, 4)

    def read_text(self, offset: int) -> str:
        """Return the string that a byte refers to; empty if there is none."""
        place = self.read_byte(offset) or 0
        return self.strings[place - 1] if 0 < place <= len(self.strings) else ""

    def _read_number(self, offset: int, size: int) -> int | None:
        field = self.body[offset : offset + size]
        return int.from_bytes(field, "little") if len(field) == size else None


def read_structures(source: Source) -> tuple[Structure, ...]:
    """Read the structures of a machine (root only); empty if they cannot be read."""
    table = source.tree.read_bytes(TABLE, reduce=strip_serials)
    return tuple(parse_structures(table)) if table else ()


def parse_structures(table: bytes) -> Iterator[Structure]:
    """Yield the structures of a table, up to its end or the first truncated one."""
    place = 0
    for _ in range(_STRUCTURES_MAX):
        header = table[place : place + _HEADER_BYTES]
        if len(header) < _HEADER_BYTES or header[1] < _HEADER_BYTES:
            return
        body = table[place : place + header[1]]
        end = table.find(b"\0\0", place + header[1])
        if len(body) < header[1] or end < 0:
            return
        strings = table[place + header[1] : end].split(b"\0") if end > place + header[1] else []
        yield Structure(header[0], int.from_bytes(header[2:4], "little"), body, tuple(map(_decode_text, strings)))
        if header[0] == END:
            return
        place = end + 2


def strip_serials(table: bytes) -> bytes:
    """Return the structures read here, with serial numbers and asset tags removed."""
    stripped = []
    for each in parse_structures(table):
        if each.kind not in _TAGGED:
            continue
        struck = {each.read_byte(offset) for offset in _TAGGED[each.kind]}
        strings = [b"-" if place in struck else text.encode() or b" " for place, text in enumerate(each.strings, 1)]
        stripped.append(each.body + (b"".join(text + b"\0" for text in strings) or b"\0") + b"\0")
    return b"".join(stripped)


def _decode_text(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return "".join(each if each.isprintable() else "?" for each in text).strip()
