"""`nodrop host describe`: this machine in every form, compared with lscpu."""

import json
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from rich.console import Group
from tests.machines import TREES, describe_machine

from nodrop.cli import main
from nodrop.cli.console import print_renderable
from nodrop.descriptors import read_chd
from nodrop.host.describe import describe_in_background
from nodrop.model.chd import HostDescriptor
from nodrop.report.host.table import build_host_parts
from nodrop.report.host.unknowns import list_unknowns

ROOT = str(TREES / "xeon-2n-smt.tar.xz")


def test_this_machine_is_as_lscpu_sees_it(capsys: pytest.CaptureFixture[str]) -> None:
    if not shutil.which("lscpu"):
        pytest.skip("lscpu is not installed: apt install util-linux")
    output = subprocess.run(["lscpu", "-p=CPU,NODE,SOCKET,CORE"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(",") for line in output.splitlines() if not line.startswith("#")]
    nodes, cores = defaultdict[int, set[int]](set), defaultdict[str, set[int]](set)
    for cpu, node, _, core in rows:
        nodes[int(node or 0)].add(int(cpu))
        cores[core].add(int(cpu))
    assert main(["host", "describe", "--format", "json"]) == 0
    result = HostDescriptor.model_validate_json(capsys.readouterr().out).resources.numa_nodes
    assert {node.id: set(node.cpus.ids) for node in result if node.cpus.ids} == nodes
    sets = [set(each) for node in result for each in node.cpus.sibling_sets]
    assert sorted(map(sorted, sets)) == sorted(map(sorted, cores.values()))
    sockets = {int(cpu): int(socket or 0) for cpu, _, socket, _ in rows}
    sockets_by_node = [
        (node.socket.value, {sockets[cpu] for cpu in node.cpus.ids}) for node in result if node.socket.known
    ]
    assert all(len(theirs) == 1 for _, theirs in sockets_by_node)


def test_memory_is_what_the_kernel_says_in_meminfo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["host", "describe", "--format", "json"]) == 0
    host = HostDescriptor.model_validate_json(capsys.readouterr().out)
    lines = Path("/proc/meminfo").read_text().splitlines()
    whole = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemTotal"))
    nodes = [node.memory for node in host.resources.numa_nodes]
    together = sum(memory.total_bytes.value or 0 for memory in nodes)
    message = any("by /proc/meminfo" in warning for warning in host.warnings)
    assert message == (abs(together - whole) > 0.05 * whole)
    assert all((memory.normal.free_bytes.value or 0) <= (memory.total_bytes.value or 0) for memory in nodes)


@pytest.mark.parametrize("suffix", ["yaml", "json", "xml"])
def test_a_file_of_any_form_is_the_same_host(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"host.{suffix}"
    assert main(["host", "describe", "--root", ROOT, "--format", suffix, "-o", str(file)]) == 0
    host = read_chd(file)
    assert host.resources.numa_nodes == describe_machine("xeon-2n-smt").resources.numa_nodes
    assert len(host.capabilities.sha256) == 64


def test_without_a_form_a_file_is_yaml_and_the_terminal_has_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["host", "describe", "--root", ROOT, "-o", str(tmp_path / "host")]) == 0
    assert (tmp_path / "host").read_text().startswith("chd_version:")
    assert main(["host", "describe", "--root", ROOT]) == 0
    table = capsys.readouterr().out
    assert "Xeon(R) Silver 4108" in table
    assert "0-7,16-23" in table
    assert "2M 2048/2048, 1G 0/0" in table


def test_the_table_fits_a_terminal_and_says_what_is_not_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("epyc-8n-smt", "power9-gpu-memory"):
        with (tmp_path / name).open("w") as out:
            print_renderable(Group(*build_host_parts(describe_machine(name))), out)
        text = (tmp_path / name).read_text()
        assert max(map(len, text.splitlines())) <= 100
        assert "Unknown:" in text
        assert len(text.splitlines()) < 80


def test_reasons_are_grouped_and_the_most_frequent_comes_first() -> None:
    unknowns = list_unknowns(describe_machine("epyc-8n-smt"))
    assert unknowns[0].why == "not in the capture"
    assert len(unknowns[0].leaves) >= len(unknowns[1].leaves)
    assert len({each.why for each in unknowns}) == len(unknowns)


def test_the_operators_own_cpus_are_eligible(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    command = ["host", "describe", "--root", ROOT, "--eligible-cpus", "2-3,18", "--format", "json", "-o", str(file)]
    assert main(command) == 0
    states = json.loads(file.read_text())["resources"]["numa_nodes"][0]["cpus"]["cpu"]
    assert [cpu for cpu, state in states.items() if state["eligible"]["value"]] == ["2", "3", "18"]
    assert states["2"]["eligible"]["confidence"] == "declared"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--eligible-cpus", "two"), "--eligible-cpus: invalid CPU list 'two'"),
        (("--root", str(TREES)), "neither sys/ nor proc/"),
        (("--root", ROOT, "--capture", "x.tar"), "omit one of them"),
        (("--capture", "/nowhere/x.tar.gz"), "--capture: cannot write /nowhere/x.tar.gz"),
        (("-o", "/proc/nowhere/x"), "/proc/nowhere"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["host", "describe", *arguments]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed


def test_a_description_that_fails_ends_no_run() -> None:
    def broken() -> HostDescriptor:
        raise ValueError("a file nobody thought of")

    assert describe_in_background(broken)() is None
    assert describe_in_background(lambda: None)() is None
    host = describe_machine("xeon-2n-smt")
    assert describe_in_background(lambda: host)() is host
