"""Messages: codes and parameters in results, sentences for people and other programs."""

import json
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.recorded import record_run
from tests.suts import SlowTester

from nodrop import store
from nodrop.export.jsonl import JsonlWriter
from nodrop.formatting.doubts import DOUBTS
from nodrop.formatting.explanations import EXPLANATIONS
from nodrop.formatting.flags import FLAGS
from nodrop.formatting.messages import AS_SENTENCES, SPECIFICATIONS, TEMPLATES, WITH_SENTENCES, format_message
from nodrop.formatting.reasons import REASONS
from nodrop.model.event import TrialStarted
from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.result import RunResult, TrialPreview
from nodrop.model.trial import Doubt, Trial, TrialResult, Validity, ValidityStatus
from nodrop.report.document.warnings import REASONS as DOUBT_REASONS

BUFFER = Flag.of("buffer", frames=4096.0, seconds=0.001)
SENTENCE = "The SUT buffers about 4,096 frames (1 ms at its capacity)."


def test_a_message_is_rendered_from_code_and_parameters() -> None:
    assert format_message(BUFFER) == SENTENCE
    assert format_message(Message()) == ""


def test_the_parameters_choose_between_the_sentences_of_a_code() -> None:
    assert "at least the load" in format_message(
        Flag.of("mode-switching", trial=3, load_pps=1e6, low_pps=9e5, low_s=1.0, high_s=2.0)
    )
    assert "jumped between 900 kpps" in format_message(Flag.of("mode-switching", trial=3, low_pps=9e5, high_pps=1e6))


@pytest.mark.parametrize(
    ("flag", "sentence"),
    [
        (
            Flag.of("drift", slope_ratio_per_run=-0.004),
            "Values fell from run to run: the machine or the SUT drifts. Alternating runs cancel drift.",
        ),
        (
            Flag.of("two_modes", side="A", high_count=3, low_count=2),
            "A: 3 runs are high and 2 low, with none between.",
        ),
        (
            Flag.of("outlier", side="B", run_id="20260131T120000Z-3f9a2c"),
            "B: run 20260131T120000Z-3f9a2c is far from the others.",
        ),
        (
            Flag.of("host-check", disturbance="held_up", trial_count=1200, checks="A2 A3"),
            "In 1,200 trials the tester was stalled. See: nodrop host check A2 A3.",
        ),
    ],
)
def test_flags_of_comparisons_and_hosts_are_rendered_from_their_parameters(flag: Flag, sentence: str) -> None:
    assert format_message(flag) == sentence


def test_a_message_of_an_unknown_code_is_readable() -> None:
    assert format_message(Message.of("new-code", load_pps=5.0, goal="NDR")) == "new-code (load_pps 5.0, goal NDR)"
    assert format_message(Message.of("buffer", frames=1)) == "buffer (frames 1)"


def test_no_code_stands_for_two_kinds_of_messages() -> None:
    assert len(TEMPLATES) == len(FLAGS) + len(DOUBTS) + len(REASONS) + len(EXPLANATIONS)


@pytest.mark.parametrize("code", sorted(TEMPLATES))
def test_every_template_is_one_that_can_be_filled_in(code: str) -> None:
    for template in TEMPLATES[code]:
        for _, name, specification, conversion in string.Formatter().parse(template):
            assert name is None or (name.isidentifier() and not conversion)
            if name and specification not in SPECIFICATIONS:
                format(1.0, specification)


def test_stored_messages_have_their_sentence_next_to_them_and_lose_it_when_read() -> None:
    stored = json.loads(BUFFER.model_dump_json(context=WITH_SENTENCES))
    assert stored == {"code": "buffer", "params": {"frames": 4096.0, "seconds": 0.001}, "text": SENTENCE}
    assert Flag.model_validate(stored | {"text": "Other words."}) == BUFFER


def test_events_carry_sentences(tmp_path: Path) -> None:
    trial = Trial(intended_load_pps=1e6, duration_s=1.0, reason=Message.of("highest-first"))
    event = TrialStarted(index=0, phase="search", trial=trial, outlook=TrialPreview())
    writer = JsonlWriter(tmp_path / "events.jsonl")
    writer(event)
    writer.close()
    text = json.loads((tmp_path / "events.jsonl").read_text())
    assert text["trial"]["reason"] == "the highest load comes first"
    assert text["outlook"]["if_low_loss"] == ""
    assert json.loads(BUFFER.model_dump_json(context=AS_SENTENCES)) == {"code": "buffer", "text": SENTENCE}


LATE = Doubt.suspect("sender_late", late_s=0.0125)
LATE_SENTENCE = "the tester fell 12.5 ms behind its schedule and caught up in a burst"


@pytest.mark.parametrize(
    ("doubt", "sentence"),
    [
        (LATE, LATE_SENTENCE),
        (
            Doubt.suspect("sender_late", late_s=0.0125, generator="TRex"),
            "TRex fell 12.5 ms behind its schedule and caught up in a burst",
        ),
        (Doubt.invalid("aborted"), "stopped early on request"),
        (
            Doubt.invalid("aborted", sent_s=1.5, duration_s=30.0),
            "TRex stopped sending after 1.5 s of 30 s without a request from nodrop; another client may use the server",
        ),
        (
            Doubt.suspect("offered_short", unsent_count=1500, intended_count=1_000_000, unsent_ratio=0.0015),
            "1,500 of 1,000,000 frames (0.15 %) were not sent in time; they count as lost",
        ),
        (
            Doubt.suspect("sender_stalled", stall_count=1, longest_s=0.031, catch_up_s=0.02, unsent_count=1),
            "the tester stalled 1 time, for up to 31.0 ms; it catches up at most 20.0 ms and did not send 1 frame",
        ),
        (
            Doubt.suspect("sut_preempted", waited_s=0.25, waited_ratio=0.025),
            "other work kept the SUT off its CPU for 0.25 s (2.5 % of the trial)",
        ),
        (
            Doubt.invalid("engine_died", error="the engine was killed by SIGKILL", elapsed_s=0.5, offered_count=1000),
            "the engine was killed by SIGKILL, 0.50 s into the trial, 1,000 frames sent",
        ),
    ],
)
def test_a_doubt_is_rendered_from_code_and_parameters(doubt: Doubt, sentence: str) -> None:
    assert format_message(doubt) == sentence


def test_every_code_of_a_doubt_has_a_sentence_and_a_short_reason() -> None:
    assert set(DOUBTS) == set(DOUBT_REASONS)


def test_a_stored_doubt_has_code_parameters_verdict_and_sentence() -> None:
    stored = json.loads(LATE.model_dump_json(context=WITH_SENTENCES))
    assert stored == {
        "code": "sender_late",
        "params": {"late_s": 0.0125},
        "verdict": "suspect",
        "text": LATE_SENTENCE,
    }
    assert Doubt.model_validate(stored | {"text": "Other words."}) == LATE


def test_an_event_has_code_verdict_and_sentence_of_a_doubt() -> None:
    text = json.loads(LATE.model_dump_json(context=AS_SENTENCES))
    assert text == {"code": "sender_late", "verdict": "suspect", "text": LATE_SENTENCE}


def test_the_worst_doubt_decides_how_far_a_trial_can_be_trusted() -> None:
    assert Validity.of([LATE, Doubt.invalid("aborted")]).verdict is ValidityStatus.INVALID
    assert Validity.of([LATE]).verdict is ValidityStatus.SUSPECT


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_doubt_that_was_stored_as_a_sentence_prints_it(tmp_path: Path, version: str) -> None:
    sentence = "the tester fell 11.0 ms behind its schedule, in the words of an earlier release"
    doubt = {"code": "sender_late", "verdict": "suspect", "text": sentence}
    result = record_run(tmp_path / "new", SlowTester(capacity_pps=1e6, tester_pps=5e5))
    stored = json.loads(store.to_json(result)) if version == "2" else to_version_1(result)
    stored["trials"][0]["validity"] = {"verdict": "suspect", "doubts": [doubt]}
    file = tmp_path / "result.json"
    file.write_text(json.dumps(stored))
    read = store.load(file)
    (read_doubt,) = read.trials[0].validity.doubts
    assert format_message(read_doubt) == sentence
    assert (read_doubt.code, read_doubt.verdict) == ("sender_late", ValidityStatus.SUSPECT)
    text = json.loads(store.to_json(read))
    assert text["trials"][0]["validity"]["doubts"] == [doubt]
    assert RunResult.model_validate(text) == read


def doubt_sentences(trials: Iterable[TrialResult]) -> list[str]:
    return [format_message(doubt) for trial in trials for doubt in trial.validity.doubts]


def to_version_1(result: RunResult) -> dict[str, Any]:
    """Return the result as releases before schema version 2 stored it: sentences only."""
    return json.loads(result.model_dump_json(context=AS_SENTENCES)) | {"schema_version": "1"}


def test_a_result_of_schema_version_1_reads_as_it_did(tmp_path: Path) -> None:
    result = record_run(tmp_path / "new", SlowTester(capacity_pps=1e6, tester_pps=5e5))
    old = to_version_1(result)
    assert isinstance(old["goals"], list)
    assert isinstance(old["goals"][0]["explanation"], str)
    file = tmp_path / "result.json"
    file.write_text(json.dumps(old))
    read = store.load(file)
    assert read.schema_version == "2"
    for before, after in zip(result.goals, read.goals, strict=True):
        assert format_message(after.explanation) == format_message(before.explanation)
        assert [(flag.code, format_message(flag)) for flag in after.flags] == [
            (flag.code, format_message(flag)) for flag in before.flags
        ]
    assert [format_message(trial.trial.reason) for trial in read.trials] == [
        format_message(trial.trial.reason) for trial in result.trials
    ]
    assert [format_message(step.if_low_loss) for step in read.steps] == [
        format_message(step.if_low_loss) for step in result.steps
    ]
    assert doubt_sentences(read.trials) == doubt_sentences(result.trials) != []
    assert RunResult.model_validate_json(store.to_json(read)) == read
