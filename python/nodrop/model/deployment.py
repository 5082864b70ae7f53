"""A running VM, compared with its placement."""

from typing import Literal

from nodrop.model.base import Value


class VmThread(Value):
    """A thread of a VM's process."""

    id: int
    name: str
    cpus: tuple[int, ...] | None
    """CPUs it may run on; None: unknown."""


class VmMemory(Value):
    """Pages of one size that a VM has on a NUMA node."""

    node: int
    page_bytes: int
    size_bytes: int


class RunningVm(Value):
    """A VM's process, as the kernel reports it."""

    pid: int
    name: str = ""
    vcpus: dict[int, VmThread]
    others: tuple[VmThread, ...]
    """Threads of the emulator, its I/O and its workers."""
    memory: tuple[VmMemory, ...] = ()
    """Huge pages, and normal pages of mappings as large as a guest's memory."""
    memory_why: str = ""
    """Why its memory is unknown."""
    devices: tuple[str, ...] = ()
    """PCI addresses of passed-through devices."""
    devices_why: str = ""


class PlacementAgreement(Value):
    """A placed resource, compared with the running VM."""

    what: str
    asked: str
    found: str
    state: Literal["as placed", "differs", "unknown"]
