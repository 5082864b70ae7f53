"""Processes of an external SUT, by pid and by control group."""

from pathlib import Path

import pytest
from tests.running import plan_lab

from nodrop.errors import StageError
from nodrop.stage.sut_processes import find_sut_processes


def make_process(proc: Path, pid: int, name: str) -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "comm").write_text(f"{name}\n")


def make_group(root: Path, group: str, *pids: int) -> None:
    directory = root / group
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))


def find(tmp_path: Path, **fields: object) -> list[str]:
    plan = plan_lab("ext", generator="trex", **fields)
    return [each.name for each in find_sut_processes(plan, tmp_path / "proc", tmp_path / "cgroup")]


@pytest.mark.parametrize("base", ["", "cpu/"], ids=["version 2", "version 1"])
def test_processes_of_a_group_and_of_those_below_it_are_found_once(tmp_path: Path, base: str) -> None:
    for pid, name in ((7, "ovs-vswitchd"), (8, "ovsdb-server"), (9, "monitor")):
        make_process(tmp_path / "proc", pid, name)
    make_group(tmp_path / "cgroup", f"{base}system.slice/ovs.service", 7, 8)
    make_group(tmp_path / "cgroup", f"{base}system.slice/ovs.service/inner", 9)
    found = find(tmp_path, sut_pids=[8], sut_cgroups=["/system.slice/ovs.service"])
    assert found == ["ovsdb-server (8)", "ovs-vswitchd (7)", "monitor (9)"]
    directory = str(tmp_path / "cgroup" / f"{base}system.slice/ovs.service/inner")
    assert find(tmp_path, sut_cgroups=[directory]) == ["monitor (9)"]


def test_a_pid_or_group_without_a_process_is_refused(tmp_path: Path) -> None:
    make_group(tmp_path / "cgroup", "empty")
    with pytest.raises(StageError, match="sut_pids: no process 7 runs on this machine"):
        find(tmp_path, sut_pids=[7])
    with pytest.raises(StageError, match="sut_cgroups: empty has no processes"):
        find(tmp_path, sut_cgroups=["empty"])
    for group in ("missing", "/"):
        with pytest.raises(StageError, match=f"no control group {group} is below"):
            find(tmp_path, sut_cgroups=[group])
