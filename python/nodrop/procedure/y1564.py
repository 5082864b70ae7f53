"""Ethernet service activation: a configuration test in short steps, then a performance test at the committed rate.

Each step is a run at a fixed rate. One that does not pass ends the tests, unless they are to continue.

Source: ITU-T Y.1564 for the tests, MEF 10 for the bandwidth profile.
"""

from collections.abc import Iterator, Sequence

from nodrop.model.procedure import Y1564Plan
from nodrop.model.result import RunResult
from nodrop.procedure.base import ISOLATION_DEVIATION, RETRY_MAX, Procedure, RunRequest, find_local_suts
from nodrop.procedure.y1564_bursts import compute_rest_s, limit_burst, list_bursts
from nodrop.procedure.y1564_evaluation import Evaluation, evaluate_run
from nodrop.procedure.y1564_figures import Step, Verdict, Y1564Report, describe_profile
from nodrop.procedure.y1564_subtests import (
    Subtest,
    compute_sent_rate_bps,
    convert_to_line_bps,
    convert_to_pps,
    list_subtests,
)
from nodrop.rates import compute_line_rate_pps
from nodrop.units import format_bps, format_count, format_seconds, format_time_limit

PERFORMANCE_MIN_S = 900.0
"""Least duration of the performance test; longer ones take 2 h or 24 h."""
P999_COUNT_MIN = 1000
"""Fewest frames whose 99.9th percentile is not their largest value."""


class Y1564Procedure(Procedure):
    """Carries out the sub-tests in order."""

    plan: Y1564Plan

    def __init__(self, plan: Y1564Plan) -> None:
        self.plan = plan

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the first sub-test without a verdict; None at the end."""
        report = build_y1564_report(self.plan, results)
        step = next((each for each in report.steps if each.verdict is None), None)
        if step is None:
            return None
        if step.burst:
            return self._send_burst(step.name, step.burst.frame_count)
        load_pps = step.load_pps * self.plan.direction_count
        settings = {"rate": f"{load_pps:.12g}pps", "duration": step.duration_s}
        return RunRequest(settings, step.name, 1, 1)

    def list_samples(self) -> Sequence[RunRequest]:
        """Return a run of each kind."""
        bursts = list_bursts(self.plan) if self.plan.has_bursts else {}
        first = next(([self._send_burst(name, each.frame_count)] for name, each in bursts.items()), [])
        return [*super().list_samples(), *first]

    def _send_burst(self, name: str, frame_count: int) -> RunRequest:
        settings = {"rate": "100%", "burst": frame_count, "rest": compute_rest_s(self.plan)}
        return RunRequest(settings, name, 1, 1)

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why the service has no verdict."""
        report = build_y1564_report(self.plan, results)
        return None if report.verdict in (Verdict.PASS, Verdict.FAIL) else report.text.rstrip(".")

    def find_failure(self, results: Sequence[RunResult]) -> str | None:
        """Return what the service fails."""
        report = build_y1564_report(self.plan, results)
        return report.text.rstrip(".") if report.verdict is Verdict.FAIL else None

    def describe_extent(self) -> str:
        """Return the service, its sub-tests and their durations."""
        plan = self.plan
        steps = [each for each in list_subtests(plan) if each.kind not in ("burst", "performance")]
        bursts = format_count(len(list_bursts(plan)), "burst") if plan.has_bursts else ""
        rates = ", ".join(format_bps(each.rate_bps) for each in steps)
        performance = f", then CIR for {format_seconds(plan.performance_s)}" if plan.cir_bps else ""
        return (
            f"Y.1564, {describe_profile(plan)}, frames of {plan.frame_bytes} bytes"
            f"{', each way' if plan.direction_count == 2 else ''}: {format_count(len(steps), 'step')} of "
            f"{format_seconds(plan.step_s)} at {rates}{bursts and f', {bursts} at the line rate'}{performance}"
        )


def build_y1564_report(plan: Y1564Plan, results: Sequence[RunResult]) -> Y1564Report:
    """Evaluate the runs of the tests so far."""
    steps: list[Step] = []
    is_over = False
    for subtest in list_subtests(plan):
        if is_over:
            skipped = _make_step(plan, subtest)
            steps.append(skipped.replace(verdict=Verdict.SKIPPED, reason="a sub-test before it did not pass"))
            continue
        step = _build_step(plan, subtest, results)
        steps.append(step)
        is_over = step.verdict not in (Verdict.PASS, None) and not plan.continues_on_fail
    report = Y1564Report(plan=plan, steps=tuple(steps))
    return report.replace(deviations=tuple(_iter_deviations(report, results)))


def _build_step(plan: Y1564Plan, subtest: Subtest, results: Sequence[RunResult]) -> Step:
    step = _make_step(plan, subtest)
    if results:
        step = _fit_to_link(plan, subtest, step, results[0].plan.link_speed_bps)
    if step.verdict is Verdict.NOT_POSSIBLE:
        return step
    return _judge(step, [evaluate_run(plan, step, each) for each in results if each.plan.variant == subtest.name])


def _fit_to_link(plan: Y1564Plan, subtest: Subtest, step: Step, link_speed_bps: float) -> Step:
    """Return a step with the rate at which it is sent on a link, or as not possible there."""
    line_bps = compute_line_rate_pps(plan.frame_bytes, link_speed_bps) * 8 * plan.frame_bytes
    if subtest.burst:
        limits = limit_burst(plan, subtest.burst, link_speed_bps)
        if limits is None:
            reason = f"at the line rate, {format_bps(line_bps)}, a policer lets the whole burst pass"
            return step.replace(verdict=Verdict.NOT_POSSIBLE, reason=reason)
        duration_s = limits.frame_count / convert_to_pps(line_bps, plan.frame_bytes)
        return _set_rate(plan, step, line_bps).replace(burst=limits, duration_s=duration_s)
    rate_bps = compute_sent_rate_bps(plan, subtest, link_speed_bps)
    if rate_bps is None:
        reason = f"{format_bps(subtest.rate_bps)} is above the line rate, {format_bps(line_bps)}"
        return step.replace(verdict=Verdict.NOT_POSSIBLE, reason=reason)
    return _set_rate(plan, step, rate_bps)


def _judge(step: Step, runs: Sequence[Evaluation]) -> Step:
    """Return a step with the verdict of the first run that has one; `aborted` after too many without."""
    for run in runs:
        if not run.problem:
            return step.replace(
                verdict=Verdict.FAIL if run.misses else Verdict.PASS,
                reason="; ".join(run.misses),
                run_id=run.run_id,
                is_suspect=run.is_suspect,
                directions=run.directions,
            )
    if len(runs) <= RETRY_MAX:
        return step
    last = runs[-1]
    return step.replace(
        verdict=Verdict.ABORTED,
        reason=f"{format_count(len(runs), 'run')} do not count, the last one as {last.problem}",
        run_id=last.run_id,
        is_suspect=last.is_suspect,
        directions=last.directions,
    )


def _make_step(plan: Y1564Plan, subtest: Subtest) -> Step:
    """Return a sub-test that is still to come."""
    return Step(
        kind=subtest.kind,
        name=subtest.name,
        rate_bps=subtest.rate_bps,
        load_pps=convert_to_pps(subtest.rate_bps, plan.frame_bytes),
        line_rate_bps=convert_to_line_bps(subtest.rate_bps, plan.frame_bytes),
        duration_s=subtest.duration_s,
        lower_bps=subtest.lower_bps,
        upper_bps=subtest.upper_bps,
        verdict=None,
    )


def _set_rate(plan: Y1564Plan, step: Step, rate_bps: float) -> Step:
    return step.replace(
        rate_bps=rate_bps,
        load_pps=convert_to_pps(rate_bps, plan.frame_bytes),
        line_rate_bps=convert_to_line_bps(rate_bps, plan.frame_bytes),
    )


def list_cautions(report: Y1564Report) -> Iterator[str]:
    """Yield what speaks against the figures."""
    plan = report.plan
    if plan.margin_bps == 0:
        yield "y1564.margin is 0: a policer that rightly lets bursts pass may fail"
    policing = next(step for step in report.steps if step.kind == "policing")
    if policing.verdict is Verdict.PASS and policing.upper_bps and policing.rate_bps <= policing.upper_bps:
        yield (
            f"{policing.name}: {format_bps(policing.rate_bps)} is not above the largest rate that may pass, "
            f"{format_bps(policing.upper_bps)}, so that a path without a policer passes; a faster link is needed"
        )
    performance = report.performance
    if plan.continues_on_fail and performance and performance.verdict in (Verdict.PASS, Verdict.FAIL):
        missed = [step.name for step in report.steps if step.kind != "performance" and step.verdict != Verdict.PASS]
        if missed:
            yield f"performance test although the configuration did not pass: {', '.join(missed)}"
    if suspects := [step.name for step in report.steps if step.is_suspect and step.verdict != Verdict.ABORTED]:
        yield f"the tester or other work may have affected {', '.join(suspects)}"
    if plan.fdv_max_s and plan.step_s * convert_to_pps(plan.cir_bps, plan.frame_bytes) < P999_COUNT_MIN:
        yield (
            f"a step at CIR has fewer than {format_count(P999_COUNT_MIN, 'frame')}, of which the 99.9th percentile is "
            "the largest: FDV is the range there"
        )


def _iter_deviations(report: Y1564Report, results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the tests deviate from the recommendation, each with its code."""
    plan = report.plan
    if find_local_suts(results):
        yield ISOLATION_DEVIATION
    if plan.cir_bps and plan.performance_s < PERFORMANCE_MIN_S:
        yield (
            f"V-DUR: the performance test takes {format_seconds(plan.performance_s)}, less than "
            f"{format_seconds(PERFORMANCE_MIN_S)}"
        )
    yield "V-SERVICES: one service alone; the performance test has no other services beside it"
    yield "V-COLOR: frames are sent without colors; the color-aware sub-tests B1 and C1 were not run"
    if plan.has_bursts:
        yield "V-BURST: each burst finds full buckets; their refill between bursts was not tested"
    else:
        yield "V-BURST: the burst sub-tests of CBS and EBS were not run"
    yield "V-SIZES: frames of one size"


def describe_limits(plan: Y1564Plan) -> str:
    """Return the acceptance criteria: `FLR up to 0.1 %, FTD up to 10 ms`."""
    texts = [f"FLR up to {plan.flr_max * 100:.6g} %"]
    if plan.ftd_max_s:
        texts.append(f"mean FTD up to {format_time_limit(plan.ftd_max_s)}")
    if plan.fdv_max_s:
        texts.append(f"FDV up to {format_time_limit(plan.fdv_max_s)}")
    if plan.availability_min:
        texts.append(f"availability from {plan.availability_min * 100:.6g} %")
    return ", ".join(texts)


def describe_compliance(report: Y1564Report) -> str:
    """Return one line on compliance that claims no more than was done."""
    codes = dict.fromkeys(each.partition(":")[0] for each in report.deviations)
    return f"After ITU-T Y.1564, with deviations: {', '.join(codes)}."
