"""The configuration stored in a result requests the same run again."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.recorded import record_run
from tests.running import MILLION

from nodrop.config.load import build_config
from nodrop.plan import build_each, build_plan


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"profile": "standard", "search.width": "1%", "rate": "ndr", "label": "on: 12:30"},
        {"traffic.imix": {64: 7, 594: 4}, "goals": {"NDR": 0, "X": {"loss_ratio": "1%", "duration_sum": "21s"}}},
        {"vlans": [[100, 101], [200, 201]], "chains": 2, "flow_count": "10k", "flows.seed": 7},
        {"rate": "10kpps", "duration": "2s", "interval": "1s", "bidirectional": False, "latency.percentiles": [50, 99]},
        {"service_chain_count": 2, "traffic.bidirectional": False, "user_info": {"who": "<me>", "n": 1}},
    ],
)
def test_the_kept_configuration_gives_the_same_plan(written: dict[str, Any]) -> None:
    plan = build_plan(build_config([], written))
    again = build_plan(build_config([yaml.safe_dump(plan.asked, sort_keys=False)], {}))
    assert again.model_copy(update={"nfvbench": plan.nfvbench}) == plan


def test_each_frame_size_is_asked_for_alone() -> None:
    plans = build_each(build_config([], {"frame_sizes": [64, "IMIX", 1518]}))
    for plan in plans:
        assert plan.asked is not None
        assert build_plan(build_config([yaml.safe_dump(plan.asked, sort_keys=False)], {})) == plan


def test_where_results_go_is_not_kept() -> None:
    text = {"results_index": "postgresql://me@host/db", "ship.openmetrics_file": "/tmp/m", "results_dir": "r"}
    assert build_plan(build_config([], text)).asked == {}


def test_it_is_stored_with_the_result(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION, frame_bytes=128)
    assert result.plan.asked is not None
    assert result.plan.asked["frame_bytes"] == 128
