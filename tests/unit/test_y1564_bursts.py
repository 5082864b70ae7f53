"""Bursts of service activation: what full buckets let pass, in order and against exact policers."""

from pathlib import Path

import pytest
from tests.factories import procedure_suite, stream_counts, trial_result
from tests.policers import Policer
from tests.service_activation import (
    COMMITTED_ONLY,
    POLICER,
    carry_out,
    list_rates,
    list_verdicts,
    make_settings,
    police,
)

from nodrop.procedure.y1564_bursts import count_conforming, limit_burst, list_burst_misses, list_bursts
from nodrop.procedure.y1564_figures import Verdict
from nodrop.report.document import build_document
from nodrop.report.markdown import render_markdown


@pytest.mark.parametrize(
    ("cbs", "cir", "frame_bytes", "link_bps", "count"),
    [
        (12_500, 10e6, 1000, 1e9, 12),
        (12_144, 10e6, 1518, 1e9, 8),
        (64_000, 100e6, 1518, 1e9, 46),
        (64_000, 2e6, 64, 100e6, 1026),
        (12_500, 1e6, 500, 83.2e6, 25),
    ],
)
def test_full_buckets_let_the_longest_burst_pass(
    cbs: int, cir: float, frame_bytes: int, link_bps: float, count: int
) -> None:
    keys = {"y1564.cir": cir, "y1564.cbs": cbs, "frame_bytes": frame_bytes, **COMMITTED_ONLY}
    settings = make_settings(**keys)
    assert count_conforming(settings, count, link_bps, uses_excess=False) == count
    assert count_conforming(settings, count + 1, link_bps, uses_excess=False) == count


BURSTS = {"y1564.bursts": True, **COMMITTED_ONLY}
BURST_LINK = {"link_speed": "83.2Mbps"}
"""20 kfps of 500 bytes."""


def test_bursts_come_before_the_performance_test_each_after_a_rest(tmp_path: Path) -> None:
    settings = make_settings(**BURSTS)
    policer = Policer(1_000_000, 12_500, 0, 0)
    report, results = carry_out(tmp_path, settings, police(policer), BURST_LINK)
    assert list_rates(results) == [62.5, 125, 187.5, 250, 312.5, 20_000, 20_000, 250]
    sent = [(each.offered_count, each.lost_count) for step in report.steps if step.burst for each in step.directions]
    assert sent == [(25, 0), (28, 3)] and report.verdict is Verdict.PASS
    trials = [each.fixed_trial.trial for each in results[5:7] if each.fixed_trial]
    assert [(each.burst, each.rest_s) for each in trials] == [(True, pytest.approx(0.1125))] * 2
    document = build_document(results, procedure_suite(report.plan, results))
    assert "| D-b CBS + 10 % | 0→1 | 28 | 25 | 24 | 26 |" in render_markdown(document)


@pytest.mark.parametrize(
    ("cbs", "name", "reason"),
    [
        (10_000, "D-a CBS", "20 of 25 frames passed, fewer than 25"),
        (15_000, "D-b CBS + 10 %", "28 of 28 frames passed, more than 26"),
    ],
)
def test_a_policer_with_another_burst_size_fails(cbs: int, name: str, reason: str, tmp_path: Path) -> None:
    settings = make_settings(**BURSTS, **{"y1564.margin": "20kbps"})
    report, _ = carry_out(tmp_path, settings, police(Policer(1_000_000, cbs, 0, 0)), BURST_LINK)
    (missed,) = (step for step in report.steps if step.verdict is Verdict.FAIL)
    assert (missed.name, missed.reason) == (name, reason)


def test_a_service_with_excess_rate_is_tested_by_a_burst_of_both_sizes(tmp_path: Path) -> None:
    report, _ = carry_out(tmp_path, make_settings(**{"y1564.bursts": True}), police(POLICER), BURST_LINK)
    bursts = {step.name: step.burst.frame_count for step in report.steps if step.burst}
    assert bursts == {"D-a CBS": 25, "E-a CBS + EBS": 50, "E-b CBS + EBS + 10 %": 55}
    assert report.verdict is Verdict.PASS


def test_frames_that_a_shaper_delays_may_exceed_the_burst_size() -> None:
    settings = make_settings(**BURSTS)
    limits = limit_burst(settings, list_bursts(settings)["D-b CBS + 10 %"], 83.2e6)
    assert limits and (limits.passed_min, limits.passed_max) == (24, 26)
    for seconds, is_shaped in ((12e-3, True), (1.35e-3, False)):
        stream = stream_counts(28).replace(first_arrival_ns=0, last_arrival_ns=round(seconds * 1e9))
        trial = trial_result(20_000, 1.4e-3, streams=(stream,))
        assert bool(list(list_burst_misses(settings, limits, trial, (0, 1)))) is not is_shaped


def test_a_line_rate_close_to_cir_tests_no_burst(tmp_path: Path) -> None:
    settings = make_settings(**BURSTS)
    report, _ = carry_out(tmp_path, settings, police(Policer(1_000_000, 12_500, 0, 0)), {"link_speed": "1.4Mbps"})
    assert list_verdicts(report)["D-b CBS + 10 %"] == "not possible"
