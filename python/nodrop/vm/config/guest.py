"""The guest's view of a VM: NUMA nodes, sockets, cores and threads."""

from typing import Literal, NamedTuple

from nodrop.vm.config.instance import Instance

MEBIBYTE = 2**20


class GuestCell(NamedTuple):
    """A NUMA node of the guest."""

    id: int
    piece: int
    """Index of the VM's piece."""
    vcpus: tuple[int, ...]
    """Empty in a cell for additional memory."""
    memory_bytes: int
    page_bytes: int | None
    """Size of the large pages behind it; None: normal memory."""
    host_node: int


class CpuTopology(NamedTuple):
    """The topology reported to the guest by CPUID."""

    sockets: int
    cores: int
    threads: int


def list_cells(instance: Instance) -> tuple[GuestCell, ...]:
    """Return one cell per piece and kind of memory: pages of two sizes cannot back one cell.

    Cells with vCPUs come first, so that their ids start from 0. The large pages of a set are with its vCPUs; the rest
    of its memory is in an adjacent cell without vCPUs. vCPUs without memory on their node, which occur only without
    topology, are in the first cell.
    """
    first: list[GuestCell] = []
    more: list[GuestCell] = []
    for piece in instance.pieces:
        placed = piece.placed
        large = placed.large_page_count * (placed.large_page_bytes or 0)
        kinds = [(large, placed.large_page_bytes)] if large else []
        if placed.normal_bytes:
            kinds.append((placed.normal_bytes, None))
        for number, (size, page) in enumerate(kinds):
            cell = GuestCell(0, piece.number, () if number else piece.vcpus, size, page, placed.node)
            (more if number else first).append(cell)
    cells = [each._replace(id=number) for number, each in enumerate([*first, *more])]
    homeless = [vcpu for piece in instance.pieces if not piece.placed.memory_bytes for vcpu in piece.vcpus]
    if homeless:
        cells[0] = cells[0]._replace(vcpus=tuple(sorted((*cells[0].vcpus, *homeless))))
    return tuple(cells)


def find_cell(instance: Instance, piece: int) -> GuestCell:
    """Return the cell with the vCPUs of a piece."""
    cells = list_cells(instance)
    return next((each for each in cells if each.piece == piece), cells[0])


def compute_topology(instance: Instance) -> CpuTopology:
    """Return the threads as placed, and the largest sockets that no two vCPU sets share.

    All sockets of a guest have the same size. Sets of other sizes get several smaller ones each: that hides a shared
    cache from the guest, whereas a socket over two nodes would show one that does not exist.
    """
    count = len(instance.cpu_of)
    owner = {vcpu: each.number for each in instance.pieces for vcpu in each.vcpus}
    threads = _count_threads_per_core(instance, owner)
    sizes = [size for size in range(count, 0, -1) if count % size == 0 and size % threads == 0]
    fit = next((size for size in sizes if _is_aligned(size, count, owner)), threads)
    return CpuTopology(sockets=count // fit, cores=fit // threads, threads=threads)


def compute_distance(instance: Instance, a: GuestCell, b: GuestCell) -> int:
    """Return the ACPI distance for the guest: that of the host's nodes; 10 within a cell only."""
    if a.id == b.id:
        return 10
    if a.host_node == b.host_node:
        return 11
    ends = {a.host_node, b.host_node}
    link = next((each for each in instance.host.resources.links if {each.a, each.b} == ends), None)
    distance = link.distance.value if link else None
    return distance if distance and 11 < distance < 255 else 20


def split_memory_unit(size: int) -> tuple[int, Literal["MiB", "KiB", "b"]]:
    """Return a size in the largest unit that keeps it an integer."""
    if size % MEBIBYTE == 0:
        return size // MEBIBYTE, "MiB"
    return (size // 1024, "KiB") if size % 1024 == 0 else (size, "b")


def _count_threads_per_core(instance: Instance, owner: dict[int, int]) -> int:
    """Return n if each n consecutive vCPUs are threads of one core and in one set."""
    count, cpu_of = len(instance.cpu_of), instance.cpu_of
    most = max((len(each) for each in instance.siblings.values()), default=1)
    for size in range(min(most, count), 1, -1):
        if count % size or not _is_aligned(size, count, owner):
            continue
        groups = [{cpu_of[vcpu] for vcpu in range(start, start + size)} for start in range(0, count, size)]
        if all(group <= instance.siblings.get(min(group), frozenset()) and len(group) == size for group in groups):
            return size
    return 1


def _is_aligned(size: int, count: int, owner: dict[int, int]) -> bool:
    return all(len({owner[vcpu] for vcpu in range(start, start + size)}) == 1 for start in range(0, count, size))
