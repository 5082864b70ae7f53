"""The rate that a system forwards under each load pattern, as a share of that under flat load of the same mean.

Source: ETSI GS NFV-PER 001 clause C.5.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from pydantic import computed_field

from nodrop.model.base import Value
from nodrop.model.choices import PatternKind
from nodrop.model.goal import Limit
from nodrop.model.procedure import PatternsPlan
from nodrop.model.result import RunResult, Status
from nodrop.procedure.base import ISOLATION_DEVIATION, RETRY_MAX, Procedure, RunRequest, find_local_suts
from nodrop.units import format_count, format_ratio

FLAT: PatternKind = "flat"


class PatternRate(Value):
    """The rates that meet a goal under a load pattern, over the repeats."""

    kind: PatternKind
    goal: str
    loads_pps: tuple[float, ...]
    """Lower bounds, over all directions, in the order of the repeats."""
    flat_ratios: tuple[float, ...]
    """Shares of the lower bounds of the flat load of the same repeat."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def load_pps(self) -> float:
        """Median of the lower bounds."""
        return median(self.loads_pps)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def flat_ratio(self) -> float | None:
        """Median of the shares; None without a lower bound of the flat load."""
        return median(self.flat_ratios) if self.flat_ratios else None


class PatternsReport(Value):
    """What a procedure of load patterns found."""

    plan: PatternsPlan
    rates: tuple[PatternRate, ...]
    """By pattern, then by goal."""
    run_ids: tuple[str, ...]
    """Runs that count."""
    unmet: tuple[str, ...] = ()
    """Patterns and goals that not even the lowest load meets: `burst, NDR`."""
    latest_unused_count: int = 0
    """Runs since the last one that counts."""

    @property
    def goals(self) -> tuple[str, ...]:
        """Labels of the goals."""
        return tuple(dict.fromkeys(rate.goal for rate in self.rates))

    def find_rate(self, kind: PatternKind, goal: str) -> PatternRate | None:
        """Return the rates of a pattern; None if no run found any."""
        return next((rate for rate in self.rates if (rate.kind, rate.goal) == (kind, goal)), None)

    def find_least(self, goal: str) -> PatternRate | None:
        """Return the pattern with the smallest share of flat load; None if none was compared with it."""
        rates = [rate for rate in self.rates if rate.goal == goal and rate.kind != FLAT and rate.flat_ratio is not None]
        return min(rates, key=lambda rate: rate.flat_ratio or 0.0, default=None)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in a sentence."""
        least = [(goal, rate) for goal in self.goals if (rate := self.find_least(goal))]
        if not least:
            return "No pattern was compared with flat load."
        parts = (
            f"{goal} is least under {rate.kind}, {format_ratio(rate.flat_ratio or 0.0)} of flat" for goal, rate in least
        )
        return f"{'; '.join(parts)}."


class PatternsProcedure(Procedure):
    """Searches under flat load and under each pattern, in turn for each repeat."""

    plan: PatternsPlan

    def __init__(self, plan: PatternsPlan) -> None:
        self.plan = plan

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the first pattern without a result; None at the end."""
        report = build_patterns_report(self.plan, results)
        if report.latest_unused_count > RETRY_MAX:
            return None
        done = {(each.plan.variant, each.plan.repeat) for each in results if each.run_id in report.run_ids}
        for repeat in range(1, self.plan.repeat_count + 1):
            for kind in self.plan.kinds:
                if (kind, repeat) not in done:
                    return RunRequest({"pattern.kind": kind}, kind, repeat, self.plan.repeat_count)
        return None

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why patterns cannot be compared."""
        kinds = list_unmeasured(build_patterns_report(self.plan, results), results)
        if not kinds:
            return None
        return f"no search found a rate under {', '.join(kinds)}; stop other work, or allow more time (search.budget)"

    def describe_extent(self) -> str:
        """Return the runs."""
        plan = self.plan
        runs = format_count(len(plan.kinds) * plan.repeat_count, "search", "searches")
        repeats = f", {plan.repeat_count} of each" if plan.repeat_count > 1 else ""
        return f"{runs}{repeats}: {', '.join(plan.kinds)}"


def build_patterns_report(plan: PatternsPlan, results: Sequence[RunResult]) -> PatternsReport:
    """Evaluate the runs of a procedure so far; those that found no rate do not count."""
    loads_pps: dict[tuple[str, str, int], float] = {}
    unmet: dict[str, None] = {}
    run_ids, unused_count = [], 0
    for result in results:
        bounds = {goal.goal.label: goal.lower.load_pps for goal in result.goals if goal.lower}
        missed = [goal.goal.label for goal in result.goals if not goal.lower and goal.limit is Limit.MIN_LOAD]
        if result.status is Status.COMPLETE and len(bounds) + len(missed) == len(result.goals):
            unused_count = 0
            run_ids.append(result.run_id)
            unmet |= dict.fromkeys(f"{result.plan.variant}, {goal}" for goal in missed)
            loads_pps |= {(result.plan.variant, goal, result.plan.repeat): load for goal, load in bounds.items()}
        else:
            unused_count += 1
    goals = tuple(dict.fromkeys(goal for _, goal, _ in loads_pps))
    rates = (_build_rate(kind, goal, loads_pps) for kind in plan.kinds for goal in goals)
    return PatternsReport(
        plan=plan,
        rates=tuple(rate for rate in rates if rate),
        run_ids=tuple(run_ids),
        unmet=tuple(unmet),
        latest_unused_count=unused_count,
    )


def list_cautions(report: PatternsReport, results: Sequence[RunResult]) -> Iterator[str]:
    """Yield what speaks against the figures."""
    for result in results:
        doubtful = [goal.goal.label for goal in result.goals if goal.is_likely_too_high]
        if doubtful and result.run_id in report.run_ids:
            repeat = f", repeat {result.plan.repeat}" if report.plan.repeat_count > 1 else ""
            yield f"{result.plan.variant}{repeat}: {' and '.join(doubtful)} likely too high"
    if report.plan.repeat_count == 1 and report.rates:
        yield "one run of each pattern does not show the scatter between runs; add --repeat 3"
    for each in report.unmet:
        yield f"{each}: missed even at the lowest load"
    if unmeasured := list_unmeasured(report, results):
        yield f"not measured: {', '.join(unmeasured)}"


def list_unmeasured(report: PatternsReport, results: Sequence[RunResult]) -> tuple[str, ...]:
    """Return the patterns without a run that counts."""
    measured = {result.plan.variant for result in results if result.run_id in report.run_ids}
    return tuple(kind for kind in report.plan.kinds if kind not in measured)


def list_deviations(results: Sequence[RunResult]) -> Iterator[str]:
    """Yield where the runs deviate from the clause, each with its code."""
    if find_local_suts(results):
        yield ISOLATION_DEVIATION


def _build_rate(kind: PatternKind, goal: str, loads_pps: dict[tuple[str, str, int], float]) -> PatternRate | None:
    """Return the rates of a pattern from those by pattern, goal and repeat; None without any."""
    loads = {repeat: load for (each, label, repeat), load in loads_pps.items() if (each, label) == (kind, goal)}
    if not loads:
        return None
    flat = {repeat: loads_pps.get((FLAT, goal, repeat)) for repeat in loads}
    return PatternRate(
        kind=kind,
        goal=goal,
        loads_pps=tuple(loads.values()),
        flat_ratios=tuple(load / base for repeat, load in loads.items() if (base := flat[repeat])),
    )
