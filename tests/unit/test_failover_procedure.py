"""The failover procedure: the runs that it requests, and what it reports of scripted failovers."""

from collections.abc import Callable, Sequence

import pytest
from tests.factories import procedure_suite, stream_counts, trial_result
from tests.recorded import record_run
from tests.suts import Step

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.procedure import FailoverPlan
from nodrop.model.result import FIXED, RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.trial import FrameTimes, LossRun, SenderTimes, StreamCounts, TimeSummary
from nodrop.model.trial_event import TrialEvent
from nodrop.plan.procedures import plan_failover
from nodrop.procedure.failover import (
    FailoverProcedure,
    build_failover_report,
    grow_stream_count,
    list_cautions,
    make_failover_settings,
)
from nodrop.report.document import build_document
from nodrop.report.document.blocks import Document
from nodrop.report.document.repeat_screen import build_repeat_screen
from nodrop.report.markdown import render_markdown, render_markdown_sections

TRIGGER_S, REVERT_S, END_S = 2.0, 5.0, 8.0
Recoveries = Sequence[float | None]
"""Time of each stream from an event to its first frame that arrives again, in seconds; None: it does not."""
Run = Callable[[Recoveries], RunResult]


def plan(**keys: object) -> FailoverPlan:
    settings = {key if key in ("frame_sizes",) else f"failover.{key}": value for key, value in keys.items()}
    return plan_failover(build_config((), {"sut": "pool", "bidirectional": False, "repeat": 2} | settings))


def lose(event_s: float, recovered_s: float | None) -> LossRun:
    """Return the frames that a stream of 1,000 per second loses from an event on."""

    def arrive(time_s: float) -> FrameTimes:
        return FrameTimes(sent_ns=round(time_s * 1e9) - 100_000, received_ns=round(time_s * 1e9))

    lost_s = END_S - event_s if recovered_s is None else recovered_s
    after = None if recovered_s is None else arrive(event_s + recovered_s)
    return LossRun(first_sequence=0, count=round(lost_s * 1e3), before=arrive(event_s - 0.0005), after=after)


def fail(stream_id: int, *runs: LossRun) -> StreamCounts:
    lost_count = sum(run.count for run in runs)
    return stream_counts(8_000, stream_id=2 * stream_id, lost=lost_count).replace(loss_timeline=runs)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that makes a run of a failover and a way back without loss."""
    recorded = record_run(tmp_path_factory.mktemp("results"), Step(1e6), rate="1kpps", duration="1s")

    def make(recoveries: Recoveries) -> RunResult:
        events = tuple(
            TrialEvent(name=name, begin_s=at_s, end_s=at_s + 0.001)
            for name, at_s in (("kill 0", TRIGGER_S), ("start 0", REVERT_S))
        )
        streams = tuple(
            fail(number, *(() if recovered_s == 0 else (lose(TRIGGER_S, recovered_s),)))
            for number, recovered_s in enumerate(recoveries)
        )
        trial = trial_result(1e3 * len(streams), END_S, phase=FIXED, streams=streams, events=events)
        traffic = recorded.plan.traffic
        traffic = traffic.replace(streams=traffic.streams[:1] * len(streams))
        return recorded.replace(plan=recorded.plan.replace(traffic=traffic), trials=(trial,))

    return make


def pause_tester(result: RunResult, pause_s: float) -> RunResult:
    """Return a run whose tester sent nothing for a while."""
    (trial,) = result.trials
    pause_ns = round(pause_s * 1e9)
    gaps = TimeSummary(
        count=1,
        min_ns=pause_ns,
        mean_ns=pause_ns,
        p50_ns=pause_ns,
        p90_ns=pause_ns,
        p99_ns=pause_ns,
        p999_ns=pause_ns,
        max_ns=pause_ns,
    )
    times = SenderTimes(port=0, lateness=None, gaps=gaps, stalls=None, unsent_count=0)
    return result.replace(trials=(trial.replace(senders=(times,)),))


def recover_in_turn(stream_count: int, first_s: float = 0.05, step_s: float = 0.005) -> list[float]:
    """Return recoveries of streams that a balancer moves one after the other."""
    return [first_s + step_s * number for number in range(stream_count)]


def carry_out(settings: FailoverPlan, run: Run) -> tuple[list[tuple[str, int]], list[RunResult]]:
    """Return the runs that a procedure requests of streams that recover in turn, and their results."""
    requests, results = [], []
    while (request := FailoverProcedure(settings).request_run(results)) is not None:
        requests.append((request.variant, request.repeat))
        results.append(run(recover_in_turn(int(str(request.settings["traffic.streams"])))))
        assert len(results) < 100
    return requests, results


def test_streams_grow_until_the_sla_is_missed(run: Run) -> None:
    requests, results = carry_out(plan(sla="152ms", max_streams=100), run)
    assert requests == [("20 streams", 1), ("20 streams", 2), ("22 streams", 1)]
    report = build_failover_report(plan(sla="152ms", max_streams=100), results)
    assert report.text == (
        "20 streams converge in 145 ms (145 ms to 145 ms in 2 repeats), within the SLA of 152 ms; 22 do not."
    )


def test_refinement_finds_the_most_streams_within_the_sla(run: Run) -> None:
    requests, results = carry_out(plan(sla="152ms", max_streams=100, refine=True), run)
    assert [variant for variant, _ in requests] == ["20 streams"] * 2 + ["22 streams"] + ["21 streams"] * 2
    report = build_failover_report(plan(sla="152ms", max_streams=100), results)
    assert report.lower and report.upper
    assert (report.lower.stream_count, report.upper.stream_count) == (21, 22)


def test_without_more_streams_there_is_one_round(run: Run) -> None:
    requests, results = carry_out(plan(sla="152ms"), run)
    assert requests == [("20 streams", 1), ("20 streams", 2)]
    text = build_failover_report(plan(sla="50ms"), results).text
    assert text == "20 streams converge in 145 ms (145 ms to 145 ms in 2 repeats), not within the SLA of 50 ms."


def test_growth_rounds_up_in_integers() -> None:
    counts = [20]
    while len(counts) < 6:
        counts.append(grow_stream_count(counts[-1], 0.1))
    assert counts == [20, 22, 25, 28, 31, 35]
    assert grow_stream_count(1, 0.001) == 2


def test_times_are_those_of_the_first_and_the_last_stream(run: Run) -> None:
    report = build_failover_report(plan(), [run(recover_in_turn(20))])
    (repeat,) = report.rounds[0].repeats
    times = repeat.failover
    assert times.first_s == pytest.approx(0.05) and times.last_s == pytest.approx(0.145)
    assert times.switchover_s == pytest.approx(0.095) and times.trigger_s == 0
    assert times.lost_count == 1950 and times.affected_count == 20
    assert repeat.way_back and repeat.way_back.lost_count == 0 and repeat.way_back.last_s is None


def test_a_stream_that_stays_lost_does_not_converge(run: Run) -> None:
    report = build_failover_report(plan(), [run([*recover_in_turn(19), None])])
    times = report.rounds[0].repeats[0].failover
    assert times.last_s is None and times.unrecovered_count == 1 and times.first_s == pytest.approx(0.05)
    assert report.rounds[0].meets_sla is False
    assert report.text == "20 streams did not converge in 1 repeat: not within the SLA of 50 ms."
    assert "20 streams: 19 of 20 converged within 3 s" in list(list_cautions(report))


def test_streams_that_lose_nothing_are_a_caution(run: Run) -> None:
    report = build_failover_report(plan(), [run([0, *recover_in_turn(3)])])
    assert "4 streams: only 3 of 4 lost frames; the others do not count" in list(list_cautions(report))
    report = build_failover_report(plan(), [run([0, 0])])
    assert "2 streams: the trigger cost no frame in 1 repeat" in list(list_cautions(report))


def test_a_rate_that_does_not_resolve_the_sla_is_a_caution(run: Run) -> None:
    (text,) = list_cautions(build_failover_report(plan(stream_rate="100pps"), [run(recover_in_turn(20))]))
    assert "up to 10 ms late" in text and "set failover.stream_rate to 200 pps or more" in text


def test_failed_runs_are_repeated_and_end_the_procedure_after_four_in_a_row(run: Run) -> None:
    failed = run(recover_in_turn(20)).replace(status=Status.FAILED)
    procedure = FailoverProcedure(plan())
    request = procedure.request_run([failed] * 3)
    assert request and request.repeat == 1
    assert procedure.request_run([failed] * 4) is None
    assert build_failover_report(plan(), [failed]).text == "No repeat was measured."


def test_a_round_without_loss_has_no_verdict_and_ends_the_growth(run: Run) -> None:
    procedure = FailoverProcedure(plan(max_streams=30))
    results = [run([0] * 20)] * 2
    report = build_failover_report(procedure.plan, results)
    assert report.text == "20 streams lost no frame in 2 repeats: no failover to measure."
    assert procedure.request_run(results) is None and report.streams_within_sla is None
    shortfall = procedure.find_shortfall(results)
    assert shortfall and shortfall.startswith("20 streams lost no frame: the trigger does not affect them")


def test_a_repeat_without_loss_and_one_that_does_not_converge_are_stated(run: Run) -> None:
    mixed = build_failover_report(plan(sla="1s"), [run([0] * 20), run(recover_in_turn(20))])
    assert mixed.text == (
        "20 streams converge in 145 ms (in 1 of 2 repeats, no loss in the others), within the SLA of 1 s."
    )
    stuck = build_failover_report(plan(sla="1s"), [run([*recover_in_turn(19), None]), run(recover_in_turn(20))])
    assert stuck.text == "20 streams did not converge in 1 of 2 repeats: not within the SLA of 1 s."


def test_an_interrupted_round_states_the_repeats_so_far(run: Run) -> None:
    report = build_failover_report(plan(sla="1s"), [run(recover_in_turn(20))])
    assert report.text == "20 streams converge in 145 ms: 1 repeat missing."


def test_streams_that_the_repair_brings_back_are_measured_on_the_way_back(run: Run) -> None:
    """Both streams stay down until the repair, 3 s after the trigger, and are back 60 ms after it."""
    down = [REVERT_S - TRIGGER_S + 0.06] * 2
    (repeat,) = build_failover_report(plan(), [run(down)]).rounds[0].repeats
    assert repeat.failover.unrecovered_count == 2 and repeat.failover.lost_count == 2 * 3060
    assert repeat.way_back and repeat.way_back.last_s == pytest.approx(0.06)
    assert (repeat.way_back.affected_count, repeat.way_back.lost_count) == (2, 0)


def test_streams_that_the_repair_does_not_bring_back_are_a_caution(run: Run) -> None:
    report = build_failover_report(plan(), [run([0.01, None])])
    assert "2 streams: on the way back, 1 did not converge within 3 s" in list(list_cautions(report))


@pytest.mark.parametrize(
    ("sla", "pause_s", "is_used"),
    [("50ms", 0.04, True), ("50ms", 0.06, False), ("100ms", 0.05, False), ("100ms", 0.04, True)],
)
def test_a_run_counts_unless_a_pause_of_the_tester_may_decide_it(
    run: Run, sla: str, pause_s: float, is_used: bool
) -> None:
    """The streams converge in 10 ms with an SLA of 50 ms, and in 145 ms with one of 100 ms."""
    result = run([0.01] * 20 if sla == "50ms" else recover_in_turn(20))
    report = build_failover_report(plan(sla=sla), [pause_tester(result, pause_s)])
    assert bool(report.rounds) is is_used
    assert len(report.undecided) == (not is_used)


def test_four_undecided_runs_in_a_row_end_the_procedure(run: Run) -> None:
    procedure = FailoverProcedure(plan(sla="100ms", max_streams=30))
    good, undecided = run(recover_in_turn(8)), pause_tester(run(recover_in_turn(20)), 0.2)
    assert procedure.request_run([undecided] * 3) is not None
    assert procedure.request_run([undecided] * 4) is None
    shortfall = procedure.find_shortfall([good, *[undecided] * 4])
    assert shortfall and shortfall.startswith("4 runs in a row are undecided, as the tester paused for up to 200 ms")
    assert "4 runs do not count: a pause of the tester, up to 200 ms, may be" in next(
        list_cautions(build_failover_report(procedure.plan, [good, *[undecided] * 4]))
    )


def test_a_procedure_without_an_answer_says_so(run: Run) -> None:
    procedure = FailoverProcedure(plan())
    assert procedure.find_shortfall([run(recover_in_turn(20)).replace(status=Status.FAILED)]) == (
        "No repeat was measured"
    )
    assert procedure.find_shortfall([run(recover_in_turn(20))]) is None


def test_a_run_has_its_trigger_and_its_way_back() -> None:
    settings = plan(trigger=["0s stop 0", "20ms kill 0"], revert=["0s start 0"], steady="1s", settle="2s")
    keys = make_failover_settings(settings, 30)
    assert keys == {
        "rate": "30kpps",
        "duration": pytest.approx(5.02),
        "traffic.streams": 30,
        "flow_count": 30,
        "trial_events": ["1s stop 0", "1.02s kill 0", "3.02s start 0"],
    }


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"max_streams": 10}, r"failover.max_streams: 10 is below failover.streams \(20\)"),
        ({"trigger": ["0s load 3kpps"]}, "failover.trigger: 'load 3kpps' changes the load"),
        ({"trigger": []}, "failover.trigger: empty, so that nothing happens"),
        (
            {"trigger": ["5s kill 0"]},
            "failover.trigger: the first event is at 5 s, not at 0 s; write '0s kill 0', and set",
        ),
        ({"revert": ["0s start 7"]}, "failover.revert: '0s start 7': the pool has instances 0 to 1"),
        ({"refine": True}, "failover.refine: bisects between two rounds; write failover.max_streams"),
        ({"streams": 1, "frame_sizes": [64, 128]}, "frame_sizes: several sizes where one is possible"),
        ({"growth": "0"}, "failover.growth"),
    ],
)
def test_settings_that_measure_no_failover_are_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(**keys)


def report_on(settings: FailoverPlan, results: Sequence[RunResult]) -> tuple[Suite, Document]:
    suite = procedure_suite(settings, results)
    return suite, build_document(results, suite)


def test_the_report_states_the_answer_its_rounds_and_its_repeats(run: Run) -> None:
    settings = plan(sla="152ms", max_streams=100)
    _, results = carry_out(settings, run)
    suite, document = report_on(settings, results)
    markdown = render_markdown(document)
    assert document.title == "Failover convergence"
    assert [(card.label, card.text) for card in document.cards] == [
        ("Convergence", "145 ms"),
        ("Frames lost", "1,950"),
        ("Way back", "no loss"),
    ]
    assert "| 20 | yes | 50.0 ms | 145 ms | 145 ms | 1,950 | - | 0 |" in markdown
    assert "| 22 | no | 50.0 ms | 155 ms | 155 ms | 2,255 | - | 0 |" in markdown
    assert "| 22 | 1 | 22 of 22 | 50.0 ms | 0 | 155 ms | 105 ms | 2,255 | - | 0 |" in markdown
    assert "V-REP: 2 repeats of each round, fewer than 5" in markdown
    assert document.charts()[0].name == "failover"
    brief = build_document(results, suite, is_brief=True)
    assert [section.name for section in brief.sections] == ["procedure", "repeat"]


def test_the_screen_ends_with_the_answer_below_the_cautions(run: Run) -> None:
    settings = plan(stream_rate="100pps")
    suite, _ = report_on(settings, results := [run(recover_in_turn(20))] * 2)
    headline, cautions, _, answer = build_repeat_screen(suite, results)
    assert "complete, 2 runs of the failover procedure" in render_markdown_sections("", [headline])
    assert "200 pps or more" in render_markdown_sections("", [cautions])
    assert render_markdown_sections("", [answer]).rstrip().endswith("not within the SLA of 50 ms.")
