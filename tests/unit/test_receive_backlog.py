"""The receive backlog of the kernel, from rows of its table in the form of Linux 6.18 and of one before 5.10."""

from pathlib import Path

import pytest

from nodrop.system.receive_backlog import has_receive_backlog

EMPTY = "0000000a 00000000 00000002" + " 00000000" * 9 + " 00000000 00000000 00000000\n"
WAITING = "0000000a 00000000 00000002" + " 00000000" * 8 + " 0000001f 00000001 0000001f 00000000\n"


@pytest.mark.parametrize(
    ("table", "expected"), [(EMPTY, False), (EMPTY + WAITING, True), ("0000000a 00000001 00000002\n", False)]
)
def test_frames_that_wait_on_any_cpu_are_found(table: str, expected: bool, tmp_path: Path) -> None:
    path = tmp_path / "softnet_stat"
    path.write_text(table)
    assert has_receive_backlog(path) is expected


def test_a_kernel_without_the_table_has_no_known_backlog(tmp_path: Path) -> None:
    assert not has_receive_backlog(tmp_path / "softnet_stat")
