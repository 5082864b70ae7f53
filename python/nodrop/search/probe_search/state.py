"""State shared by the parts of a search: the trials so far, their evidence for each goal, the remaining time."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.message import Message
from nodrop.model.search_plan import TRIAL_MIN_S, SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search import width
from nodrop.search.base import Outcome
from nodrop.search.probe_search.event_loss import EventRate
from nodrop.search.probe_search.goal_evidence import GoalEvidence
from nodrop.search.probe_search.sut_model import SAME_CAPACITY_RATIO, SutBehavior, SutModel
from nodrop.search.probe_search.trial_trace import Trace, trace_outcome

TrialDialogue = Generator[Trial, Outcome, Trace]
"""A dialogue about one trial."""

SHORT_PROOF_S = 1.0
"""Shortest trial that counts if time is short."""
SHORT_PROOF_MIN_S = 0.25
"""Shortest trial that counts if the time is over and no longer one passed."""
UPPER_PROOF_S = 1.0
"""Duration of a trial above the threshold that shows too much loss."""
COLD_LOSS_RATIO, COLD_LOAD_FACTOR = 0.2, 1.5
"""A trial with at least this loss ratio met a cold SUT if a later trial passes without loss at this multiple of its
load."""
UNDECIDED_WIDTHS = 4.0
"""Distance of a lower bound from an undecided load, in widths, that is close enough."""
PREDICTABLE = frozenset({SutBehavior.STABLE, SutBehavior.RISING, SutBehavior.FALLING})
"""Behaviors with which an unexpected outcome is significant."""


class TrialRequest(NamedTuple):
    """A load to measure, and the reason."""

    load_pps: float
    rule: str
    reason: Message


class UndecidedLoadError(Exception):
    """Other work on the machine left too little undisturbed time to decide a load."""


class OutOfTimeError(Exception):
    """No further trial fits in the remaining time."""


@dataclass
class GoalSearch:
    """One goal, and the outcome of its trials so far."""

    evidence: GoalEvidence
    failures: int = 0
    """Proofs that failed since the last that passed."""
    overloads: int = 0
    """Proofs that failed because the load was above the capacity."""
    passes: int = 0
    """Proofs that passed since the last that failed."""
    short_passed: set[float] = field(default_factory=set)
    """Loads proven after they passed a short trial."""
    targets: set[float] = field(default_factory=set)
    """Loads tried for this goal."""
    confirmations: dict[float, int] = field(default_factory=dict)
    """Number of further proofs of each lower bound that the model disbelieved."""
    undecided_count: int = 0
    """Trials that other work left undecided."""
    upper_tries: dict[float, int] = field(default_factory=dict)
    """Number of trials of each load as an upper bound."""

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
    """The entire state of a search."""

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan
        self.goal_searches = [GoalSearch(GoalEvidence(plan.complete(goal), plan.overhead_s)) for goal in plan.goals]
        GoalEvidence.relate([goal_search.evidence for goal_search in self.goal_searches])
        self.model = SutModel()
        self.behaviors: list[SutBehavior] = []
        """Behaviors of the SUT so far, in order of time."""
        self.restarts = 0
        """How often the SUT was probed again after unexpected behavior."""
        self.long_trials_differ = False
        """Whether a long trial differs from the equivalent number of short ones."""
        self.stops_early = True
        """Whether the measurer obeys stop rules."""
        self.losses_are_final = True
        """Whether losses reported during a trial are final."""
        self.run_to_end = False
        """Whether the next proof runs to its end even if it can no longer pass."""
        self.flags: list[Flag] = []
        self._now_s = 0.0
        self._event_rate: tuple[tuple[int, ...], EventRate] | None = None

    @property
    def full_s(self) -> float:
        """The longest final trial duration of all goals."""
        return max(goal_search.evidence.full_s for goal_search in self.goal_searches)

    def measure(
        self, request: TrialRequest, intended_s: float, stop: StopRule | None, goal_search: GoalSearch | None
    ) -> TrialDialogue:
        """Request one trial and record its outcome. Raises OutOfTimeError, UndecidedLoadError."""
        intended_s = min(intended_s, self.remaining_s())
        if intended_s < TRIAL_MIN_S:
            raise OutOfTimeError
        load_pps = self.clamp(request.load_pps)
        if goal_search:
            goal_search.targets.add(load_pps)
        if stop and stop.elapsed_s and not self.stops_early:
            intended_s = min(intended_s, stop.elapsed_s)
        if stop and not self.losses_are_final:
            stop = stop.replace(after_loss_s=None)
        outcome = yield Trial(
            intended_load_pps=load_pps,
            duration_s=intended_s,
            stop=stop,
            reason=request.reason,
            goal=goal_search.label if goal_search else "",
            rule=request.rule,
        )
        if outcome.is_undecided:
            self._pass_time(outcome, outcome.elapsed_s)
            for each in self.goal_searches:
                each.evidence.give_up(load_pps)
            raise UndecidedLoadError
        self._learn_measurer_limits(stop, outcome)
        return self.record(outcome, load_pps, outcome.requested_s or intended_s)

    def record(self, outcome: Outcome, load_pps: float, intended_s: float) -> Trace:
        """Learn from the outcome of a trial; it counts for every goal."""
        trace = trace_outcome(outcome, load_pps, intended_s)
        self._pass_time(outcome, trace.elapsed_s)
        self.model.learn(trace)
        for each in self.goal_searches:
            each.evidence.add(trace, self.model.expected_ratio(trace, each.evidence.full_s))
        self.set_aside_exception(trace)
        self._set_aside_cold_start(trace)
        if SutBehavior.RISING in self.behaviors:
            self._set_aside_refuted(trace)
        return trace

    def _pass_time(self, outcome: Outcome, elapsed_s: float) -> None:
        wall_s = max(elapsed_s, outcome.wall_s)
        self._now_s = max(self._now_s, outcome.started_s) + wall_s + self.plan.overhead_s

    def _set_aside_cold_start(self, trace: Trace) -> None:
        """Set all trials aside up to the last that lost far more at a load far below one that now passes without loss.

        A SUT that has yet to learn flows or addresses forwards next to nothing until it has. It may have learned them
        in the course of the trials that follow, up to the first without loss.
        """
        if trace.lost_count:
            return
        for position in range(len(self.model.traces) - 1, self.model.era_start - 1, -1):
            earlier = self.model.traces[position]
            if earlier.loss_ratio >= COLD_LOSS_RATIO and earlier.load_pps * COLD_LOAD_FACTOR <= trace.load_pps:
                later = range(position + 1, len(self.model.traces))
                self._set_aside_before(next(each for each in later if not self.model.traces[each].lost_count))
                return

    def set_aside_all(self) -> None:
        """Set all trials so far aside, as the SUT has changed beyond recognition."""
        self._set_aside_before(len(self.model.traces))

    def _set_aside_before(self, position: int) -> None:
        self.model.era_start = max(self.model.era_start, position)
        for each in self.goal_searches:
            for trace in self.model.traces[:position]:
                each.evidence.set_aside(trace.index)

    def _set_aside_refuted(self, trace: Trace) -> None:
        """Set earlier failures aside at loads that a SUT whose capacity rose now carries.

        These are loads up to that of a full-length trial without too much loss, and below a forwarding rate.
        """
        forwarded_pps = trace.capacity_pps * (1.0 - SAME_CAPACITY_RATIO) if trace.overloaded else 0.0
        for each in self.goal_searches:
            passed = trace.loss_ratio <= each.ratio and each.evidence.is_full_length(trace)
            for index in each.evidence.high_loss_indices(max(forwarded_pps, trace.load_pps if passed else 0.0)):
                each.evidence.set_aside(index)

    def _learn_measurer_limits(self, stop: StopRule | None, outcome: Outcome) -> None:
        """Detect a measurer that does not stop trials, or reports losses that are not final."""
        if stop and stop.elapsed_s and outcome.elapsed_s > 1.5 * stop.elapsed_s:
            self.stops_early = False
        if stop and stop.after_loss_s is not None and outcome.stopped_early and outcome.loss_ratio == 0.0:
            self.losses_are_final = stop.elapsed_s is not None and outcome.elapsed_s >= stop.elapsed_s

    def set_aside_exception(self, trace: Trace) -> None:
        """Set a trial aside that ran in the rarer mode."""
        if self.model.behavior is SutBehavior.MODES and self.model.is_slow_exception(trace):
            for goal_search in self.goal_searches:
                if goal_search.strict or goal_search.evidence.part_count(trace) > 1:
                    goal_search.evidence.set_aside(trace.index)

    def note_behavior(self, behavior: SutBehavior) -> None:
        """Set the current behavior of the SUT."""
        self.model.behavior = behavior
        self.behaviors.append(behavior)

    def needs_separate_trials(self, evidence: GoalEvidence, load_pps: float) -> bool:
        """Return whether a long trial cannot stand for several short ones.

        Each of these would start with an empty buffer, or have another capacity.
        """
        varies = self.model.behavior in (SutBehavior.MODES, SutBehavior.SCATTERED)
        return self.long_trials_differ or varies or self.model.buffer_matters(load_pps, evidence.full_s)

    def event_rate(self, traces: Sequence[Trace]) -> EventRate:
        """Return the rate of single losses, computed once for the same trials."""
        key = tuple(trace.index for trace in traces)
        if self._event_rate is None or self._event_rate[0] != key:
            self._event_rate = (key, EventRate(traces))
        return self._event_rate[1]

    def deciding_s(self, evidence: GoalEvidence, load_pps: float) -> float:
        """Return the duration that decides a load, if possible in one trial."""
        if self.needs_separate_trials(evidence, load_pps):
            return evidence.full_s
        return evidence.missing_s(load_pps) if evidence.at(load_pps) else evidence.decision_s()

    def is_narrow(self, evidence: GoalEvidence) -> bool:
        """Return whether a goal's bounds are close enough, or at a limit of the loads allowed.

        Every attempt at an undecided load takes time, so that they need not be as close below one.
        """
        lower_pps, upper_pps = evidence.limits()
        if lower_pps is None:
            return self.is_unmet(evidence)
        if upper_pps is None:
            return lower_pps >= self.plan.max_load_pps
        widths = UNDECIDED_WIDTHS if evidence.undecided_loads() else 1.0
        return width.compute_between(lower_pps, upper_pps) <= widths * evidence.width_ratio * (1.0 + 1e-9)

    def is_unmet(self, evidence: GoalEvidence) -> bool:
        """Return whether even the lowest load allowed loses too much for a goal."""
        lower_pps, upper_pps = evidence.bounds()
        return lower_pps is None and upper_pps is not None and upper_pps <= self.plan.min_load_pps

    def fair_share_s(self) -> float:
        """Return the time for a proof that leaves as much for each other goal."""
        open_count = max(1, sum(not self.is_narrow(goal_search.evidence) for goal_search in self.goal_searches))
        return max(SHORT_PROOF_S, self.remaining_s() / open_count - self.plan.overhead_s - UPPER_PROOF_S)

    def remaining_s(self) -> float:
        """Return the remaining time for sending."""
        return self.plan.search_duration_max_s - self._now_s - self.plan.overhead_s

    def clamp(self, load_pps: float) -> float:
        """Return the nearest load allowed."""
        return min(self.plan.max_load_pps, max(self.plan.min_load_pps, load_pps))
