"""What the parts of a search share: the trials so far, what they count for each goal, and the time that is left."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search import width
from nodrop.search.base import Outcome
from nodrop.search.probe_search.event_loss import EventRate
from nodrop.search.probe_search.goal_evidence import Ledger
from nodrop.search.probe_search.sut_model import Nature, SutModel
from nodrop.search.probe_search.trial_trace import Trace, read

Measuring = Generator[Trial, Outcome, Trace]
"""A dialogue about one trial."""

LEAST_TRIAL_S = 0.15
"""Shorter trials are not worth their overhead."""
SHORT_PROOF_S = 1.0
"""Where time is short, trials from this long on count for something."""
CAP_S = 1.0
"""How long a load above the threshold is offered to show that it loses too much."""
PREDICTABLE = frozenset({Nature.STABLE, Nature.RISING, Nature.FALLING})
"""Natures with which a trial that does not do what was expected is news."""


class Want(NamedTuple):
    """A load to measure, and why."""

    load_pps: float
    rule: str
    reason: str


class OutOfTime(Exception):
    """No further trial fits in the time there is."""


@dataclass
class Pursuit:
    """One goal, and how the attempts at it went so far."""

    ledger: Ledger
    failures: int = 0
    """Proofs that failed since the last one that did not."""
    overloads: int = 0
    """Proofs that failed because the load was above the capacity after all."""
    passes: int = 0
    """Proofs that succeeded since the last one that did not."""
    targets: set[float] = field(default_factory=set)
    """Loads tried for this goal."""
    capped: dict[float, int] = field(default_factory=dict)
    """Loads tried as upper bounds, and how often."""

    @property
    def label(self) -> str:
        """The goal's name."""
        return self.ledger.goal.label

    @property
    def strict(self) -> bool:
        """Whether a single high-loss trial refutes a load."""
        return self.ledger.goal.exceed_ratio == 0.0

    @property
    def ratio(self) -> float:
        """The loss ratio allowed."""
        return self.ledger.goal.loss_ratio


class State:
    """Everything a search knows."""

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan
        self.pursuits = [Pursuit(Ledger(plan.complete(goal), plan.overhead_s)) for goal in plan.goals]
        self.model = SutModel()
        self.natures: list[Nature] = []
        """What the SUT was taken for, in the order of time."""
        self.renewals = 0
        """How often the SUT turned out not to do what was expected."""
        self.apart = False
        """Whether a long trial is something else than as many short ones."""
        self.stops = True
        """Whether the measurer stops trials when it is asked to."""
        self.certain = True
        """Whether losses that it tells of during a trial stay losses."""
        self.watch = False
        """Whether the next proof is to run to its end even where it cannot succeed any more."""
        self.flags: list[Flag] = []
        self._now_s = 0.0
        self._event_rate: tuple[tuple[int, ...], EventRate] | None = None

    @property
    def full_s(self) -> float:
        """The longest trial any goal asks for."""
        return max(pursuit.ledger.full_s for pursuit in self.pursuits)

    def measure(self, want: Want, asked_s: float, stop: StopRule | None, pursuit: Pursuit | None) -> Measuring:
        """Ask for one trial and take in what came of it. Raises OutOfTime."""
        asked_s = min(asked_s, self.left_s())
        if asked_s < LEAST_TRIAL_S:
            raise OutOfTime
        load_pps = self.clamped(want.load_pps)
        if pursuit:
            pursuit.targets.add(load_pps)
        if stop and stop.elapsed_s and not self.stops:
            asked_s = min(asked_s, stop.elapsed_s)
        if stop and not self.certain:
            stop = stop.model_copy(update={"after_loss_s": None})
        outcome = yield Trial(
            intended_load_pps=load_pps,
            duration_s=asked_s,
            stop=stop,
            reason=want.reason,
            goal=pursuit.label if pursuit else "",
            rule=want.rule,
        )
        self._learn_of_measurer(stop, outcome)
        trace = read(outcome, load_pps, asked_s)
        self._now_s = max(self._now_s, outcome.started_s) + trace.elapsed_s + self.plan.overhead_s
        self.model.learn(trace)
        for each in self.pursuits:
            each.ledger.add(trace, self.model.expected_ratio(trace, each.ledger.full_s))
        self.excuse(trace)
        return trace

    def _learn_of_measurer(self, stop: StopRule | None, outcome: Outcome) -> None:
        """Whoever measures may not stop trials, or may tell of losses that later turn out to be none."""
        if stop and stop.elapsed_s and outcome.elapsed_s > 1.5 * stop.elapsed_s:
            self.stops = False
        if stop and stop.after_loss_s is not None and outcome.stopped_early and outcome.loss_ratio == 0.0:
            self.certain = stop.elapsed_s is not None and outcome.elapsed_s >= stop.elapsed_s

    def excuse(self, trace: Trace) -> None:
        """Set a trial aside that ran in a mode which is the exception."""
        if self.model.nature is Nature.MODES and self.model.is_slow_exception(trace):
            for pursuit in self.pursuits:
                if pursuit.strict or pursuit.ledger.part_count(trace) > 1:
                    pursuit.ledger.set_aside(trace.index)

    def take_nature(self, nature: Nature) -> None:
        """From now on take the SUT for this."""
        self.model.nature = nature
        self.natures.append(nature)

    def one_by_one(self, ledger: Ledger, load_pps: float) -> bool:
        """Whether a long trial cannot stand for several short ones.

        Each of these would find the buffer empty, or would have another capacity.
        """
        varies = self.model.nature in (Nature.MODES, Nature.SCATTERED)
        return self.apart or varies or self.model.buffer_matters(load_pps, ledger.full_s)

    def event_rate(self, traces: Sequence[Trace]) -> EventRate:
        """How often frames get lost one by one; worked out once for the same trials."""
        key = tuple(trace.index for trace in traces)
        if self._event_rate is None or self._event_rate[0] != key:
            self._event_rate = (key, EventRate(traces))
        return self._event_rate[1]

    def deciding_s(self, ledger: Ledger, load_pps: float) -> float:
        """How long to offer a load so that it is decided, if possible by this one trial."""
        if self.one_by_one(ledger, load_pps):
            return ledger.full_s
        return ledger.missing_s(load_pps) if ledger.at(load_pps) else ledger.decision_s()

    def is_narrow(self, ledger: Ledger) -> bool:
        """Whether a goal has its bounds as close as asked, or the loads allowed leave it without."""
        lower_pps, upper_pps = ledger.bounds()
        if lower_pps is None:
            return upper_pps is not None and upper_pps <= self.plan.min_load_pps
        if upper_pps is None:
            return lower_pps >= self.plan.max_load_pps
        return width.between(lower_pps, upper_pps) <= ledger.width_ratio * (1.0 + 1e-9)

    def fair_share_s(self) -> float:
        """How long a proof may take, so that time is left for as long a one of each other goal."""
        unsettled = max(1, sum(not self.is_narrow(pursuit.ledger) for pursuit in self.pursuits))
        return max(SHORT_PROOF_S, self.left_s() / unsettled - self.plan.overhead_s - CAP_S)

    def left_s(self) -> float:
        """Time for sending that is left."""
        return self.plan.search_duration_max_s - self._now_s - self.plan.overhead_s

    def clamped(self, load_pps: float) -> float:
        """The nearest load allowed."""
        return min(self.plan.max_load_pps, max(self.plan.min_load_pps, load_pps))
