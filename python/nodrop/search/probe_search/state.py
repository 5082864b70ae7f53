"""What the parts of a search share: the trials so far, what they count for each goal, and the time that is left."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search import width
from nodrop.search.base import Outcome
from nodrop.search.probe_search.event_loss import EventRate
from nodrop.search.probe_search.goal_evidence import GoalEvidence
from nodrop.search.probe_search.sut_model import SutBehavior, SutModel
from nodrop.search.probe_search.trial_trace import Trace, trace_outcome

TrialDialogue = Generator[Trial, Outcome, Trace]
"""A dialogue about one trial."""

MIN_TRIAL_S = 0.15
"""Shorter trials are not worth their overhead."""
SHORT_PROOF_S = 1.0
"""Where time is short, trials from this long on count for something."""
UPPER_PROOF_S = 1.0
"""How long a load above the threshold is offered to show that it loses too much."""
PREDICTABLE = frozenset({SutBehavior.STABLE, SutBehavior.RISING, SutBehavior.FALLING})
"""Natures with which a trial that does not do what was expected is news."""


class TrialRequest(NamedTuple):
    """A load to measure, and why."""

    load_pps: float
    rule: str
    reason: Message


class OutOfTimeError(Exception):
    """No further trial fits in the time there is."""


@dataclass
class GoalSearch:
    """One goal, and how the attempts at it went so far."""

    evidence: GoalEvidence
    failures: int = 0
    """Proofs that failed since the last one that did not."""
    overloads: int = 0
    """Proofs that failed because the load was above the capacity after all."""
    passes: int = 0
    """Proofs that succeeded since the last one that did not."""
    targets: set[float] = field(default_factory=set)
    """Loads tried for this goal."""
    upper_tries: dict[float, int] = field(default_factory=dict)
    """Loads tried as upper bounds, and how often."""

    @property
    def label(self) -> str:
        """The goal's name."""
        return self.evidence.goal.label

    @property
    def strict(self) -> bool:
        """Whether a single high-loss trial refutes a load."""
        return self.evidence.goal.exceed_ratio == 0.0

    @property
    def ratio(self) -> float:
        """The loss ratio allowed."""
        return self.evidence.goal.loss_ratio


class SearchState:
    """Everything a search knows."""

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan
        self.goal_searches = [GoalSearch(GoalEvidence(plan.complete(goal), plan.overhead_s)) for goal in plan.goals]
        self.model = SutModel()
        self.behaviors: list[SutBehavior] = []
        """What the SUT was taken for, in the order of time."""
        self.restarts = 0
        """How often the SUT turned out not to do what was expected."""
        self.long_trials_differ = False
        """Whether a long trial is something else than as many short ones."""
        self.stops_early = True
        """Whether the measurer stops trials when it is asked to."""
        self.losses_are_final = True
        """Whether losses that it tells of during a trial stay losses."""
        self.run_to_end = False
        """Whether the next proof is to run to its end even where it cannot succeed any more."""
        self.flags: list[Flag] = []
        self._now_s = 0.0
        self._event_rate: tuple[tuple[int, ...], EventRate] | None = None

    @property
    def full_s(self) -> float:
        """The longest trial any goal asks for."""
        return max(goal_search.evidence.full_s for goal_search in self.goal_searches)

    def measure(
        self, request: TrialRequest, intended_s: float, stop: StopRule | None, goal_search: GoalSearch | None
    ) -> TrialDialogue:
        """Ask for one trial and take in what came of it. Raises OutOfTime."""
        intended_s = min(intended_s, self.remaining_s())
        if intended_s < MIN_TRIAL_S:
            raise OutOfTimeError
        load_pps = self.clamp(request.load_pps)
        if goal_search:
            goal_search.targets.add(load_pps)
        if stop and stop.elapsed_s and not self.stops_early:
            intended_s = min(intended_s, stop.elapsed_s)
        if stop and not self.losses_are_final:
            stop = stop.model_copy(update={"after_loss_s": None})
        outcome = yield Trial(
            intended_load_pps=load_pps,
            duration_s=intended_s,
            stop=stop,
            reason=request.reason,
            goal=goal_search.label if goal_search else "",
            rule=request.rule,
        )
        self._learn_measurer_limits(stop, outcome)
        trace = trace_outcome(outcome, load_pps, intended_s)
        self._now_s = max(self._now_s, outcome.started_s) + trace.elapsed_s + self.plan.overhead_s
        self.model.learn(trace)
        for each in self.goal_searches:
            each.evidence.add(trace, self.model.expected_ratio(trace, each.evidence.full_s))
        self.set_aside_exception(trace)
        return trace

    def _learn_measurer_limits(self, stop: StopRule | None, outcome: Outcome) -> None:
        """Whoever measures may not stop trials, or may tell of losses that later turn out to be none."""
        if stop and stop.elapsed_s and outcome.elapsed_s > 1.5 * stop.elapsed_s:
            self.stops_early = False
        if stop and stop.after_loss_s is not None and outcome.stopped_early and outcome.loss_ratio == 0.0:
            self.losses_are_final = stop.elapsed_s is not None and outcome.elapsed_s >= stop.elapsed_s

    def set_aside_exception(self, trace: Trace) -> None:
        """Set a trial aside that ran in a mode which is the exception."""
        if self.model.behavior is SutBehavior.MODES and self.model.is_slow_exception(trace):
            for goal_search in self.goal_searches:
                if goal_search.strict or goal_search.evidence.part_count(trace) > 1:
                    goal_search.evidence.set_aside(trace.index)

    def note_behavior(self, behavior: SutBehavior) -> None:
        """From now on take the SUT for this."""
        self.model.behavior = behavior
        self.behaviors.append(behavior)

    def needs_separate_trials(self, evidence: GoalEvidence, load_pps: float) -> bool:
        """Whether a long trial cannot stand for several short ones.

        Each of these would find the buffer empty, or would have another capacity.
        """
        varies = self.model.behavior in (SutBehavior.MODES, SutBehavior.SCATTERED)
        return self.long_trials_differ or varies or self.model.buffer_matters(load_pps, evidence.full_s)

    def event_rate(self, traces: Sequence[Trace]) -> EventRate:
        """How often frames get lost one by one; worked out once for the same trials."""
        key = tuple(trace.index for trace in traces)
        if self._event_rate is None or self._event_rate[0] != key:
            self._event_rate = (key, EventRate(traces))
        return self._event_rate[1]

    def deciding_s(self, evidence: GoalEvidence, load_pps: float) -> float:
        """How long to offer a load so that it is decided, if possible by this one trial."""
        if self.needs_separate_trials(evidence, load_pps):
            return evidence.full_s
        return evidence.missing_s(load_pps) if evidence.at(load_pps) else evidence.decision_s()

    def is_narrow(self, evidence: GoalEvidence) -> bool:
        """Whether a goal has its bounds as close as asked, or the loads allowed leave it without."""
        lower_pps, upper_pps = evidence.bounds()
        if lower_pps is None:
            return upper_pps is not None and upper_pps <= self.plan.min_load_pps
        if upper_pps is None:
            return lower_pps >= self.plan.max_load_pps
        return width.between(lower_pps, upper_pps) <= evidence.width_ratio * (1.0 + 1e-9)

    def fair_share_s(self) -> float:
        """How long a proof may take, so that time is left for as long a one of each other goal."""
        open_count = max(1, sum(not self.is_narrow(goal_search.evidence) for goal_search in self.goal_searches))
        return max(SHORT_PROOF_S, self.remaining_s() / open_count - self.plan.overhead_s - UPPER_PROOF_S)

    def remaining_s(self) -> float:
        """Time for sending that is left."""
        return self.plan.search_duration_max_s - self._now_s - self.plan.overhead_s

    def clamp(self, load_pps: float) -> float:
        """The nearest load allowed."""
        return min(self.plan.max_load_pps, max(self.plan.min_load_pps, load_pps))
