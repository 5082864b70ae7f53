"""Trials ended by a stop rule, with a SUT in which nft drops frames."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.bench import bench

from nodrop.model.trial import StopRule, ValidityStatus

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]

LOAD_PPS = 20_000
DROP_EVERY_TEN_THOUSANDTH = """
table bridge planted {
  chain loss {
    type filter hook forward priority 0
    numgen inc mod 10000 == 9999 counter drop
  }
}
"""


def test_a_trial_ends_shortly_after_its_first_lost_frame(require_tool: Callable[[str], Path]) -> None:
    nft = require_tool("nft")
    with bench(sut="bridge") as lab:
        lab.run("sut", nft, "-f", "-", text=DROP_EVERY_TEN_THOUSANDTH)
        result = lab.measure(LOAD_PPS, 20.0, StopRule(after_loss_s=0.3))
        table = lab.run("sut", nft, "list", "table", "bridge", "planted")
    planted_count = int(table.partition("packets ")[2].split()[0])
    assert (result.stopped_early, result.stopped_by) == (True, "after_loss")
    # Lost at 0.5 s, detected one to two polls of 0.008 s later, then 0.3 s; more on a busy machine.
    assert 0.8 <= result.duration_s < 5.0
    assert result.lost_count == planted_count >= 1
    assert result.offered_count == pytest.approx(LOAD_PPS * result.duration_s, rel=0.02)
    assert result.validity.verdict is not ValidityStatus.INVALID

    windows = result.windows
    for stream, column in zip(result.streams, windows.lost_count, strict=True):
        assert sum(column) == stream.lost_count
    lost_counts = [sum(each) for each in zip(*windows.lost_count, strict=True)]
    first = next(position for position, count in enumerate(lost_counts) if count)
    assert lost_counts[first] == 1
    assert 0.5 <= windows.end_s[first] < 1.0
    assert result.duration_s - 0.3 < windows.end_s[first + 1] + 0.06
    assert all(earlier < later for earlier, later in itertools.pairwise(windows.end_s))
