"""A VM as it runs, and how that agrees with where it was placed."""

from typing import Literal

from nodrop.model.base import Value


class VmThread(Value):
    """A thread of a VM's process."""

    id: int
    name: str
    cpus: tuple[int, ...] | None
    """It may run on; None: not known."""


class VmMemory(Value):
    """Pages of one size that a VM has on a NUMA node."""

    node: int
    page_bytes: int
    size_bytes: int


class RunningVm(Value):
    """A VM's process, as the kernel sees it."""

    pid: int
    name: str = ""
    vcpus: dict[int, VmThread]
    others: tuple[VmThread, ...]
    """Of the emulator, its I/O and its workers."""
    memory: tuple[VmMemory, ...] = ()
    """Large pages, and normal ones of mappings as large as a guest's memory."""
    memory_why: str = ""
    """Why its memory is not known."""
    devices: tuple[str, ...] = ()
    """PCI addresses of what it was handed."""
    devices_why: str = ""


class PlacementAgreement(Value):
    """Something that was placed, and what became of it."""

    what: str
    asked: str
    found: str
    state: Literal["as placed", "differs", "unknown"]
