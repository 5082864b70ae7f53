"""Comparison of a running VM with its placement.

Nova and Kubernetes choose CPUs themselves, so they may deviate from the placement. Source: ETSI GS NFV-PER 001 clause
7.2: threads, memory and large pages have to be where they were assigned.
"""

from collections.abc import Iterator

from nodrop.model.deployment import PlacementAgreement, RunningVm, VmThread
from nodrop.model.placement import PlacedSet, Placement
from nodrop.system.cpu_sets import format_cpu_list

MEBIBYTE = 2**20
STRAY_MAX_BYTES = 4 * MEBIBYTE
"""Tolerated memory on other nodes: QEMU's own, in mappings adjacent to the guest's memory."""


def compare_deployment(placement: Placement, running: RunningVm) -> tuple[PlacementAgreement, ...]:
    """Compare every vCPU, the other threads, the memory of each node and every host device."""
    return (
        *_compare_vcpus(placement, running),
        *_compare_other_threads(placement, running),
        *_compare_large_pages(placement, running),
        *_compare_normal_memory(placement, running),
        *_compare_devices(placement, running),
    )


def _compare_vcpus(placement: Placement, running: RunningVm) -> Iterator[PlacementAgreement]:
    requested = {vcpu: cpu for each in placement.sets for vcpu, cpu in each.cpus.items()}
    for vcpu in sorted({*requested, *running.vcpus}):
        label = f"vCPU {vcpu}"
        thread = running.vcpus.get(vcpu)
        if vcpu not in requested:
            yield PlacementAgreement(what=label, asked="none", found="a thread", state="differs")
        elif thread is None:
            yield PlacementAgreement(
                what=label, asked=_format_cpus((requested[vcpu],)), found="no thread", state="differs"
            )
        else:
            yield _compare_cpus(label, (requested[vcpu],), thread.cpus)


def _compare_other_threads(placement: Placement, running: RunningVm) -> Iterator[PlacementAgreement]:
    if not placement.emulator_cpus:
        return
    allowed, threads = (
        set(placement.emulator_cpus),
        [each for each in running.others if not _is_preallocation_thread(each)],
    )
    pinned = [each for each in threads if each.cpus is not None]
    stray = sorted({cpu for each in pinned for cpu in each.cpus or () if cpu not in allowed})
    cpus = sorted({cpu for each in pinned for cpu in each.cpus or ()})
    yield PlacementAgreement(
        what=f"{len(threads)} threads of the hypervisor",
        asked=_format_cpus(placement.emulator_cpus),
        found=_format_cpus(tuple(cpus)) if pinned else "unknown",
        state="differs" if stray else "as placed" if pinned else "unknown",
    )


def _is_preallocation_thread(thread: VmThread) -> bool:
    """Return whether the thread only preallocated memory at start, from the CPUs of that memory's node."""
    return thread.name.startswith("TC ")


def _compare_large_pages(placement: Placement, running: RunningVm) -> Iterator[PlacementAgreement]:
    requested: dict[tuple[int, int], int] = {}
    for each in placement.sets:
        if each.large_page_count and each.large_page_bytes:
            key = (each.node, each.large_page_bytes)
            requested[key] = requested.get(key, 0) + each.large_page_count
    actual = {
        (each.node, each.page_bytes): each.size_bytes // each.page_bytes
        for each in running.memory
        if each.page_bytes >= 2 * MEBIBYTE
    }
    for node, size in sorted({*requested, *actual}):
        requested_bytes, actual_bytes = requested.get((node, size), 0), actual.get((node, size), 0)
        yield PlacementAgreement(
            what=f"pages of {size // MEBIBYTE} MiB on node {node}",
            asked=str(requested_bytes),
            found=f"unknown: {running.memory_why}" if running.memory_why else str(actual_bytes),
            state="unknown" if running.memory_why else "as placed" if requested_bytes == actual_bytes else "differs",
        )


def _compare_normal_memory(placement: Placement, running: RunningVm) -> Iterator[PlacementAgreement]:
    nodes = {each.node for each in placement.sets if each.normal_bytes}
    if not nodes:
        return
    placed_nodes = {each.node for each in placement.sets}
    actual = {each.node: each.size_bytes for each in running.memory if each.page_bytes < 2 * MEBIBYTE}
    actual_text = ", ".join(f"{size // MEBIBYTE} MiB on node {node}" for node, size in sorted(actual.items())) or "none"
    stray = any(size > STRAY_MAX_BYTES for node, size in actual.items() if node not in placed_nodes)
    requested = ", ".join(
        f"at most {_sum_normal_bytes(placement.sets, node) // MEBIBYTE} MiB on node {node}" for node in sorted(nodes)
    )
    yield PlacementAgreement(
        what="normal memory",
        asked=requested,
        found=f"unknown: {running.memory_why}" if running.memory_why else actual_text,
        state="unknown" if running.memory_why else "differs" if stray else "as placed",
    )


def _compare_devices(placement: Placement, running: RunningVm) -> Iterator[PlacementAgreement]:
    lines = [line.pci_id for each in placement.sets for line in each.interfaces if line.mode != "vswitch"]
    for address in (*lines, *(device for each in placement.sets for device in each.devices)):
        is_assigned = address in running.devices
        state_text = (
            f"unknown: {running.devices_why}" if running.devices_why else "assigned" if is_assigned else "not assigned"
        )
        state = "unknown" if running.devices_why else "as placed" if is_assigned else "differs"
        yield PlacementAgreement.model_validate(
            {"what": f"device {address}", "asked": "assigned", "found": state_text, "state": state}
        )


def _sum_normal_bytes(sets: tuple[PlacedSet, ...], node: int) -> int:
    return sum(each.normal_bytes for each in sets if each.node == node)


def _compare_cpus(label: str, requested: tuple[int, ...], actual: tuple[int, ...] | None) -> PlacementAgreement:
    state = "unknown" if actual is None else "as placed" if set(actual) == set(requested) else "differs"
    actual_text = "unknown" if actual is None else _format_cpus(actual)
    return PlacementAgreement.model_validate(
        {"what": label, "asked": _format_cpus(requested), "found": actual_text, "state": state}
    )


def _format_cpus(cpus: tuple[int, ...]) -> str:
    return f"CPU {format_cpu_list(cpus)}" if cpus else "none"
