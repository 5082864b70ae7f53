"""Service activation after ITU-T Y.1564: rates, order of the runs, verdicts against exact policers, availability."""

from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.factories import latency_summary, procedure_suite, with_latency, with_trial
from tests.policers import Policer
from tests.service_activation import (
    COMMITTED_ONLY,
    FRAME_BYTES,
    POLICER,
    carry_out,
    forward_all,
    list_rates,
    list_verdicts,
    make_settings,
    police,
)

from nodrop.charts.y1564 import build_chart
from nodrop.cli import nodrop
from nodrop.errors import ConfigError
from nodrop.model.plan import Plan
from nodrop.model.trial import Doubt
from nodrop.procedure.y1564 import Y1564Procedure, build_y1564_report, describe_compliance, list_cautions
from nodrop.procedure.y1564_figures import Verdict
from nodrop.procedure.y1564_seconds import find_unavailable_seconds
from nodrop.procedure.y1564_subtests import compute_policing_rate_bps, convert_to_line_bps, list_subtests
from nodrop.report.document import build_document
from nodrop.report.markdown import render_markdown
from nodrop.simulation import SimulatedMeasurer
from nodrop.simulation.function_sut import FunctionSut, SutCounts
from nodrop.simulation.sut import LossTimeline, Sut


def test_the_policer_has_the_colors_of_mef_10() -> None:
    first, later = [Fraction(0)] * 5, [Fraction(1)] * 3
    assert Policer(8000, 2000, 8000, 2000).color(first + later, 1000) == "GGYYRGYR"
    latest = [Fraction(3)] * 4
    assert Policer(8000, 2000, 0, 2000).color(first + latest, 1000) == "GGYYRGGRR"
    assert Policer(8000, 2000, 0, 2000, is_coupled=True).color(first + latest, 1000) == "GGYYRGGYR"


@pytest.mark.parametrize(
    ("cir", "eir", "rate"), [(10e6, 5e6, 16.25e6), (10e6, 1e6, 13.5e6), (10e6, 0, 12.5e6), (0, 5e6, 6.25e6)]
)
def test_a_policing_step_sends_more_than_both_rates(cir: float, eir: float, rate: float) -> None:
    assert compute_policing_rate_bps(cir, eir) == rate


def test_the_line_rate_counts_preamble_and_gap() -> None:
    assert convert_to_line_bps(1e6, 64) == pytest.approx(1.3125e6)
    settings = make_settings(**{"y1564.rate_layer": "l1", "frame_bytes": 64, "y1564.cir": 1.3125e6})
    assert settings.cir_bps == pytest.approx(1e6)


def test_the_margin_is_that_of_the_bursts() -> None:
    assert make_settings().margin_bps == 20_000
    assert make_settings(**{"y1564.cbs": 0, "y1564.ebs": 0}).margin_bps == 15_000
    assert make_settings(**{"y1564.margin": 0}).margin_bps == 0


def test_steps_of_cir_come_first_then_eir_policing_and_the_performance_test(tmp_path: Path) -> None:
    report, results = carry_out(tmp_path, make_settings(), police(POLICER))
    assert list_rates(results) == [62.5, 125, 187.5, 250, 375, 406.25, 250]
    assert [each.plan.fixed.duration_s for each in results if each.plan.fixed] == [10] * 6 + [20]
    assert report.verdict is Verdict.PASS and set(list_verdicts(report).values()) == {"pass"}


def test_a_service_without_excess_rate_has_no_eir_step(tmp_path: Path) -> None:
    settings = make_settings(**COMMITTED_ONLY)
    report, results = carry_out(tmp_path, settings, police(Policer(1_000_000, 12_500, 0, 0)))
    assert list_rates(results) == [62.5, 125, 187.5, 250, 312.5, 250]
    assert report.verdict is Verdict.PASS


def test_a_service_without_committed_rate_has_eir_and_policing_only() -> None:
    settings = make_settings(**{"y1564.cir": 0, "y1564.cbs": 0})
    assert [(each.name, each.rate_bps, each.lower_bps) for each in list_subtests(settings)] == [
        ("B2 EIR", 500e3, 0),
        ("C2 policing", 625e3, 0),
    ]


def test_one_step_is_the_simple_cir_test() -> None:
    names = [each.name for each in list_subtests(make_settings(**{"y1564.steps": ["100%"]}))]
    assert names == ["A1 CIR 100 %", "B2 CIR + EIR", "C2 policing", "performance"]


def test_the_correct_policer_passes_with_the_counts_of_its_buckets(tmp_path: Path) -> None:
    report, results = carry_out(tmp_path, make_settings(), police(POLICER))
    received = [each.fixed_trial.received_count for each in results if each.fixed_trial]
    assert received == [625, 1250, 1875, 2500, 3750, pytest.approx(3778, abs=2), 5000]
    (policing,) = (step for step in report.steps if step.kind == "policing")
    assert policing.directions[0].ir_bps == pytest.approx(1.5112e6, abs=0.8e3)
    assert policing.upper_bps == 1.52e6
    short, _ = carry_out(tmp_path, make_settings(**{"y1564.step": "5s"}), police(POLICER))
    assert [step.directions[0].offered_count for step in short.steps[:4]] == [312, 625, 938, 1250]


def test_in_a_minute_a_policer_lets_pass_little_more_than_both_rates() -> None:
    counts = POLICER.count(406.25, 60, FRAME_BYTES)
    assert counts.received_count == pytest.approx(22_529, abs=2) and counts.offered_count == 24_375


def test_a_path_without_policer_fails_policing(tmp_path: Path) -> None:
    report, results = carry_out(tmp_path, make_settings(), FunctionSut(forward_all))
    assert list_verdicts(report) == {
        **dict.fromkeys(["A2 CIR 25 %", "A2 CIR 50 %", "A2 CIR 75 %", "A2 CIR 100 %", "B2 CIR + EIR"], "pass"),
        "C2 policing": "fail",
        "performance": "skipped",
    }
    assert report.text == (
        "The service with CIR 1.000 Mb/s, EIR 500.0 kb/s fails: C2 policing, IR 1.625 Mb/s > 1.520 Mb/s."
    )
    procedure = Y1564Procedure(make_settings())
    assert procedure.find_failure(results) == report.text.rstrip(".") and procedure.find_shortfall(results) is None


@pytest.mark.parametrize(
    ("policer", "frame_bytes", "lost_count"),
    [
        (Policer(900_000, 12_500, 0, 0), 500, 226),
        (Policer(1_000_000, 12_500, 0, 0, extra_bytes=20), 500, 73),
    ],
)
def test_a_policer_with_a_lower_rate_fails_at_cir(
    policer: Policer, frame_bytes: int, lost_count: int, tmp_path: Path
) -> None:
    settings = make_settings(**COMMITTED_ONLY)
    report, _ = carry_out(tmp_path, settings, police(policer, frame_bytes))
    (missed,) = (step for step in report.steps if step.verdict is Verdict.FAIL)
    assert missed.name == "A2 CIR 100 %" and missed.reason.startswith("FLR ")
    assert missed.directions[0].lost_count == pytest.approx(lost_count, abs=2)


@pytest.mark.parametrize(("frame_bytes", "deficit"), [(64, 0.238), (1518, 0.013)])
def test_a_policer_that_counts_preamble_and_gap_loses_most_of_short_frames(frame_bytes: int, deficit: float) -> None:
    load_pps = 1e6 / 8 / frame_bytes
    counts = Policer(1_000_000, 12_500, 0, 0, extra_bytes=20).count(load_pps, 60, frame_bytes)
    assert 1 - counts.received_count / counts.offered_count == pytest.approx(deficit, abs=0.004)


def test_a_step_that_fails_skips_the_rest_unless_the_tests_continue(tmp_path: Path) -> None:
    low = Policer(700_000, 12_500, 500_000, 12_500)
    strict = {"y1564.flr": 0, **COMMITTED_ONLY}
    report, results = carry_out(tmp_path, make_settings(**strict), police(Policer(700_000, 12_500, 0, 0)))
    assert list_rates(results) == [62.5, 125, 187.5]
    assert [step.verdict for step in report.steps] == ["pass", "pass", "fail", "skipped", "skipped", "skipped"]
    settings = make_settings(**{"y1564.continue_on_fail": True, **COMMITTED_ONLY})
    report, results = carry_out(tmp_path, settings, police(low))
    assert report.steps[-1].directions
    assert len(results) == 6 and report.verdict is Verdict.FAIL
    assert any(each.startswith("performance test although") for each in list_cautions(report))


@pytest.mark.parametrize(
    ("bad", "unavailable"),
    [
        (range(20, 35), set(range(20, 35))),
        (range(20, 29), set()),
        ([*range(20, 30), *range(35, 40)], set(range(20, 40))),
        (range(95, 100), set()),
        (range(80, 100), set(range(80, 100))),
        ([*range(80, 90), 95], set(range(80, 100))),
    ],
)
def test_ten_bad_seconds_begin_unavailable_time_and_ten_good_ones_end_it(
    bad: range | list[int], unavailable: set[int]
) -> None:
    assert find_unavailable_seconds([second in bad for second in range(100)]) == unavailable


class Outage(Sut):
    """Forwards all frames but those of an outage of 12 s in trials of 60 s."""

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:  # noqa: ARG002
        lost = 12 * load_pps if duration_s == 60 else 0.0
        return LossTimeline(load_pps, (0.0, 20.0, 32.0, 60.0), (0.0, 0.0, lost, lost))

    def truth_pps(self, *_: float) -> float:
        return float("nan")


def test_an_outage_is_unavailable_time_and_not_loss(tmp_path: Path) -> None:
    keys = {"y1564.duration": "60s", "y1564.avail": "99.9%", "y1564.continue_on_fail": True}
    report, results = carry_out(tmp_path, make_settings(**keys), Outage())
    performance = report.performance
    assert performance and performance.verdict is Verdict.FAIL
    (figures,) = performance.directions
    assert figures.availability and figures.availability.ratio == pytest.approx(0.8)
    assert (figures.availability.errored_s, figures.availability.unavailable_s) == (12, 12)
    assert (figures.flr, figures.total_flr) == (0, pytest.approx(0.2))
    assert performance.reason == "IR 800.0 kb/s < 999.0 kb/s; availability 80 % < 99.9 %"
    (minute,) = figures.minutes
    assert (minute.lost_count, minute.errored_s, minute.unavailable_s) == (3000, 12, 12)
    markdown = render_markdown(build_document(results, procedure_suite(report.plan, results)))
    assert "By minute" in markdown and "80 %" in markdown


def test_both_directions_are_judged_each_by_the_profile(tmp_path: Path) -> None:
    settings = make_settings(bidirectional=True)
    report, results = carry_out(tmp_path, settings, FunctionSut(forward_all))
    assert list_rates(results)[0] == 125
    assert {step.load_pps for step in report.steps[:1]} == {62.5}
    names = [each.name for each in report.steps[3].directions]
    assert names == ["0→1", "1→0"] and report.steps[3].directions[0].ir_bps == pytest.approx(1e6)


def test_a_direction_that_fails_alone_is_named(tmp_path: Path) -> None:
    settings = make_settings(bidirectional=True)
    _, results = carry_out(tmp_path, settings, FunctionSut(forward_all))
    trial = results[0].trials[0]
    back = trial.streams[1]
    lossy = trial.replace(streams=(trial.streams[0], back.replace(received_count=back.offered_count - 10)))
    changed = [with_trial(results[0], lossy)]
    report = build_y1564_report(settings, changed)
    assert report.steps[0].reason == "1→0 FLR 1.6 % > 0.1 %" and report.steps[1].verdict is Verdict.SKIPPED
    markdown = render_markdown(build_document(changed, procedure_suite(settings, changed)))
    assert "| A2 CIR 25 % | pass | 0→1 |" in markdown and "| A2 CIR 25 % | fail | 1→0 |" in markdown


def test_a_step_above_the_line_rate_is_not_possible_and_has_no_pass(tmp_path: Path) -> None:
    slow = {"link_speed": "1.3Mbps"}  # 1.25 Mb/s of frames of 500 bytes
    report, results = carry_out(tmp_path, make_settings(), police(POLICER), slow)
    assert list_rates(results) == [62.5, 125, 187.5, 250]
    assert list_verdicts(report)["B2 CIR + EIR"] == "not possible" and report.verdict is Verdict.NOT_POSSIBLE
    shortfall = Y1564Procedure(make_settings()).find_shortfall(results)
    assert shortfall and "B2 CIR + EIR not possible, 1.500 Mb/s is above the line rate, 1.250 Mb/s" in shortfall


def test_policing_is_tested_at_the_line_rate_if_that_is_above_both_rates(tmp_path: Path) -> None:
    report, results = carry_out(tmp_path, make_settings(), police(POLICER), {"link_speed": "1.664Mbps"})
    assert list_rates(results)[5] == pytest.approx(400) and report.verdict is Verdict.PASS


def test_delay_and_its_variation_are_judged_in_every_step(tmp_path: Path) -> None:
    settings = make_settings(**{"y1564.ftd": "10us", "y1564.fdv": "5us"})
    _, results = carry_out(tmp_path, make_settings(), police(POLICER))
    latency = latency_summary([9_000, *[12_000] * 1998, 20_000])
    report = build_y1564_report(settings, [with_latency(each, latency) for each in results])
    assert report.steps[0].reason == "mean FTD 12.0 µs > 10 µs"
    assert report.steps[0].directions[0].fdv_ns == pytest.approx(3_000, abs=20)
    unmeasured = build_y1564_report(settings, results)
    assert unmeasured.steps[0].verdict is None and unmeasured.verdict is Verdict.ABORTED


def test_a_failure_that_other_work_may_explain_is_repeated_and_never_a_verdict(tmp_path: Path) -> None:
    class Disturbed(SimulatedMeasurer):
        def measure(self, *args):  # type: ignore[no-untyped-def]
            return super().measure(*args).with_doubt(Doubt.suspect("tester_preempted"))

    def disturb(plan: Plan, _: SimulatedMeasurer) -> SimulatedMeasurer:
        return Disturbed(plan.traffic, lossy)

    def lose_some(load_pps: float, duration_s: float) -> SutCounts:
        count = round(load_pps * duration_s)
        return SutCounts(count, count, count - count // 60)

    lossy = FunctionSut(lose_some)
    report, results = carry_out(tmp_path, make_settings(), lossy, change=disturb)
    assert len(results) == 4 and report.steps[0].verdict is Verdict.ABORTED
    assert report.verdict is Verdict.ABORTED and Y1564Procedure(make_settings()).find_shortfall(results)
    assert Y1564Procedure(make_settings()).find_failure(results) is None
    passed, _ = carry_out(
        tmp_path, make_settings(), police(POLICER), change=lambda plan, _: Disturbed(plan.traffic, police(POLICER))
    )
    assert passed.verdict is Verdict.PASS and any("other work" in each for each in list_cautions(passed))


def test_an_interrupted_test_has_no_verdict(tmp_path: Path) -> None:
    _, results = carry_out(tmp_path, make_settings(), police(POLICER))
    report = build_y1564_report(make_settings(), results[:3])
    assert report.verdict is Verdict.ABORTED and "the tests did not end" in report.text


def test_a_policing_step_at_a_line_rate_within_the_margin_is_a_caution(tmp_path: Path) -> None:
    link = {"link_speed": "1.57Mbps"}  # 1.51 Mb/s of frames of 500 bytes
    report, _ = carry_out(tmp_path, make_settings(), FunctionSut(forward_all), link)
    assert any("a path without a policer passes" in each for each in list_cautions(report))


def test_the_report_has_table_chart_and_deviations(tmp_path: Path) -> None:
    report, results = carry_out(tmp_path, make_settings(), police(POLICER))
    document = build_document(results, procedure_suite(report.plan, results))
    markdown = render_markdown(document)
    assert document.title == "Y.1564"
    for text in ("| C2 policing | pass | 1.625 Mb/s | 1.511 Mb/s | 6.99 % |", "Performance test", "By minute", "V-DUR"):
        assert text in markdown
    codes = "V-ISO, V-DUR, V-SERVICES, V-COLOR, V-BURST, V-SIZES"
    assert describe_compliance(report) == f"After ITU-T Y.1564, with deviations: {codes}."
    chart = build_chart(report)
    assert [row["upper"] for row in chart.data["bounds"]] == [0.25, 0.5, 0.75, 1.0, 1.52, 1.52, 1.0]
    assert [row["limit"] for row in chart.data["limits"]] == [1.0, 1.5]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("y1564.step=5s", "y1564.cir: not set, and without it there is nothing to test"),
        ("y1564.cir=0", "y1564.cir: a service without a rate (0) cannot be tested"),
        ("y1564.cbs=12500", "y1564.cir: not set"),
        ("y1564={cir: 1Mbps, ebs: 12500}", "y1564.ebs: a burst size without a rate (12500); set y1564.eir"),
        ("y1564={cir: 1Mbps, cbs: 100}", "y1564.cbs: no frame fits into a burst (100 bytes, frames of 512)"),
        ("y1564={cir: 1Mbps, steps: [50%]}", "y1564.steps: the last step is CIR (50 %)"),
        ("y1564={cir: 1Mbps, steps: [50%, 25%, 100%]}", "y1564.steps: 25 % after 50 %"),
        ("y1564={cir: 1Mbps, avail: 99%, duration: 5s}", "y1564.avail: unavailable time begins with 10 bad seconds"),
        ("{y1564: {cir: 1Mbps, ftd: 1ms}, engine: {latency_every: 0}}", "y1564.ftd: engine.latency_every is 0"),
        ("{y1564: {cir: 1Mbps}, frame_sizes: [IMIX]}", "frame_sizes: rates of a service refer to frames of one size"),
        ("{y1564: {cir: 1Mbps}, chains: 2}", "chains: Y.1564 tests one service (2)"),
        ("y1564={cir: 1Mbps, bursts: true}", "y1564.bursts: no burst size is known; write y1564.cbs"),
        ("y1564={cir: 1Mbps, cbs: 1M, bursts: true, step: 60s}", "y1564.cbs: the bucket takes 8 s to fill"),
        (
            "y1564={cir: 1Mbps, eir: 500kbps, cbs: 12500, ebs: 12500, step: 1s}",
            "y1564.step: a path without a policer would pass, as the policing step exceeds CIR + EIR by 125.0 kb/s and "
            "the margin is 200.0 kb/s; write at least 2s",
        ),
        ("y1564={cir: 1Mbps, margin: 1Mbps}", "y1564.margin: a path without a policer would pass"),
        ("rate=1kpps", "rate: 'nodrop test y1564' sets it; remove it and use y1564.cir and y1564.eir"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(setting: str, message: str) -> None:
    flag = ["-c", setting] if setting.startswith("{") else ["--set", setting]
    done = CliRunner().invoke(nodrop, ["test", "y1564", "--dry-run", *flag])
    assert isinstance(done.exception, ConfigError) and message in str(done.exception)


def test_a_dry_run_prints_the_service_its_steps_and_durations() -> None:
    done = CliRunner().invoke(nodrop, ["test", "y1564", "--dry-run", "--cir", "1Mbps", "--eir", "500kbps"])
    assert done.output == (
        "Y.1564, CIR 1.000 Mb/s, EIR 500.0 kb/s, frames of 512 bytes, each way: 6 steps of 10 s at 250.0 kb/s, "
        "500.0 kb/s, 750.0 kb/s, 1.000 Mb/s, 1.500 Mb/s, 1.625 Mb/s, then CIR for 15 min 00 s\n"
    )
