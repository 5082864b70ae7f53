"""hwloc reads the same machines: nodes, CPUs, cores, sockets and memory must agree.

Source: lstopo of hwloc 2 with the captured tree as its root (HWLOC_FSROOT), and on synthetic machines of hwloc.
"""

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.machines import NAMES, describe_machine, machine

from nodrop.host import hwloc
from nodrop.host.describe import describe_host, open_local_source

OTHERWISE = {
    "bulldozer-8n": "which CPUs share a core",
    "xeon-offline-node": "which CPUs share a core",
    "xeon-wrong-numa": "is not known to hwloc",
}
"""Machines on which both differ and are right by their own definitions: the halves of a Bulldozer module are threads to
Linux and cores to hwloc; nodrop omits CPUs on no node; hwloc ignores firmware that puts the same CPUs on every node."""


@pytest.fixture(autouse=True)
def require_hwloc() -> None:
    if not shutil.which("lstopo-no-graphics"):
        if os.environ.get("NODROP_REQUIRE_LAB"):
            pytest.fail("lstopo-no-graphics is not installed: apt install hwloc")
        pytest.skip("lstopo-no-graphics is not installed: apt install hwloc")


def lstopo(*arguments: str, **environment: str) -> str:
    command = ["lstopo-no-graphics", "--of", "xml", "--disallowed", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout


@functools.cache
def read_lstopo(root: Path) -> hwloc.HwlocTopology:
    key, _, value = hwloc.KEEP_GPU_NODES.partition("=")
    result = hwloc.parse_hwloc(lstopo(HWLOC_FSROOT=str(root), HWLOC_COMPONENTS="linux,stop", **{key: value}))
    assert result is not None
    return result


@pytest.mark.parametrize("name", NAMES)
def test_hwloc_sees_the_same_nodes_cpus_cores_and_memory(name: str) -> None:
    seen = read_lstopo(machine(name).tree.root)
    disagreements = hwloc.find_disagreements(describe_machine(name).resources.numa_nodes, seen)
    allowed = OTHERWISE.get(name)
    assert all(allowed and allowed in each for each in disagreements), disagreements
    assert seen.nodes


def test_differences_that_are_expected_are_still_there() -> None:
    for name in OTHERWISE:
        nodes = describe_machine(name).resources.numa_nodes
        assert hwloc.find_disagreements(nodes, read_lstopo(machine(name).tree.root)), name


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"xeon-offline-node"}))
def test_hwloc_sees_the_same_sockets(name: str) -> None:
    seen = read_lstopo(machine(name).tree.root)
    for node in describe_machine(name).resources.numa_nodes:
        if node.socket.value is not None:
            assert set(node.cpus.ids) <= set(seen.packages[node.socket.value]), node.id


def test_this_machine_is_as_hwloc_sees_it() -> None:
    seen = hwloc.parse_hwloc(lstopo())
    host = describe_host(open_local_source())
    assert hwloc.find_disagreements(host.resources.numa_nodes, seen) == ()
    assert not [warning for warning in host.warnings if "hwloc" in warning]


@pytest.mark.parametrize(
    ("synthetic", "nodes", "cores", "threads"),
    [
        ("node:1 core:2 pu:1", 1, 2, 1),
        ("package:2 numa:1 core:4 pu:2", 2, 8, 2),
        ("package:2 numa:4 l3:1 core:8 pu:2", 8, 64, 2),
        ("package:4 numa:2 core:32 pu:2", 8, 256, 2),
        ("numa:8 core:8 pu:8", 8, 64, 8),
    ],
)
def test_machines_that_hwloc_makes_up_are_read_as_they_were_made(
    synthetic: str, nodes: int, cores: int, threads: int
) -> None:
    seen = hwloc.parse_hwloc(lstopo("--input", synthetic))
    assert seen is not None
    assert (len(seen.nodes), len(seen.cores)) == (nodes, cores)
    assert {len(core) for core in seen.cores} == {threads}
    assert sorted(cpu for core in seen.cores for cpu in core) == list(range(cores * threads))


def test_a_disagreement_is_a_sentence() -> None:
    nodes = describe_machine("xeon-2n-smt").resources.numa_nodes
    other = hwloc.parse_hwloc(lstopo("--input", "package:2 numa:1 core:8 pu:2"))
    disagreements = hwloc.find_disagreements(nodes, other)
    assert disagreements[0] == "node 0 has CPUs 0-7,16-23, hwloc says 0-15"
    assert any("share a core" in each for each in disagreements)


def test_what_is_no_export_of_hwloc_says_nothing() -> None:
    assert hwloc.parse_hwloc("") is None
    assert hwloc.parse_hwloc("<topology><object") is None
    assert hwloc.find_disagreements(describe_machine("xeon-2n-smt").resources.numa_nodes, None) == ()
