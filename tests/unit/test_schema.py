"""The committed schemas agree with the code and its output."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scripts.schemas import SCHEMAS, python_schemas, stale
from tests.running import Listener, make_environment, make_plan
from tests.suts import SlowTester

from nodrop import store
from nodrop.config.schema import Config
from nodrop.run.execute import execute


def read(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text())


def test_the_committed_schemas_are_current() -> None:
    assert list(stale(python_schemas())) == []


def test_a_stored_result_fits_its_schema(tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path), Listener(), make_environment(SlowTester(capacity_pps=1e6, tester_pps=5e5)))
    jsonschema.Draft202012Validator(read("result.json")).validate(json.loads(store.to_json(result)))


def test_a_changed_result_does_not_fit_the_schema(tmp_path: Path) -> None:
    result = json.loads(store.to_json(execute(make_plan(tmp_path), Listener(), make_environment())))
    for change in ({"schema_version": "0"}, {"status": "fine"}, {"surprise": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(read("result.json")).validate(result | change)


@pytest.mark.parametrize(
    "written",
    [
        {},
        json.loads(Config().model_dump_json()),
        {"goals": {"NDR": 0, "second": {"loss_ratio": "0.5%", "duration_sum": "21s", "exceed_ratio": 0.5}}},
        {"search": {"width": "1%", "max_load": "2Mpps"}, "goals": {"PDR": "0.1%"}, "engine": {"cores": [0]}},
    ],
)
def test_what_a_user_may_write_fits_the_schema_of_the_configuration(written: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(read("config.json")).validate(written)
