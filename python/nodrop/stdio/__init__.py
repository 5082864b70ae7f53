"""A search whose trials another program measures, over JSON lines (docs/reference/stdio.md).

    <- params    -> measure | stream    <- trial    ...    -> result | failed
                    while streaming:    <- progress -> stop

Deterministic: without a clock, time is the sum of the trials' durations and the dead time after each.
"""

from collections.abc import Iterator, Mapping, Sequence

from nodrop.errors import ConfigError
from nodrop.formatting.messages import format_message
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Flag, GoalResult
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome, Search
from nodrop.search.goal_results import compute_goal_results
from nodrop.stdio.jsonl import Message, MessageStream
from nodrop.stdio.params import FLAGS, PARAMS, build_plan, parse_params
from nodrop.stdio.trial_accounting import TrialAccount
from nodrop.stdio.trial_report import ReportedTrial

STEP_MIN_S, STEP_MAX_S = 0.05, 0.1
STEPS = 300
"""Progress messages per trial, at intervals within these limits."""
SHORT_RATIO = 0.99
"""Trials that lasted a smaller share of their duration, without having been stopped, are flagged."""


def serve_search(lines: MessageStream, algorithm: AlgorithmName, flags: Mapping[str, object]) -> None:
    """Run a search with the client as the measurer, until a result is sent.

    Args:
        lines: both directions of the dialogue.
        algorithm: the search.
        flags: values that override the params of the same names; None: not given.

    Raises: ConfigError for unusable values, after sending it as `failed`; GeneratorError when the input ends.
    """
    try:
        overrides = parse_params(flags, FLAGS)
        _, params = lines.receive(PARAMS)
        plan = build_plan(parse_params(params, PARAMS), overrides, algorithm)
        lines.send(_Session(plan, lines).run())
    except ConfigError as error:
        lines.send({"failed": str(error)})
        raise


class _Session:
    """A search from its first trial to its result."""

    def __init__(self, plan: SearchPlan, lines: MessageStream) -> None:
        self._plan = plan
        self._lines = lines
        self._search: Search = create(plan)
        self._trials: list[ReportedTrial] = []
        self._now_s = 0.0

    def run(self) -> Message:
        """Return the result, once the search ends or its next trial would exceed the time limit."""
        limit_s = self._plan.search_duration_max_s
        while (trial := self._search.ask()) is not None and self._now_s + trial.duration_s <= limit_s:
            result = self._measure(trial)
            self._search.tell(Outcome.of(result, self._now_s))
            self._trials.append(result)
            self._now_s += result.duration_s + self._plan.overhead_s
        intervals = self._search.intervals()
        goals = compute_goal_results(
            self._plan, intervals, self._trials, sut_shares_tester_cpu=False, out_of_time=trial is not None
        )
        return self._result(goals)

    def _measure(self, trial: Trial) -> ReportedTrial:
        account = TrialAccount(trial, len(self._trials))
        self._lines.send(_build_request_message(trial))
        kinds = ("trial", "progress") if trial.stop else ("trial",)
        while True:
            kind, content = self._lines.receive(*kinds)
            if kind == "trial":
                return account.close(content)
            self._lines.send({"stop": account.progress(content)})

    def _result(self, goals: Sequence[GoalResult]) -> Message:
        first_of = {repr(goal.goal.loss_ratio): goal for goal in reversed(goals)}
        by_ratio = dict(reversed(first_of.items()))
        return {
            "result": {ratio: _list_bounds(result) for ratio, result in by_ratio.items()},
            "flags": {ratio: _list_codes(result) for ratio, result in by_ratio.items()},
            "explanation": {ratio: format_message(result.explanation) for ratio, result in by_ratio.items()},
            "goals": goals,
            "findings": [*self._search.findings(), *self._doubts()],
            "search": self._plan.algorithm,
            "elapsed": self._now_s,
            "trials": [_build_trial_message(trial) for trial in self._trials],
        }

    def _doubts(self) -> Iterator[Flag]:
        """Yield flags about irregular reports."""
        short = [
            trial
            for trial in self._trials
            if not trial.stopped_early and trial.duration_s < SHORT_RATIO * trial.trial.duration_s
        ]
        if short:
            yield Flag.of("short-trials", trials=_list_trials(short))
        recounted = [trial for trial in self._trials if trial.recounted]
        if recounted:
            yield Flag.of("recounted-loss", trials=_list_trials(recounted))


def _list_trials(trials: Sequence[ReportedTrial]) -> str:
    return ", ".join(f"#{trial.index}" for trial in trials)


def _build_request_message(trial: Trial) -> Message:
    request: Message = {"load": trial.intended_load_pps, "duration": trial.duration_s}
    why = {"goal": trial.goal, "rule": trial.rule, "reason": format_message(trial.reason)}
    if trial.stop is None:
        return {"measure": request | why}
    return {"stream": request | {"step": compute_step_s(trial.duration_s)} | why}


def compute_step_s(duration_s: float) -> float:
    """Return the interval of progress messages of a trial that may be stopped."""
    return min(max(duration_s / STEPS, STEP_MIN_S), STEP_MAX_S)


def _list_bounds(result: GoalResult) -> list[float | None]:
    return [bound.load_pps if bound else None for bound in (result.lower, result.upper)]


def _list_codes(result: GoalResult) -> list[str]:
    """Return the codes of missing bounds, then those of a goal's flags."""
    sides = (("lower", result.lower), ("upper", result.upper))
    missing = [f"no-{side}-bound" for side, bound in sides if bound is None]
    return [*missing, *(flag.code for flag in result.flags)]


def _build_trial_message(trial: ReportedTrial) -> Message:
    return {
        "load": trial.trial.intended_load_pps,
        "duration": trial.trial.duration_s,
        "elapsed": trial.duration_s,
        "intended": trial.intended_count,
        "sent": trial.offered_count,
        "lost": trial.lost_count,
        "loss_ratio": trial.loss_ratio,
        "stopped_by": trial.stopped_by,
    }
