"""A search whose measurer is somebody else's program, which speaks JSON lines: docs/reference/stdio.md.

    <- params    -> measure | stream    <- trial    ...    -> result | failed
                    while streaming:    <- progress -> stop

Deterministic: no clock is read, time is what the trials took and the dead time after each.
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
from nodrop.stdio.jsonl import JsonLines, Message
from nodrop.stdio.params import FLAGS, PARAMS, build_plan, parse_params
from nodrop.stdio.trial_accounting import TrialAccount
from nodrop.stdio.trial_report import ReportedTrial

STEP_MIN_S, STEP_MAX_S = 0.05, 0.1
STEPS = 300
"""Progress comes so many times a trial, within these steps."""
SHORT_RATIO = 0.99
"""Trials that took less of the time asked, without having been stopped, are named in the result."""


def serve_search(lines: JsonLines, algorithm: AlgorithmName, flags: Mapping[str, object]) -> None:
    """Search with the other side as the measurer, until a result is sent.

    Args:
        lines: both ends.
        algorithm: the search by name.
        flags: what goes before the params of the same names, None where not given.

    Raises: ConfigError for what cannot be used, after that was sent as `failed`; GeneratorError when the input ends.
    """
    try:
        asked = parse_params(flags, FLAGS)
        _, params = lines.receive(PARAMS)
        plan = build_plan(parse_params(params, PARAMS), asked, algorithm)
        lines.send(_Session(plan, lines).run())
    except ConfigError as error:
        lines.send({"failed": str(error)})
        raise


class _Session:
    """One search from its first trial to its result."""

    def __init__(self, plan: SearchPlan, lines: JsonLines) -> None:
        self._plan = plan
        self._lines = lines
        self._search: Search = create(plan)
        self._trials: list[ReportedTrial] = []
        self._now_s = 0.0

    def run(self) -> Message:
        """The result: when the search asks for no more, or its next trial would end after the time it has."""
        most_s = self._plan.search_duration_max_s
        while (trial := self._search.ask()) is not None and self._now_s + trial.duration_s <= most_s:
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
        self._lines.send(_request_message(trial))
        wanted = ("trial", "progress") if trial.stop else ("trial",)
        while True:
            kind, written = self._lines.receive(*wanted)
            if kind == "trial":
                return account.close(written)
            self._lines.send({"stop": account.progress(written)})

    def _result(self, goals: Sequence[GoalResult]) -> Message:
        first_of = {repr(found.goal.loss_ratio): found for found in reversed(goals)}
        by_ratio = dict(reversed(first_of.items()))
        return {
            "result": {ratio: _bounds(found) for ratio, found in by_ratio.items()},
            "flags": {ratio: _codes(found) for ratio, found in by_ratio.items()},
            "explanation": {ratio: format_message(found.explanation) for ratio, found in by_ratio.items()},
            "goals": goals,
            "findings": [*self._search.findings(), *self._doubts()],
            "search": self._plan.algorithm,
            "elapsed": self._now_s,
            "trials": [_trial_message(trial) for trial in self._trials],
        }

    def _doubts(self) -> Iterator[Flag]:
        """What the other side's answers leave open."""
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


def _request_message(trial: Trial) -> Message:
    wanted: Message = {"load": trial.intended_load_pps, "duration": trial.duration_s}
    why = {"goal": trial.goal, "rule": trial.rule, "reason": format_message(trial.reason)}
    if trial.stop is None:
        return {"measure": wanted | why}
    return {"stream": wanted | {"step": step_s(trial.duration_s)} | why}


def step_s(duration_s: float) -> float:
    """How often a trial that may be stopped is to tell how far it is."""
    return min(max(duration_s / STEPS, STEP_MIN_S), STEP_MAX_S)


def _bounds(found: GoalResult) -> list[float | None]:
    return [bound.load_pps if bound else None for bound in (found.lower, found.upper)]


def _codes(found: GoalResult) -> list[str]:
    """What a goal is flagged with, bounds that there are none of first; the explanation says why."""
    sides = (("lower", found.lower), ("upper", found.upper))
    missing = [f"no-{side}-bound" for side, bound in sides if bound is None]
    return [*missing, *(flag.code for flag in found.flags)]


def _trial_message(trial: ReportedTrial) -> Message:
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
