"""The stop rule, by the table that the engine has to pass too (`crates/nodrop-model/tests/stop_rule.rs`)."""

import json
from pathlib import Path
from typing import Any

import pytest

from nodrop.model.trial import StopRule

CASES = json.loads((Path(__file__).parents[1] / "stop_rules.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_clause_fires_when_the_table_says_so(case: dict[str, Any]) -> None:
    rule = StopRule(**case["rule"])
    assert rule.fires(case["elapsed_s"], case["lost_count"], case["first_loss_s"]) == case["fires"]
