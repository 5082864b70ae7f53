"""Captured machines, described: the machines' facts are known from their captures."""

import pytest
from tests.machines import NAMES, describe_machine

from nodrop.descriptors import DescriptorForm, add_fingerprints, format_descriptor
from nodrop.descriptors.chd import check_chd, parse_chd
from nodrop.report.host.unknowns import list_observations
from nodrop.system.cpu_sets import format_cpu_list

FORMS: tuple[DescriptorForm, ...] = ("json", "xml", "yaml")


@pytest.mark.parametrize("name", NAMES)
def test_every_machine_is_described_without_breaking_an_invariant(name: str) -> None:
    host = describe_machine(name)
    assert tuple(check_chd(host)) == ()
    offline = set(host.resources.offline_cpus.value or ())
    assert not any(offline.intersection(node.cpus.ids) for node in host.resources.numa_nodes)
    assert host.resources.numa_nodes
    assert all(node.cpus.ids for node in host.resources.numa_nodes[:1])


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in ("hmat-initiators", "xeon-2n-smt") for form in FORMS]
)
def test_every_form_reads_back_to_the_same_machine(name: str, form: DescriptorForm) -> None:
    host = add_fingerprints(describe_machine(name))
    assert parse_chd(format_descriptor(host, form), name) == host


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_not_known_has_a_reason(name: str) -> None:
    host = describe_machine(name)
    without = {leaf for leaf, each in list_observations(host) if not each.known and not each.why and each.at}
    assert not without


# name: (nodes, CPUs, threads per core, nodes per socket). From the captures' own names and hwloc's drawings of them.
MACHINES = {
    "arm-kunpeng-4n": (4, 128, 1, 2),
    "bulldozer-8n": (8, 64, 2, 2),
    "epyc-8n-smt": (8, 96, 2, 4),
    "knl-snc4-smt4": (8, 64, 4, 4),
    "opteron-2n": (2, 2, 1, 1),
    "opteron-8n-cgroup2": (8, 32, 1, 2),
    "power7-8n-smt4": (8, 256, 4, None),
    "power9-gpu-memory": (8, 32, 4, 1),
    "qemu-16n-dies": (16, 64, 2, 4),
    "riscv-4n": (4, 64, 1, 4),
    "vmware-4n": (4, 16, 2, 2),
    "xeon-1s-smt": (1, 4, 2, 1),
    "xeon-2n-smt": (2, 32, 2, 1),
    "xeon-4n-pci": (4, 40, 1, 1),
    "xeon-e5-2680-2n": (2, 16, 1, 1),
}


@pytest.mark.parametrize("name", MACHINES)
def test_nodes_cpus_threads_and_sockets_are_as_they_are_known_to_be(name: str) -> None:
    nodes = describe_machine(name).resources.numa_nodes
    node_count, cpu_count, thread_count, per_socket = MACHINES[name]
    assert len(nodes) == node_count
    assert sum(len(node.cpus.ids) for node in nodes) == cpu_count
    assert {len(siblings) for node in nodes for siblings in node.cpus.sibling_sets} == {thread_count}
    sockets = [node.socket.value for node in nodes if node.cpus.ids]
    if per_socket is None:
        assert set(sockets) == {None}
    else:
        assert {sockets.count(socket) for socket in sockets} == {per_socket}


def test_a_node_is_not_a_socket_under_sub_numa_clustering() -> None:
    nodes = describe_machine("epyc-8n-smt").resources.numa_nodes
    assert [node.socket.value for node in nodes] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert format_cpu_list(nodes[4].cpus.ids) == "24-29,72-77"
    assert nodes[4].cpus.sibling_sets[0] == (24, 72)


def test_a_socket_that_the_kernel_does_not_know_is_unknown() -> None:
    socket = describe_machine("power7-8n-smt4").resources.numa_nodes[0].socket
    assert socket.value is None
    assert "-1" in socket.why


def test_nodes_may_have_memory_and_no_cpus_or_neither() -> None:
    nodes = {node.id: node for node in describe_machine("hmat-initiators").resources.numa_nodes}
    assert nodes[4].cpus.ids == ()
    assert nodes[4].memory.total_bytes.value == 0
    assert nodes[4].socket.why == "it has no CPUs"
    gpu = {node.id: node for node in describe_machine("power9-gpu-memory").resources.numa_nodes}[250]
    assert gpu.memory.total_bytes.value == 15 * 2**30
    assert gpu.cpus.ids == ()


def test_a_machine_without_numa_is_one_node() -> None:
    nodes = describe_machine("arm-cortex-a9").resources.numa_nodes
    assert [node.id for node in nodes] == [0]
    assert nodes[0].cpus.ids == (0, 1)
    assert nodes[0].memory.total_bytes.source == "/proc/meminfo MemTotal"


def test_offline_cpus_are_on_no_node() -> None:
    resources = describe_machine("s390-books").resources
    assert resources.offline_cpus.value == ()
    offline = describe_machine("xeon-offline-node")
    assert offline.resources.offline_cpus.value == (0, 1, 2, 3, 21, 22, 23)
    assert any("are on no node" in warning for warning in offline.warnings)


def test_a_cpu_that_two_nodes_claim_is_counted_once_and_said() -> None:
    host = describe_machine("xeon-wrong-numa")
    assert format_cpu_list(host.resources.numa_nodes[0].cpus.ids) == "0-7"
    assert any("CPUs 0-7 are on node 1 and on another one" in warning for warning in host.warnings)


def test_sparse_nodes_have_their_distances() -> None:
    host = describe_machine("opteron-8n-sparse")
    assert [node.id for node in host.resources.numa_nodes][:4] == [0, 1, 2, 33]
    between = {(link.a, link.b): link.distance.value for link in host.resources.links}
    assert between[0, 33] == 22
    assert between[0, 34] == 16


def test_large_pages_are_not_normal_memory() -> None:
    memory = describe_machine("opteron-8n-cgroup2").resources.numa_nodes[0].memory
    pages = memory.large_pages[0]
    assert (pages.size_bytes, pages.total_count.value, pages.used_count.value) == (2 << 20, 65, 0)
    assert memory.total_bytes.value - memory.normal.total_bytes.value == 65 * (2 << 20)  # type: ignore[operator]


def test_what_was_not_captured_is_not_known_rather_than_free() -> None:
    state = describe_machine("epyc-8n-smt").resources.numa_nodes[0].cpus.cpu[0]
    assert state.in_use.value is None
    assert state.eligible.value is None
    assert "not in the capture" in state.eligible.why
    assert "a capture is of one moment" in state.usage_ratio.why
