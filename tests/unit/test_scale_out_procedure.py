"""The scale-out procedure: the runs that it requests, and what it reports of scripted growths."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from tests.factories import procedure_suite, stream_counts, trial_result
from tests.recorded import record_run
from tests.suts import Step

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.procedure import ScaleOutPlan
from nodrop.model.result import FIXED, RunResult, Status
from nodrop.model.trial import (
    FrameTimes,
    LoadPhase,
    LossRun,
    Series,
    Trial,
    Validity,
    ValidityStatus,
    WindowLatency,
    Windows,
)
from nodrop.model.trial_event import TrialEvent
from nodrop.plan.procedures import plan_scale_out
from nodrop.procedure.scale_out import (
    BASELINE,
    ScaleOutProcedure,
    build_scale_out_report,
    list_cautions,
    make_growth_settings,
    name_step,
)
from nodrop.report.document import build_document
from nodrop.report.document.repeat_screen import build_repeat_screen
from nodrop.report.markdown import render_markdown, render_markdown_sections

SETTLE_S, HOLD_S, RETURN_S = 2, 6, 2
USER_PPS = 100
POOL = {"sut": "pool", "pool.scale_out_loss": 0.01}
Run = Callable[..., RunResult]


def plan(**keys: object) -> ScaleOutPlan:
    times = {
        "settle": SETTLE_S,
        "hold": HOLD_S,
        "return_time": RETURN_S,
        "user_rate": USER_PPS,
        "growth": ["5%", "10%"],
    }
    settings = {f"scale_out.{key}": value for key, value in (times | keys).items()}
    return plan_scale_out(build_config((), {**POOL, "bidirectional": False, **settings}))


def lose(first_sequence: int, count: int) -> LossRun:
    """Return a run of lost frames of a user."""
    before_ns, after_ns = (round(number * 1e9 / USER_PPS) for number in (first_sequence - 1, first_sequence + count))
    return LossRun(
        first_sequence=first_sequence,
        count=count,
        before=FrameTimes(sent_ns=before_ns, received_ns=before_ns),
        after=FrameTimes(sent_ns=after_ns, received_ns=after_ns),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that makes the run of a growth, whose users lose frames in some seconds after it."""
    recorded = record_run(tmp_path_factory.mktemp("results"), Step(1e6), rate="1kpps", duration="1s")

    def make(
        settings: ScaleOutPlan,
        growth: float,
        lost: Mapping[int, int],
        *,
        events: Sequence[tuple[str, float, float]] = (),
        latencies_ns: tuple[int, int, int] = (100, 100, 100),
        lost_before: int = 0,
    ) -> RunResult:
        new = settings.count_new_users(growth)
        users = settings.user_count + new
        end_s = SETTLE_S + HOLD_S + RETURN_S
        phases = (
            LoadPhase(begin_s=0.0, loads_pps=(USER_PPS,) * settings.user_count + (0.0,) * new),
            LoadPhase(begin_s=SETTLE_S, loads_pps=(USER_PPS,) * users),
            LoadPhase(begin_s=SETTLE_S + HOLD_S, loads_pps=(USER_PPS,) * settings.user_count + (0.0,) * new),
        )
        runs = [lose((SETTLE_S + second) * USER_PPS, count) for second, count in lost.items()]
        if lost_before:
            runs.insert(0, lose(1, lost_before))
        streams = []
        for number in range(users):
            is_new = number >= settings.user_count
            edges = (0, HOLD_S * USER_PPS) if is_new else (SETTLE_S * USER_PPS, (SETTLE_S + HOLD_S) * USER_PPS)
            counts = stream_counts((HOLD_S if is_new else end_s) * USER_PPS, stream_id=2 * number)
            timeline = tuple(runs) if number == 0 else ()
            lost_count = sum(each.count for each in timeline)
            streams.append(
                counts.replace(
                    change_sequences=edges,
                    loss_timeline=timeline,
                    lost_count=lost_count,
                    received_count=counts.offered_count - lost_count,
                )
            )
        windows = Windows(
            series=(Series(tx_port=0, rx_port=1, first_phase=0), Series(tx_port=0, rx_port=1, first_phase=1)),
            end_s=tuple(float(second + 1) for second in range(end_s)),
            offered_count=((settings.user_count * USER_PPS,) * end_s, (new * USER_PPS,) * end_s),
            received_count=((0,) * end_s,) * 2,
            lost_count=(tuple(lost.get(second - SETTLE_S, 0) for second in range(end_s)), (0,) * end_s),
            latency=tuple(
                WindowLatency(count=(1,) * end_s, sum_ns=values, min_ns=values, max_ns=values)
                for values in (
                    tuple(latencies_ns[0] if second < SETTLE_S else latencies_ns[1] for second in range(end_s)),
                    (latencies_ns[2],) * end_s,
                )
            ),
        )
        request = Trial(intended_load_pps=users * USER_PPS, duration_s=end_s, load_phases=phases)
        trial = trial_result(
            users * USER_PPS, float(end_s), trial=request, phase=FIXED, streams=tuple(streams), windows=windows
        ).replace(
            events=tuple(TrialEvent(name=name, begin_s=begin_s, end_s=done_s) for name, begin_s, done_s in events)
        )
        return recorded.replace(plan=recorded.plan.replace(variant=name_step(growth)), trials=(trial,))

    return make


def test_each_growth_has_a_run_after_the_baseline() -> None:
    searched = plan(user_rate=None)
    request = ScaleOutProcedure(searched).request_run([])
    assert request and request.variant == BASELINE
    assert request.settings["goals"] == {"SLA": 0.001} and request.settings["pool.scale_out_loss"] is None
    first = ScaleOutProcedure(plan()).request_run([])
    assert first and first.variant == "+5 % users"
    assert first.settings["trial_events"] == ["0s streams 20", "2s streams 21", "8s streams 20"]
    assert first.settings["rate"] == "2.1kpps" and first.settings["duration"] == 10
    assert first.settings["pool.scale_in_rate"] == 2050


@pytest.mark.parametrize("keys", [{**POOL, "pool.scale_in_rate": 5}, {"sut": "pool"}, {"sut": "wire"}])
def test_the_rule_to_scale_in_is_set_for_a_pool_that_has_none(keys: dict[str, object]) -> None:
    settings = make_growth_settings(plan_scale_out(build_config((), keys)), 100, 0.05)
    assert "pool.scale_in_rate" not in settings


def test_new_users_are_rounded_up_in_integers() -> None:
    assert [plan(users=20).count_new_users(ratio) for ratio in (0.05, 0.1, 0.15, 0.2)] == [1, 2, 3, 4]
    assert [plan(users=17).count_new_users(ratio) for ratio in (0.05, 0.1, 0.15, 0.2)] == [1, 2, 3, 4]
    assert plan(users=2000, growth=["0.15%"]).count_new_users(0.0015) == 3


def test_a_growth_that_scales_out_and_in(run: Run) -> None:
    events = (("scale-out 1", 5.0, 6.0), ("scale-in 1", 9.5, 9.5))
    done = run(plan(), 0.05, {0: 10, 1: 50, 2: 50, 3: 1}, events=events, latencies_ns=(100, 120, 110))
    report = build_scale_out_report(plan(), [done])
    (step,) = report.steps
    assert (step.before.user_count, step.existing.user_count, step.new.user_count) == (20, 20, 1)
    assert step.lost_count == 111 and step.return_lost_count == 0
    assert (step.detected_s, step.restored_s, step.scale_in_s) == (3.0, 3.0, 1.5)
    assert step.added_count == 1 and step.efficacy == pytest.approx(0.05)
    assert step.degradation_ratio == pytest.approx(0.2)
    assert report.text == "With 5 % more than 20 users, the SLA was restored after at most 3 s."


def test_a_growth_that_is_never_served_is_stated(run: Run) -> None:
    report = build_scale_out_report(plan(), [run(plan(), 0.05, dict.fromkeys(range(HOLD_S), 20))])
    assert report.steps[0].restored_s is None and report.steps[0].scale_in_s is None
    assert report.text == "With 5 % more than 20 users, the SLA was not restored within 6 s."


def test_a_growth_without_loss_misses_nothing(run: Run) -> None:
    report = build_scale_out_report(plan(), [run(plan(), 0.05, {}), run(plan(), 0.1, {})])
    assert report.text == "With 5 % and 10 % more than 20 users, the SLA was met in every second."
    assert ScaleOutProcedure(plan()).request_run([run(plan(), 0.05, {}), run(plan(), 0.1, {})]) is None


def test_users_that_miss_the_sla_before_the_growth_are_measured_again(run: Run) -> None:
    overloaded = run(plan(), 0.05, {}, lost_before=100)
    procedure = ScaleOutProcedure(plan())
    request = procedure.request_run([overloaded])
    assert request and request.variant == "+5 % users"
    assert procedure.request_run([overloaded] * 4) is None
    shortfall = procedure.find_shortfall([overloaded] * 4)
    assert shortfall and "the existing users alone lose too much at 100 pps each" in shortfall


def test_an_instance_that_stays_is_a_caution(run: Run) -> None:
    done = run(plan(), 0.05, {0: 10}, events=(("scale-out 1", 5.0, 6.0),))
    assert "+5 %: the added instances stayed in service after the users had left" in list(
        list_cautions(build_scale_out_report(plan(), [done]))
    )


def test_failed_runs_do_not_count(run: Run) -> None:
    failed = run(plan(), 0.05, {}).replace(status=Status.FAILED)
    assert build_scale_out_report(plan(), [failed]).text == "No growth was measured."


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"growth": []}, "scale_out.growth: empty, so that no users join"),
        ({"users": 0}, "scale_out.users"),
        ({"growth": ["3%", "5%"]}, "scale_out.growth: 3 % and 5 % add 1 user each; write values that differ"),
        ({"loss": "0"}, "scale_out.loss"),
    ],
)
def test_settings_that_measure_no_growth_are_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(**keys)


def test_the_report_has_a_row_for_each_growth_and_a_chart(run: Run) -> None:
    events = (("scale-out 1", 5.0, 6.0), ("scale-in 1", 9.5, 9.5))
    restored = run(plan(), 0.05, {0: 10, 1: 50, 2: 50}, events=events, latencies_ns=(100, 120, 110))
    results = [restored, run(plan(), 0.1, dict.fromkeys(range(HOLD_S), 20))]
    document = build_document(results, procedure_suite(plan(), results))
    markdown = render_markdown(document)
    assert (
        "With 5 % more than 20 users, the SLA was restored after at most 3 s; with 10 %, it was not restored"
        in markdown
    )
    assert document.title == "Scale-out"
    assert [(card.label, card.text) for card in document.cards] == [
        ("SLA restored", "not restored"),
        ("Frames lost", "120"),
    ]
    assert "| +5 % | yes | 3 s | 110 | 99.08 % | 100 % | +20 % | - |" in markdown
    assert "| +10 % | no | - | 120 | 99.00 % | 100 % | 0 % | - |" in markdown
    assert "| +5 % | 21 | 3 s | 100 ns | 120 ns | 110 ns | 0.05 | 1.5 s | 0 |" in markdown
    assert "V-WAIT: 2 s before a growth and 6 s after it" in markdown
    assert document.charts()[0].name == "scale-out"


def test_the_screen_ends_with_the_answer(run: Run) -> None:
    results = [run(plan(), 0.05, {}), run(plan(), 0.1, {})]
    *_, answer = build_repeat_screen(procedure_suite(plan(), results), results)
    assert render_markdown_sections("", [answer]).rstrip().endswith("the SLA was met in every second.")


@pytest.mark.parametrize(
    ("lost", "is_relapse"),
    [({}, False), ({0: 50, 1: 50}, False), ({1: 50, 3: 50}, True), (dict.fromkeys(range(HOLD_S), 50), False)],
)
def test_a_suspect_run_that_misses_a_restored_sla_again_does_not_count(
    run: Run, lost: Mapping[int, int], is_relapse: bool
) -> None:
    quiet = run(plan(), 0.05, lost)
    trial = quiet.trials[0]
    assert trial.validity.verdict is ValidityStatus.VALID
    disturbed = quiet.replace(trials=(trial.replace(validity=Validity(verdict=ValidityStatus.SUSPECT)),))
    assert [step.is_relapse for step in build_scale_out_report(plan(), [quiet]).steps] == [is_relapse]
    report = build_scale_out_report(plan(), [disturbed])
    assert (len(report.undecided), len(report.steps)) == ((1, 0) if is_relapse else (0, 1))
    procedure = ScaleOutProcedure(plan())
    assert (procedure.request_run([disturbed] * 4) is None) == is_relapse
    if is_relapse:
        assert "4 runs in a row do not count, as the tester" in str(procedure.find_shortfall([disturbed] * 4))
        assert "1 run does not count: the tester or other work may be why" in next(list_cautions(report))


def test_a_second_without_a_frame_at_the_end_misses_the_sla(run: Run) -> None:
    """No later frame overtakes those of an outage that goes on after the departure of the new users."""
    outage = lose((SETTLE_S + HOLD_S - 1) * USER_PPS, 2 * USER_PPS).replace(after=None)
    result = run(plan(), 0.05, {})
    trial = result.trials[0]
    first, *others = trial.streams
    streams = (first.replace(loss_timeline=(outage,), lost_count=outage.count), *others)
    (step,) = build_scale_out_report(plan(), [result.replace(trials=(trial.replace(streams=streams),))]).steps
    assert step.restored_s is None


def test_an_instance_started_before_the_growth_is_an_overload(run: Run) -> None:
    early = run(plan(), 0.05, {}, events=(("scale-out 1", 1.0, 3.0),))
    report = build_scale_out_report(plan(), [early])
    assert not report.steps and len(report.overloads) == 1
    assert "1 run does not count: the existing users alone lost too much before the growth" in next(
        list_cautions(report)
    )


def test_counts_of_a_timeline_that_ends_early_are_lower_limits(run: Run) -> None:
    result = run(plan(), 0.05, {0: 10})
    trial = result.trials[0]
    first, *others = trial.streams
    streams = (first.replace(lost_count=50), *others)
    report = build_scale_out_report(plan(), [result.replace(trials=(trial.replace(streams=streams),))])
    assert "+5 %: more gaps than the tester records; counts of lost frames are lower limits" in list(
        list_cautions(report)
    )


def test_a_baseline_that_the_search_did_not_resolve_does_not_count(tmp_path_factory: pytest.TempPathFactory) -> None:
    searched = plan(user_rate=None)
    settings = {"goals": {"SLA": 0.001}, "flow_count": 20}
    result = record_run(tmp_path_factory.mktemp("search"), Step(2000.0), **settings)
    baseline = result.replace(plan=result.plan.replace(variant=BASELINE))
    rate_pps = build_scale_out_report(searched, [baseline]).user_rate_pps
    assert rate_pps == pytest.approx(100, rel=0.05)
    late = baseline.replace(goals=tuple(goal.replace(regular=False) for goal in baseline.goals))
    assert build_scale_out_report(searched, [late]).user_rate_pps is None
    request = ScaleOutProcedure(searched).request_run([late])
    assert request and request.variant == BASELINE
