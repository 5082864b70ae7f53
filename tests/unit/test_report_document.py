"""The report as data: its content for each kind of run, from results alone."""

from pathlib import Path

from tests.hosts import MOMENT
from tests.recorded import record_run
from tests.running import MILLION
from tests.suts import Step

from nodrop import store
from nodrop.formatting.messages import format_message
from nodrop.model.chd import HostDescriptor, HostIdentity
from nodrop.model.facts import Facts, HostFacts
from nodrop.model.ledger import Cause, DirectionLedger, Hop, LossLedger
from nodrop.model.result import RunResult
from nodrop.model.trial import Doubt, ValidityStatus
from nodrop.report.document import build_document
from nodrop.report.document.blocks import Bullets, Document, Fold, Paragraph, Table
from nodrop.report.document.host import find_hypervisor
from nodrop.report.document.loss import build_ledger_blocks
from nodrop.report.document.search import build_trial_table


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


def build_ledger(due: int, *causes: Cause) -> LossLedger:
    """Return a ledger of two hops each way; each cause takes frames at the hop that its name belongs to."""

    def build_way(port: int) -> DirectionLedger:
        unsent = tuple(cause for cause in causes if cause.name == "not_sent")
        dropped = tuple(cause for cause in causes if cause.name != "not_sent")
        sent_count = due - sum(cause.count for cause in unsent)
        received_count = sent_count - sum(cause.count for cause in dropped)
        sender = f"the tester's sender on tester{port}"
        sent = Hop(place=sender, side="tester", in_count=due, out_count=sent_count, causes=unsent)
        ring = Hop(place="the ring", side="sut", in_count=sent_count, out_count=received_count, causes=dropped)
        return DirectionLedger(tx_port=port, rx_port=1 - port, hops=(sent, ring))

    return LossLedger(ways=(build_way(0), build_way(1)))


def test_hops_state_lost_and_unsent_frames_apart_with_their_share_of_the_losses(tmp_path: Path) -> None:
    causes = (Cause(name="not_sent", text="not sent in time", count=50), Cause(name="ring", text="full", count=400))
    trial = record_run(tmp_path, MILLION).trials[0].model_copy(update={"ledger": build_ledger(1000, *causes)})
    (table,) = (block for block in build_ledger_blocks(trial) if isinstance(block, Table))
    titles = [column.title for column in table.columns]
    unsent, lost, share = (titles.index(title) for title in ("not sent", "lost", "share of the lost"))
    assert [(row[unsent].key, row[lost].key) for row in table.rows] == [(50, 0), (0, 400)] * 2
    assert [row[share].share for row in table.rows] == [None, 0.5] * 2


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


def list_texts(document: Document) -> list[str]:
    """Return all sentences of a report outside of its tables."""
    blocks = [block for section in document.sections for block in section.blocks]
    texts = [document.sentence, *(detail for card in document.cards[:1] for detail in card.details)]
    texts += document.trust.partition(": ")[2].rstrip(".").split("; ")
    while blocks:
        block = blocks.pop()
        if isinstance(block, Fold):
            blocks += block.blocks
        elif isinstance(block, Bullets):
            texts += block.items
        elif isinstance(block, Paragraph):
            texts.append(block.text)
    return texts


def doubt_lower_bound(result: RunResult, probability: float) -> RunResult:
    """Return the result with a lower bound of the first goal that is too high with a probability."""
    first, *others = result.goals
    doubtful = first.model_copy(update={"lower_error_probability": probability})
    return result.model_copy(update={"goals": (doubtful, *others)})


def test_a_report_shows_nothing_but_what_the_stored_result_has(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    stored = RunResult.model_validate_json(store.to_json(result))
    assert build_document([stored]) == build_document([result])


def test_no_sentence_is_repeated_and_a_probability_is_stated_once(tmp_path: Path) -> None:
    result = doubt_lower_bound(record_run(tmp_path, MILLION), 0.337)
    texts = list_texts(build_document([result]))
    assert len(texts) == len(set(texts))
    assert [text for text in texts if "33.7 %" in text] == ["chance that it is too high: 33.7 %"]


def test_a_figure_that_needs_care_does_not_look_good(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    bound = result.goals[0].upper
    assert bound
    suspect = result.trials[bound.trial_index].with_doubt(Doubt(verdict=ValidityStatus.SUSPECT, code="cpu_steal"))
    trials = tuple(suspect if trial.index == suspect.index else trial for trial in result.trials)
    tones = [
        build_document([each]).cards[0].tone
        for each in (result, doubt_lower_bound(result, 0.2), result.model_copy(update={"trials": trials}))
    ]
    assert tones == ["good", "caution", "caution"]


def test_lost_and_unsent_frames_of_a_trial_have_columns_of_their_own(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    table = build_trial_table(result)
    titles = [column.title for column in table.columns]
    for row, trial in zip(table.rows, result.trials, strict=True):
        figures = dict(zip(titles, row, strict=True))
        assert (figures["not sent"].key, figures["lost"].key) == (trial.unsent_count, trial.lost_count)
        assert figures["loss"].key == trial.lost_count / trial.offered_count


def test_the_brief_report_has_the_answer_and_a_chart_each_of_search_and_latency(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    entire, brief = build_document([result]), build_document([result], is_brief=True)
    assert (brief.sentence, brief.cards, brief.trust) == (entire.sentence, entire.cards, entire.trust)
    assert {chart.name for chart in brief.charts()} <= {"funnel", "latency"}
    assert not any(isinstance(block, Fold) for section in brief.sections for block in section.blocks)
    assert result.run_id in brief.sections[-1].blocks[-1].text


def test_several_runs_leave_their_details_to_the_screen(tmp_path: Path) -> None:
    results = [record_run(tmp_path, MILLION) for _ in range(2)]
    paper = build_document(results).for_paper()
    assert not any(isinstance(block, Fold) for section in paper.sections for block in section.blocks)
    (rates,) = (each for caption, each in tables(paper).items() if caption == "Rate by run")
    assert [row[0].text for row in rates.rows] == ["1: vnf-l2, 64", "1: vnf-l2, 64", "2: vnf-l2, 64", "2: vnf-l2, 64"]


def test_the_hypervisor_is_that_of_the_descriptor() -> None:
    facts = Facts.model_construct(host=HostFacts.model_construct(virtualization="unknown hypervisor"), chd=None)
    assert find_hypervisor(facts) == "unknown hypervisor"
    virtualization = MOMENT.reported("KVM", "cpuid 0x40000000")
    chd = HostDescriptor.model_construct(host=HostIdentity.model_construct(virtualization=virtualization))
    assert find_hypervisor(facts.model_copy(update={"chd": chd})) == "KVM"
