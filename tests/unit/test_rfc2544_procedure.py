"""The tests of RFC 2544: their runs in order, figures against an ideal queue, and the report."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.factories import procedure_suite
from tests.running import NullStage

from nodrop.cli import nodrop
from nodrop.config.load import build_config
from nodrop.errors import ConfigError, SearchError
from nodrop.model.plan import Plan
from nodrop.model.procedure import Rfc2544Plan
from nodrop.model.result import RunResult, Status
from nodrop.plan import build_plan
from nodrop.plan.procedures import plan_rfc2544
from nodrop.procedure.base import RunRequest
from nodrop.procedure.rfc2544 import Rfc2544Procedure, build_rfc2544_report, describe_compliance, list_cautions
from nodrop.procedure.rfc2544_figures import BackToBack, Latency, LatencyTrial, Rfc2544Report
from nodrop.report.document import build_document
from nodrop.report.markdown import render_markdown
from nodrop.run.execute import RunEnvironment
from nodrop.run.suite import execute_procedure
from nodrop.simulation import SimulatedMeasurer
from nodrop.simulation.stationary import DeepBuffer, HardLimit, PerfectLink
from nodrop.simulation.sut import Sut

CAPACITY_PPS, BUFFER_COUNT = 2000.0, 256.0
LINK_SPEED = "13.44Mbps"
"""20 kfps of 64 bytes, 11.351 of 128, 6.087 of 256, 3.158 of 512, 1.609 of 1024."""


def make_settings(sizes: Sequence[int] = (64, 1024), **keys: object) -> Rfc2544Plan:
    quick = {"rfc2544.quick": True, "bidirectional": False, "frame_sizes": list(sizes), **keys}
    return plan_rfc2544(build_config((), quick))


def make_queue() -> Sut:
    return DeepBuffer(capacity_pps=CAPACITY_PPS, buffer_count=BUFFER_COUNT)


def carry_out(tmp_path: Path, settings: Rfc2544Plan, sut: Sut | None = None) -> list[RunResult]:
    """Carry out the tests against a simulated queue."""

    def make_run(run: RunRequest) -> Plan:
        keys = {"bidirectional": False, "link_speed": LINK_SPEED, "results_dir": str(tmp_path), **run.settings}
        plan = build_plan(build_config((), keys))
        return plan.replace(variant=run.variant, repeat=run.repeat, repeat_count=run.repeat_count)

    def open_generator(plan: Plan, _stage: object) -> SimulatedMeasurer:
        return SimulatedMeasurer(plan.traffic, sut or make_queue())

    environment = RunEnvironment(lambda *_: NullStage(), open_generator, rest=lambda _: None)
    outcome = execute_procedure(Rfc2544Procedure(settings), make_run, lambda _: None, environment)
    return list(outcome.results)


def test_throughput_of_all_sizes_comes_first_then_the_sizes_one_by_one(tmp_path: Path) -> None:
    results = carry_out(tmp_path, make_settings())
    assert [(each.plan.variant, each.plan.frame_size) for each in results] == [
        ("throughput", "64"),
        ("throughput", "1024"),
        ("frame-loss-rate", "64"),
        ("back-to-back", "64"),
        ("frame-loss-rate", "1024"),
    ]
    report = build_rfc2544_report(make_settings(), results)
    omission = report.find_omission(1024, "back-to-back")
    assert omission and not omission.is_failure and omission.reason == "throughput equals the line rate"


def test_figures_are_those_of_an_ideal_queue(tmp_path: Path) -> None:
    settings = make_settings()
    report = build_rfc2544_report(settings, carry_out(tmp_path, settings))
    first, second = report.throughputs
    truth_pps = CAPACITY_PPS + BUFFER_COUNT / settings.trial_s
    assert first.load_pps == pytest.approx(truth_pps, rel=0.011)
    assert first.line_rate_pps == pytest.approx(20_000)
    assert second.is_line_rate and second.line_ratio == pytest.approx(1.0)
    loss = report.find_loss(64)
    assert loss
    shares = [point.share_ratio for point in loss.points]
    assert shares == pytest.approx([each / 10 for each in range(10, 0, -1)])
    forwarded = [min(1.0, (CAPACITY_PPS * 2 + BUFFER_COUNT) / (share * 20_000 * 2)) for share in shares]
    assert [1 - point.loss_ratio for point in loss.points] == pytest.approx(forwarded, abs=0.002)
    burst = report.find_burst(64)
    assert burst and burst.frame_counts == pytest.approx((284,) * 5, abs=1)
    assert burst.implied_buffer_s == pytest.approx(14.2e-3, rel=0.01)
    buffered = burst.mean_count * (1 - first.load_pps / 20_000)
    assert burst.buffered_count == pytest.approx(buffered) and burst.deviation_count == 0


@pytest.mark.parametrize(
    ("line_pps", "throughput_pps", "mean_count", "implied_s", "corrected_s"),
    [
        (14_880_952.38, 12_000_000, 26_000, 1.7472e-3, 338.26e-6),
        (14_880_952.38, 14_500_000, 26_000, 1.7472e-3, 44.73e-6),
        (14_880_952.38, 12_000_000, 21_157, 1.4218e-3, 275.25e-6),
        (20_000, 2_000, 285, 14.25e-3, 12.825e-3),
    ],
)
def test_buffer_times_are_those_of_rfc_9004(
    line_pps: float, throughput_pps: float, mean_count: int, implied_s: float, corrected_s: float
) -> None:
    burst = BackToBack(
        frame_bytes=64,
        run_id="run",
        frame_counts=(mean_count,),
        is_limit=False,
        line_rate_pps=line_pps,
        throughput_pps=throughput_pps,
        throughput_upper_pps=None,
    )
    assert burst.implied_buffer_s == pytest.approx(implied_s, rel=1e-4)
    assert burst.corrected_buffer_s == pytest.approx(corrected_s, rel=1e-4)
    assert burst.buffered_count == pytest.approx(corrected_s * line_pps, rel=1e-3)


def test_the_deviation_is_that_of_a_sample() -> None:
    burst = BackToBack(
        frame_bytes=64,
        run_id="run",
        frame_counts=(8190, 8193, 8193, 8194, 8195),
        is_limit=False,
        line_rate_pps=2.0,
        throughput_pps=1.0,
        throughput_upper_pps=None,
    )
    assert (burst.mean_count, burst.deviation_count) == (8193, pytest.approx(1.871, abs=1e-3))


def test_a_path_that_forwards_the_line_rate_has_no_buffer_to_measure(tmp_path: Path) -> None:
    settings = make_settings((64,))
    results = carry_out(tmp_path, settings, PerfectLink())
    report = build_rfc2544_report(settings, results)
    assert [point.share_ratio for point in report.losses[0].points] == pytest.approx([1.0, 0.9])
    assert not report.bursts and not list(list_cautions(report))
    assert "of line rate" in render_markdown(build_document(results, procedure_suite(settings, results)))


def test_a_test_that_fails_has_its_reason_and_the_others_go_on(tmp_path: Path) -> None:
    class Failing(SimulatedMeasurer):
        def measure(self, trial, *args):  # type: ignore[no-untyped-def]
            if trial.burst:
                raise SearchError("the tester is too slow")
            return super().measure(trial, *args)

    settings = make_settings((64, 128))

    def make_run(run: RunRequest) -> Plan:
        keys = {"bidirectional": False, "link_speed": LINK_SPEED, "results_dir": str(tmp_path), **run.settings}
        return build_plan(build_config((), keys)).replace(variant=run.variant, repeat=run.repeat)

    environment = RunEnvironment(
        lambda *_: NullStage(), lambda plan, _: Failing(plan.traffic, make_queue()), rest=lambda _: None
    )
    outcome = execute_procedure(Rfc2544Procedure(settings), make_run, lambda _: None, environment)
    report = build_rfc2544_report(settings, outcome.results)
    assert outcome.suite.status is Status.COMPLETE and len(report.losses) == 2
    assert list(list_cautions(report)) == ["back-to-back at 64, 128 bytes: not measured: the tester is too slow"]


def test_deviations_lead_to_one_line_on_compliance() -> None:
    def describe(**keys: object) -> str:
        report = Rfc2544Report(
            plan=make_settings(**keys), throughputs=(), latencies=(), losses=(), bursts=(), omissions=()
        )
        return describe_compliance(build_rfc2544_report(report.plan, ()))

    assert describe() == "Not compliant with RFC 2544 in: V-WAIT, V-DUR, V-SIZES, V-TAG, V-REP, V-MOD."
    strict = {"rfc2544.quick": False, "sizes": (64, 128, 256, 512, 1024)}
    assert describe(**strict) == "Not compliant with RFC 2544 in: V-WAIT, V-TAG, V-MOD."


def test_latency_has_the_repeats_of_the_rfc_at_throughput() -> None:
    settings = make_settings((64,), **{"rfc2544.quick": False, "rfc2544.tests": ["throughput", "latency"]})
    assert (settings.latency_trial_s, settings.latency_repeat_count, settings.trial_s) == (120.0, 20, 60.0)
    samples = Rfc2544Procedure(settings).list_samples()
    assert [sample.variant for sample in samples] == ["throughput", "latency"]
    assert samples[1].settings["duration"] == 120.0 and samples[1].repeat_count == 20


def test_latency_over_the_trials_is_the_median_of_their_medians() -> None:
    trials = [
        LatencyTrial(run_id=str(at), min_ns=1, mean_ns=at, typical_ns=at, worst_ns=10 * at, max_ns=99, lost_count=0)
        for at in (10, 20, 60)
    ]
    latency = Latency(frame_bytes=64, load_pps=1.0, trials=tuple(trials))
    assert (latency.mean_ns, latency.typical_ns, latency.worst_ns) == (30, 20, 200)


def test_the_report_has_a_table_and_a_chart_for_each_test(tmp_path: Path) -> None:
    settings = make_settings((64, 128, 1024))
    results = carry_out(tmp_path, settings)
    document = build_document(results, procedure_suite(settings, results))
    markdown = render_markdown(document)
    assert document.title == "RFC 2544"
    assert [chart.name for chart in document.charts()[:3]] == ["throughput", "frame-loss-rate", "back-to-back"]
    for text in ("Throughput (section 26.1)", "Frame loss rate (section 26.3)", "Not compliant with RFC 2544 in:"):
        assert text in markdown
    assert "| 1024 | 1.609 kpps | 100 % |" in markdown and "n/a" in markdown


def test_a_tester_that_sends_less_than_the_load_is_marked(tmp_path: Path) -> None:
    settings = make_settings((64,), **{"rfc2544.tests": ["frame-loss-rate"]})
    results = carry_out(tmp_path, settings, HardLimit(capacity_pps=1e6, tester_pps=15_000.0))
    report = build_rfc2544_report(settings, results)
    points = report.losses[0].points
    assert points[0].unsent_count and points[0].loss_ratio == 0
    assert "the tester sent less than the load" in next(iter(list_cautions(report)))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("frame_bytes=128", "frame_bytes: 'nodrop test rfc2544' sets it; remove it and use frame_sizes"),
        ("search.max_load=1Mpps", "search.max_load: 'nodrop test rfc2544' sets it; remove it and use link_speed"),
        ("frame_sizes=[IMIX]", "frame_sizes: RFC 2544 tests frames of one size at a time (IMIX)"),
        ("rfc2544.tests=[]", "rfc2544.tests: empty, so that nothing is tested"),
        ("rate=1kpps", "rate: throughput is found by a search, not given (1kpps); write rate: ndr_pdr"),
        ("pattern.kind=burst", "pattern.kind: burst does not fit search.algorithm back-to-back"),
        ("engine.backend=xdp_live", "engine.backend: xdp_live does not fit search.algorithm back-to-back"),
    ],
)
def test_settings_that_contradict_the_rfc_are_refused(setting: str, message: str) -> None:
    done = CliRunner().invoke(nodrop, ["test", "rfc2544", "--dry-run", "--set", setting])
    assert isinstance(done.exception, ConfigError) and message in str(done.exception)


def test_a_dry_run_prints_tests_sizes_and_durations() -> None:
    done = CliRunner().invoke(nodrop, ["test", "rfc2544", "--dry-run", "--quick", "--sizes", "64,512"])
    extent, _, forecast = done.output.rpartition("; ")
    assert (
        extent == "RFC 2544, throughput, latency, frame-loss-rate, back-to-back; frames of 64, 512 bytes; trials of 2 s"
    )
    assert forecast.startswith("about ")
