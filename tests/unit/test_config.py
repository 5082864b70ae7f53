"""Configuration: one rule of precedence, and errors that name file, key, value and the fix."""

import errno
import os
from pathlib import Path

import pytest

from nodrop.config.load import build_config
from nodrop.config.schema import Config, GoalConfig
from nodrop.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lab.yaml"


def refusal(file: Path, text: str) -> str:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        build_config([file], {})
    return str(caught.value).replace(f"{file}", "lab.yaml")


def test_no_configuration_at_all_is_the_defaults() -> None:
    assert build_config([], {}) == Config()
    assert Config().goals == {"NDR": 0.0, "PDR": 0.005}


def test_an_empty_file_and_an_empty_section_change_nothing(file: Path) -> None:
    file.write_text("")
    assert build_config([file], {}) == Config()
    file.write_text("search:\nengine:\n")
    assert build_config([file], {}) == Config()


def test_flags_win_over_files_and_later_files_over_earlier_ones(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("frame_bytes: 128\nflow_count: 1\nsearch: {width: 2%, min_load: 1kpps}")
    second.write_text("flow_count: 2\nsearch: {width: 3%}")
    config = build_config([first, second], {"search.width": "4%"})
    assert (config.frame_bytes, config.flow_count) == (128, 2)
    assert (config.search.width, config.search.min_load) == (0.04, 1000.0)


def test_who_names_one_goal_names_all(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("goals: {NDR: 0, PDR: 1%}")
    second.write_text("goals: {soft: 2%}")
    assert build_config([first, second], {}).goals == {"soft": 0.02}


def test_quantities_are_written_with_their_units(file: Path) -> None:
    file.write_text(
        "search: {initial_trial_duration: 200ms, max_load: 2Mpps, width: 0.5%}\nengine: {cores: [0, 1]}\nvnf: {core: 1}"
    )
    config = build_config([file], {})
    assert config.search.initial_trial_duration == pytest.approx(0.2)
    assert config.search.max_load == 2e6
    assert config.search.width == pytest.approx(0.005)
    assert config.engine.cores == (0, 1)
    assert config.vnf.core == 1


def test_a_goal_is_a_loss_ratio_or_has_attributes(file: Path) -> None:
    file.write_text("goals: {NDR: 0, second: {loss_ratio: 0.5%, final_trial_duration: 1s, exceed_ratio: 50%}}")
    config = build_config([file], {"search.duration_sum": "21s"})
    assert config.goals == {
        "NDR": 0.0,
        "second": GoalConfig(loss_ratio=0.005, final_trial_duration=1.0, exceed_ratio=0.5),
    }
    assert config.search.duration_sum == 21.0


def test_a_flag_sets_an_attribute_of_a_goal() -> None:
    goals = build_config([], {"goals.NDR.loss_ratio": 0, "goals.NDR.width": "1%"}).goals
    assert goals == {"NDR": GoalConfig(loss_ratio=0.0, width=0.01)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "goals: {NDR: {widht: 1%, loss_ratio: 0}}",
            "goals.NDR.widht: unknown key ('1%'); did you mean goals.NDR.width?",
        ),
        (
            "goals: {NDR: {width: 1%}}",
            "goals.NDR.loss_ratio: missing and has no default; add it, e.g. loss_ratio: 0.5%",
        ),
        (
            "goals: {NDR: {loss_ratio: -1%}}",
            "goals.NDR.loss_ratio: should be greater than or equal to 0 (-0.01)",
        ),
        ("goals: {NDR: {loss_ratio: 0, width: 0}}", "goals.NDR.width: should be greater than 0 (0.0)"),
        (
            "goals: {NDR: {loss_ratio: 0, exceed_ratio: 100%}}",
            "goals.NDR.exceed_ratio: should be less than 1 (1.0)",
        ),
        ("goals: {NDR: [0]}", "goals.NDR: [0] is not a ratio; write for example 0.5% or 0.005"),
        ("search: {algorithm: guess}", "search.algorithm: should be 'nodrop', 'mlrsearch-rfc9971',"),
        ("search: {budget: 0}", "search.budget: should be greater than 0 (0.0)"),
    ],
)
def test_a_wrong_goal_or_search_is_refused_by_file_key_and_value(text: str, sentence: str, file: Path) -> None:
    assert refusal(file, text).startswith(f"lab.yaml: line 1: {sentence}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("search: {widht: 1%}", "lab.yaml: line 1: search.widht: unknown key ('1%'); did you mean search.width?"),
        ("frame_byte: 64", "lab.yaml: line 1: frame_byte: unknown key (64); did you mean frame_bytes?"),
        ("frame_bytes: 20", "lab.yaml: line 1: frame_bytes: should be greater than or equal to 64 (20)"),
        ("profile: fast", "lab.yaml: line 1: profile: should be 'quick', 'standard' or 'csit' ('fast')"),
        (
            "search: {width: wide}",
            "lab.yaml: line 1: search.width: 'wide' is not a ratio; write for example 0.5% or 0.005",
        ),
        ("goals: {PDR: 150%}", "lab.yaml: line 1: goals.PDR: should be less than 1 (1.5)"),
        (
            "engine: {cores: many}",
            "lab.yaml: line 1: engine.cores: 'many' is not a core; write auto, none or the number of a CPU, "
            "for example 1",
        ),
        ("search: 5", "lab.yaml: line 1: search: not a mapping (5); write keys with values below it, indented"),
        ("a: b: c", "lab.yaml: line 1, column 5: invalid YAML (mapping values are not allowed here); correct the line"),
        (
            "flow_count: 1\nflow_count: 2",
            "lab.yaml: line 2, column 1: invalid YAML (duplicate key 'flow_count'); correct the line",
        ),
        ("- quick", "lab.yaml: not a mapping (['quick']); write keys with values, e.g. `profile: quick`"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(text: str, sentence: str, file: Path) -> None:
    assert refusal(file, text) == sentence


def test_a_key_like_no_other_is_answered_with_all_there_are(file: Path) -> None:
    sentence = refusal(file, "vnf: {zzz: 1}")
    summary = (
        "vnf.core, vnf.backend, vnf.queue_slots, vnf.capacity, vnf.buffer, vnf.policer, vnf.table, vnf.pages, "
        "vnf.memory_node, vnf.softirq_core"
    )
    assert sentence == f"lab.yaml: line 1: vnf.zzz: unknown key (1); valid keys: {summary}"


def test_every_wrong_key_is_named_at_once(file: Path) -> None:
    assert len(refusal(file, "frame_bytes: 1\nflow_count: 0\nsearch: {width: 2}").splitlines()) == 3


def test_a_wrong_flag_is_not_blamed_on_a_file(file: Path) -> None:
    file.write_text("flow_count: 2")
    with pytest.raises(ConfigError, match=r"^command line: frame_bytes: should be .* \(1\)$"):
        build_config([file], {"frame_bytes": 1})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    reason = os.strerror(errno.ENOENT)
    with pytest.raises(ConfigError, match=rf"gone\.yaml: cannot read the configuration \({reason}\)"):
        build_config([tmp_path / "gone.yaml"], {})


def test_every_key_says_what_it_is() -> None:
    sections = [Config, GoalConfig, *(field.annotation for field in Config.model_fields.values())]
    undocumented = [
        name
        for section in sections
        for name, field in getattr(section, "model_fields", {}).items()
        if not field.description
    ]
    assert undocumented == []


@pytest.mark.parametrize("url", ["postgresql://u:secret@h/db", "postgresql://h/db?user=u&password=secret"])
def test_a_password_of_the_index_is_refused_and_not_told(url: str) -> None:
    with pytest.raises(
        ConfigError, match="results_index: the URL contains a password, which every result would store"
    ) as refused:
        build_config((), {"results_index": url})
    assert "secret" not in str(refused.value)
    assert build_config((), {"results_index": "postgresql://u@h/db?host=/run"}).results_index
