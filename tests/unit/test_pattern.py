"""Load patterns: from configuration to the engine's request."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.pattern import LoadPattern
from nodrop.plan import build_plan

ENGINE_SCHEMA = json.loads((Path(__file__).parents[2] / "schema/engine.json").read_text())


def pattern(**keys: Any) -> LoadPattern:
    text = {f"pattern.{key}": value for key, value in keys.items()}
    return build_plan(build_config((), text), cpus=(0, 1)).traffic.pattern


@pytest.mark.parametrize(
    ("keys", "planned"),
    [
        ({}, {"kind": "flat"}),
        ({"kind": "burst", "period": "20ms", "duty": "10%"}, {"kind": "burst", "period_s": 0.02, "duty_ratio": 0.1}),
        ({"kind": "sawtooth"}, {"kind": "sawtooth", "period_s": 1.0, "amplitude_ratio": 0.5}),
        ({"kind": "triangle", "amplitude": 1.0}, {"kind": "triangle", "period_s": 1.0, "amplitude_ratio": 1.0}),
        ({"kind": "sinusoid", "period": 2}, {"kind": "sinusoid", "period_s": 2.0, "amplitude_ratio": 0.5}),
        (
            {"kind": "stair", "steps": 3, "direction": "up_down"},
            {"kind": "stair", "period_s": 1.0, "amplitude_ratio": 0.5, "step_count": 3, "direction": "up_down"},
        ),
        ({"kind": "random", "seed": 9}, {"kind": "random", "period_s": 1.0, "amplitude_ratio": 0.5, "seed": 9}),
        ({"kind": "poisson", "seed": 9}, {"kind": "poisson", "seed": 9}),
    ],
)
def test_each_kind_keeps_the_keys_it_heeds_and_the_engine_takes_them(
    keys: dict[str, Any], planned: dict[str, Any]
) -> None:
    created = pattern(**keys).model_dump()
    assert created == planned
    shape = {"$ref": "#/$defs/LoadPattern", "$defs": ENGINE_SCHEMA["request"]["$defs"]}
    jsonschema.validate(created, shape)


@pytest.mark.parametrize("keys", [{"amplitude": 1.5}, {"duty": 0}, {"steps": 1}, {"kind": "square"}, {"period": "1us"}])
def test_what_no_pattern_can_be_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(keys))):
        pattern(**keys)
