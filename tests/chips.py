"""Captured processors and firmware, and machines of a few files around them."""

from collections.abc import Mapping
from pathlib import Path

from tests.machines import make_tree

from nodrop.host.cpuid import Cpuid, parse_dump
from nodrop.host.inputs import Source
from nodrop.model.observation import ObservationTime

CPUID = Path(__file__).parent / "cpuid"
SMBIOS = Path(__file__).parent / "smbios"
MOMENT = ObservationTime("2026-01-01T00:00:00+00:00")
DUMP_HEADER_BYTES = 32
"""`dmidecode --dump-bin` puts the entry point before the table."""


def machine(root: Path, files: Mapping[str, str | bytes], cpuid: Cpuid | None = None) -> Source:
    """Return a captured tree that contains these files; the keys are paths."""
    return Source(make_tree(root, dict(files)), MOMENT, cpuid=cpuid)


def dump(name: str) -> Cpuid:
    """Return a processor of tests/cpuid."""
    result = parse_dump((CPUID / f"{name}.txt").read_text())
    assert result is not None
    return result


def smbios(name: str) -> bytes:
    """Return a firmware's tables, of tests/smbios."""
    return (SMBIOS / f"{name}.bin").read_bytes()[DUMP_HEADER_BYTES:]
