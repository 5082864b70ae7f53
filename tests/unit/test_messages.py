"""Messages: codes and parameters in results, sentences for people and other programs."""

import json
import string
from pathlib import Path

import pytest
from tests.recorded import recorded
from tests.suts import SlowTester

from nodrop import store
from nodrop.export.jsonl import JsonlWriter
from nodrop.formatting.explanations import EXPLANATIONS
from nodrop.formatting.flags import FLAGS
from nodrop.formatting.messages import AS_SENTENCES, SPECIFICATIONS, TEMPLATES, WITH_SENTENCES, format_message
from nodrop.formatting.reasons import REASONS
from nodrop.model.event import TrialStarted
from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.result import RunResult, TrialPreview
from nodrop.model.trial import Trial

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


def test_a_message_of_an_unknown_code_is_readable() -> None:
    assert format_message(Message.of("new-code", load_pps=5.0, goal="NDR")) == "new-code (load_pps 5.0, goal NDR)"
    assert format_message(Message.of("buffer", frames=1)) == "buffer (frames 1)"


def test_no_code_stands_for_two_kinds_of_messages() -> None:
    assert len(TEMPLATES) == len(FLAGS) + len(REASONS) + len(EXPLANATIONS)


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
    written = json.loads((tmp_path / "events.jsonl").read_text())
    assert written["trial"]["reason"] == "the highest load comes first"
    assert written["outlook"]["if_low_loss"] == ""
    assert json.loads(BUFFER.model_dump_json(context=AS_SENTENCES)) == {"code": "buffer", "text": SENTENCE}


def as_version_1(result: RunResult) -> dict[str, object]:
    """Return the result as releases before schema version 2 stored it: sentences only."""
    return json.loads(result.model_dump_json(context=AS_SENTENCES)) | {"schema_version": "1"}


def test_a_result_of_schema_version_1_reads_as_it_did(tmp_path: Path) -> None:
    result = recorded(tmp_path / "new", SlowTester(capacity_pps=1e6, tester_pps=5e5))
    old = as_version_1(result)
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
    assert RunResult.model_validate_json(store.to_json(read)) == read
