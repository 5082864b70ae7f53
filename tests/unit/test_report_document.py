"""The report as data: its content for each kind of run, from results alone."""

from pathlib import Path

from tests.recorded import record_run
from tests.running import MILLION
from tests.suts import Step

from nodrop.formatting.messages import format_message
from nodrop.report.document import build_document
from nodrop.report.document.blocks import Document, Fold, Table


def tables(document: Document) -> dict[str, Table]:
    """Return all tables by caption."""
    blocks = [block for section in document.sections for block in section.blocks]
    result: dict[str, Table] = {}
    while blocks:
        block = blocks.pop()
        if isinstance(block, Fold):
            blocks += block.blocks
        elif isinstance(block, Table):
            result[block.caption] = block
    return result


def test_the_first_screen_says_in_a_sentence_what_was_found(tmp_path: Path) -> None:
    output = build_document([record_run(tmp_path, MILLION)])
    assert output.sentence.startswith(
        "vnf-l2 (nodrop's layer 2 forwarder) forwards 998.0 kpps without losing a frame (NDR)"
    )
    assert "losing at most 0.5 % of the frames (PDR)" in output.sentence
    assert [card.label for card in output.cards] == ["NDR", "PDR 0.5 %"]


def test_a_sut_that_forwards_nothing_has_no_figure(tmp_path: Path) -> None:
    output = build_document([record_run(tmp_path, Step(300.0))])
    assert "No rate met the goals" in output.sentence
    assert {card.text for card in output.cards} == {"none"}
    assert output.trust_tone != "good"


def test_figures_that_are_not_the_suts_say_so_first(tmp_path: Path) -> None:
    output = build_document([record_run(tmp_path, Step(1e12))])
    assert all(card.text.startswith("at least ") for card in output.cards)
    assert output.trust_tone == "caution"
    assert "no higher load was tried" in output.trust


def test_every_trial_is_in_the_table_with_its_reason(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    (table,) = (each for caption, each in tables(build_document([result])).items() if caption.startswith("All "))
    assert len(table.rows) == len(result.trials)
    for row, trial in zip(table.rows, result.trials, strict=True):
        assert row[2].key == trial.trial.intended_load_pps
        assert format_message(trial.trial.reason)[1:] in row[-1].text


def test_the_theoretical_maximum_is_that_of_rfc_2544(tmp_path: Path) -> None:
    """Appendix of RFC 2544 for 10 Mb/s Ethernet: 64-byte frames at 14,880 a second; here 10 Gb/s, both ways."""
    table = tables(build_document([record_run(tmp_path, MILLION)]))["Rate by frame size"]
    most = [
        cell.key
        for row in table.rows
        for cell, column in zip(row, table.columns, strict=True)
        if column.title == "theoretical maximum"
    ]
    assert all(2 * 14_880_000 <= (each or 0) < 2 * 14_881_000 for each in most)


def test_several_runs_are_set_side_by_side(tmp_path: Path) -> None:
    runs = [record_run(tmp_path, MILLION, frame_bytes=size) for size in (64, 1518)]
    output = build_document(runs)
    assert [card.label for card in output.cards] == ["64 bytes: NDR", "1518 bytes: NDR"]
    assert len(tables(output)["Rate by frame size"].rows) == 4
    assert [section.name for section in output.sections if section.name.startswith("run-")] == ["run-1", "run-2"]


def test_the_configuration_is_there_to_run_again(tmp_path: Path) -> None:
    output = build_document([record_run(tmp_path, MILLION, frame_bytes=512)])
    (section,) = (section for section in output.sections if section.name == "repeat")
    assert any("frame_bytes: 512" in getattr(block, "text", "") for block in section.blocks)
