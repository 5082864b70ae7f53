"""nodrop's own search: look briefly, prove once.

It looks at the SUT with short overloads, which show the capacity and the buffer within a fraction of a second; works
out from these where each goal's threshold must lie; proves a load just below with a trial as long as the goal asks;
and shows just above that more is too much, which takes a moment. Trials that lose are watched window by window, as
*how* they lose says where to go next: an overload that began late, single frames, stalls, a capacity that changed.

What counts for a goal is decided by the load classification of RFC 9971 alone; the model only chooses loads. Whatever
had to be set aside is named.

Rules, as `Trial.rule` has them: `look` short overload; `prove` a load expected to meet the goal; `cap` one expected not
to; `step-down`, `step-up` where a trial contradicted the estimate; `again` more trials where they did not agree;
`events`, `stalls` loads chosen by how frames got lost one by one or in stalls; `extreme` the ends of the range.
"""

from collections.abc import Generator, Iterator
from typing import NamedTuple

from nodrop.model.goal import Flag
from nodrop.model.plan import Earlier, SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search import width
from nodrop.search.assurance import above_probability, loss_ratio_limit, lossless_probability
from nodrop.search.astray import EventRate, is_stall, stall_line
from nodrop.search.base import Dialogue, DialogueSearch, Interval, Outcome
from nodrop.search.findings import findings
from nodrop.search.goal_interval import goal_interval
from nodrop.search.ledger import CLEAR_EXCESS, Ledger
from nodrop.search.sut_model import Estimate, Nature, SutModel
from nodrop.search.trace import Trace, read
from nodrop.search.wording import load_text

Measuring = Generator[Trial, Outcome, Trace]
"""A dialogue about one trial."""

LOOK_S = 0.5
"""A look ends after this long at the latest."""
WATCH_S = 0.15
"""A look, or a proof that failed, is watched this long after the first loss: it shows how frames are lost."""
OVERLOAD = 1.015
"""A look offers so much more than what came through before."""
MARGIN = 0.2
"""Proofs stay this share of the goal's width below the estimate."""
CAP_S = 1.0
"""How long a load above the threshold is offered to show that it loses too much."""
EARLY_PARTS = 2
"""Overloaded trials in a row, after which the many more that would decide a load are not made."""
EARLY_PARTS_SINGLY = 4
"""The same for trials that lost frames one by one or in stalls."""
TRIALS_MAX = 60
"""Trials for one goal; a SUT that still keeps changing its mind by then is not measured any better."""
QUIET_S = 2.0
"""A proof expected to lose some frames is given up when after this time it has lost almost none."""
RENEWALS_MAX = 12
"""After so many changes of mind the SUT is taken as it is."""
SHORT_PROOF_S = 0.3
"""Where time is short, trials from this long on count for something."""
UNCHANGED = 0.004
"""Relative change of a threshold up to which an earlier result is taken to hold."""
LOOKS_AGAIN = 5
"""Looks in a row that show how a SUT varies."""
NEARBY = 4.0
"""Widths from the estimate within which a load is worth deciding."""
LOOKS_MORE = 4
"""The same once it is known to vary."""
LOOKS_MAX = 18
"""Looks in a row where it takes more to tell."""
LUCK = 0.4
"""A success that had less than this chance is tried again."""
LUCK_TRIALS = 3
HASTY_FRAMES = 20
"""A loss of more frames, within a moment, says that the load is far too high, but not how far."""
COARSE = 10.0
"""Widths of standard deviation from which on an estimate says no more than the bounds do."""
COLLAPSED = 0.1
"""Share of the load that comes through, below which it says nothing of what a lower load would do."""
CLOSE = 1.03
"""Ratio of two loads between which there is no need to look."""


PREDICTABLE = frozenset({Nature.STABLE, Nature.RISING, Nature.FALLING})


class Want(NamedTuple):
    """A load to measure for a goal, and why."""

    load_pps: float
    rule: str
    reason: str


class OutOfTime(Exception):
    """No further trial fits in the time there is."""


class NodropSearch(DialogueSearch):
    """See the module; the interface is `nodrop.search.base.Search`."""

    def __init__(self, plan: SearchPlan) -> None:
        goals = [plan.complete(goal) for goal in plan.goals]
        self._ledgers = [Ledger(goal, plan.overhead_s) for goal in goals]
        self._model = SutModel()
        self._full_s = max(ledger.full_s for ledger in self._ledgers)
        self._now_s = 0.0
        self._renewals = 0
        self._natures: list[Nature] = []
        self._capped: dict[tuple[str, float], int] = {}
        self._failures: dict[str, int] = {}
        self._targets: dict[str, set[float]] = {goal.label: set() for goal in goals}
        self._apart = False
        self._overloads: dict[str, int] = {}
        self._passes: dict[str, int] = {}
        self._flags: list[Flag] = []
        super().__init__(plan)

    def _search(self) -> Dialogue:
        order = sorted(self._ledgers, key=lambda ledger: (-ledger.goal.loss_ratio, -ledger.full_s))
        try:
            if not (yield from self._resume()):
                yield from self._look_first()
            for _ in range(2):  # what a later goal's trials showed may have moved an earlier goal
                for ledger in order:
                    yield from self._settle(ledger)
        except OutOfTime:
            self._flags.append(Flag(code="out-of-time", text="The time for the search was over."))
        self._take_what_there_is()

    # --- starting from an earlier result ---

    def _resume(self) -> Generator[Trial, Outcome, bool]:
        """Check that the SUT still does what an earlier search found; says whether it does.

        One short overload tells. Then the goal that allows the least loss is proven anew, the others are only checked.
        """
        known = [(ledger, found) for ledger in self._ledgers if (found := self._earlier(ledger))]
        if len(known) < len(self._ledgers):
            return False
        known.sort(key=lambda pair: pair[0].goal.loss_ratio)
        highest, found = known[-1]
        trace = yield from self._look(found.upper_pps * OVERLOAD, "does the SUT still do what it did before")
        estimate = self._model.threshold(highest)
        middle_pps = (found.lower_pps + found.upper_pps) / 2.0
        if not trace.overloaded or not estimate or width.between(estimate.load_pps, middle_pps) > UNCHANGED:
            return False
        first, found = known[0]
        reason = f"{first.goal.label}: the earlier lower bound, proving it anew"
        yield from self._prove(first, Want(found.lower_pps, "earlier", reason))
        for ledger, found in known[1:]:
            reason = f"{ledger.goal.label}: the earlier lower bound, checking that it still holds"
            stop = StopRule(elapsed_s=CAP_S)
            want = Want(found.lower_pps, "earlier", reason)
            trace = yield from self._measure(want, ledger.full_s, stop, ledger.goal.label)
            if trace.loss_ratio <= ledger.goal.loss_ratio:
                ledger.accept(trace.load_pps, trace.index)
        return True

    def _earlier(self, ledger: Ledger) -> Earlier | None:
        for found in self._plan.earlier:
            if (found.loss_ratio, found.final_trial_duration_s) == (ledger.goal.loss_ratio, ledger.full_s):
                return found
        return None

    def _take_what_there_is(self) -> None:
        """A goal left without a lower bound gets the highest load that short trials were good at."""
        for ledger in self._ledgers:
            lower_pps, upper_pps = ledger.bounds()
            if lower_pps is not None:
                continue
            good = [
                trace
                for trace in self._model.current
                if trace.loss_ratio <= ledger.goal.loss_ratio
                and trace.elapsed_s >= SHORT_PROOF_S
                and (upper_pps is None or trace.load_pps < upper_pps)
            ]
            if good:
                best = max(good, key=lambda trace: trace.load_pps)
                ledger.accept(best.load_pps, best.index)

    # --- looking ---

    def _look_first(self) -> Dialogue:
        """Offer the highest load, then a little more than what came through, until that no longer changes."""
        trace = yield from self._look(self._plan.max_load_pps, "how much comes through of the highest load")
        if not trace.overloaded:
            return
        if trace.capacity_pps < COLLAPSED * trace.load_pps:
            yield from self._look_between(self._plan.min_load_pps, trace.load_pps)
        for _ in range(6):
            capacity_pps = self._model.capacity_pps() or trace.load_pps
            load_pps = max(capacity_pps * OVERLOAD, capacity_pps + self._model.buffer_count / LOOK_S * 2)
            if load_pps >= 0.9 * self._lowest_overload_pps() or load_pps <= self._plan.min_load_pps:
                return
            reason = f"{load_text(capacity_pps)} came through: a closer look just above that"
            trace = yield from self._look(load_pps, reason)
            if not trace.overloaded:
                yield from self._look_between(load_pps, self._lowest_overload_pps())
                return
            if load_pps < CLOSE * trace.capacity_pps and trace.capacity_pps < 1.005 * capacity_pps:
                return

    def _look_between(self, good_pps: float, bad_pps: float) -> Dialogue:
        """Look for a load just above the limit between one that lost nothing and one that lost far too much."""
        while bad_pps > CLOSE * good_pps:
            near_good_pps = good_pps * (bad_pps / good_pps) ** (0.5 if bad_pps > 2.0 * good_pps else 0.3)
            reason = f"the limit is between {load_text(good_pps)} and {load_text(bad_pps)}: looking there"
            trace = yield from self._look(near_good_pps, reason)
            if not trace.overloaded:
                good_pps = trace.load_pps
                continue
            bad_pps = trace.load_pps
            if trace.capacity_pps > COLLAPSED * trace.load_pps:
                return

    def _lowest_overload_pps(self) -> float:
        loads = [trace.load_pps for trace in self._model.current if trace.overloaded]
        return min(loads, default=self._plan.max_load_pps)

    def _look(self, load_pps: float, reason: str) -> Measuring:
        stop = StopRule(after_loss_s=WATCH_S, elapsed_s=LOOK_S)
        return (yield from self._measure(Want(load_pps, "look", reason), self._full_s, stop, ""))

    def _look_again(self, why: str) -> Dialogue:
        """The SUT does not do what it did: look several times, to see what it does now and how that varies."""
        self._renewals += 1
        load_pps = max(self._model.capacity_pps() or 0.0, self._model.traces[-1].load_pps) * OVERLOAD
        looks: list[Trace] = []
        step = 0.02
        before = self._model.era_start
        enough = LOOKS_AGAIN if self._model.nature is Nature.STABLE else LOOKS_MORE
        for _ in range(LOOKS_MAX):
            trace = yield from self._look(load_pps, why)
            if trace.overloaded:
                looks.append(trace)
                load_pps = max(load_pps, trace.capacity_pps * OVERLOAD)
            elif load_pps >= self._plan.max_load_pps:
                break
            else:
                load_pps = self._clamped(load_pps * (1.0 + step))
                step *= 2.0
            if len(looks) >= enough:
                self._model.judge_looks(looks)
                if not self._model.undecided_modes():
                    break
        if self._model.nature is Nature.STABLE and self._model.era_start == before:
            self._apart = True  # short trials still show what they did: it is the long ones that differ
        if len(looks) < enough:
            self._model.judge_looks(looks)
        self._natures.append(self._model.nature)
        if self._model.era_start != before:
            self._forgive()
        if self._model.nature is Nature.MODES:
            for trace in self._model.current:
                self._excuse(trace)

    def _forgive(self) -> None:
        """What spoke against loads that the SUT is now seen to carry no longer counts."""
        for ledger in self._ledgers:
            estimate = self._model.threshold(ledger)
            if estimate is None:
                continue
            for index in ledger.high_loss_indices(estimate.load_pps):
                if index < self._model.current[0].index:
                    ledger.set_aside(index)

    # --- settling a goal ---

    def _settle(self, ledger: Ledger) -> Dialogue:
        for _ in range(TRIALS_MAX):
            if self._found(ledger):
                return
            want = self._want(ledger)
            if want.rule in ("cap", "bisect"):
                yield from self._cap(ledger, want)
            else:
                yield from self._prove(ledger, want)

    def _found(self, ledger: Ledger) -> bool:
        lower_pps, upper_pps = ledger.bounds()
        if lower_pps is None:
            return upper_pps is not None and upper_pps <= self._plan.min_load_pps
        if upper_pps is None:
            return lower_pps >= self._plan.max_load_pps
        narrow = width.between(lower_pps, upper_pps) <= ledger.width_ratio * (1.0 + 1e-9)
        return narrow and not self._lucky(ledger, lower_pps)

    def _lucky(self, ledger: Ledger, lower_pps: float) -> bool:
        """Whether a proof without loss was luck, going by how often frames got lost in other trials."""
        if ledger.goal.loss_ratio > 0.0 or len(ledger.at(lower_pps)) > LUCK_TRIALS:
            return False
        quiet = self._singly(ledger)
        if not any(trace.lost_count > 0 for trace in quiet) or any(is_stall(trace) for trace in quiet):
            return False
        return EventRate(quiet).pass_probability(lower_pps, ledger.full_s) < LUCK

    def _want(self, ledger: Ledger) -> Want:
        lower_pps, upper_pps = ledger.bounds()
        estimate = self._estimate(ledger)
        label = ledger.goal.label
        open_pps = self._undecided(ledger, lower_pps, upper_pps, estimate)
        if open_pps is not None:
            return Want(open_pps, "again", f"{label}: trials at {load_text(open_pps)} did not agree yet")
        if lower_pps is not None and self._lucky(ledger, lower_pps):
            return Want(lower_pps, "again", f"{label}: {load_text(lower_pps)} may have been luck, trying it once more")
        if estimate is None:
            return self._want_blind(ledger, lower_pps, upper_pps)
        if upper_pps is not None and estimate.load_pps >= upper_pps:
            return self._want_lower(ledger, lower_pps, upper_pps)
        if lower_pps is not None and estimate.load_pps <= lower_pps:
            return self._want_higher(ledger, lower_pps, upper_pps)
        return self._want_estimated(ledger, lower_pps, upper_pps, estimate)

    def _want_estimated(
        self, ledger: Ledger, lower_pps: float | None, upper_pps: float | None, estimate: Estimate
    ) -> Want:
        """Just below the estimate first, then just above what was proven."""
        label, wide = ledger.goal.label, ledger.width_ratio
        if estimate.sd_ratio > COARSE * wide and lower_pps is not None and upper_pps is not None:
            return Want((lower_pps * upper_pps) ** 0.5, "bisect", f"{label}: no more is known, halving the interval")
        # Where no trial may fail, their scatter counts; where half of them may, only how well their middle is known.
        spread = estimate.sd_ratio / (1.0 if ledger.goal.exceed_ratio == 0.0 else estimate.trial_count**0.5)
        margin = max(MARGIN * wide, min(0.7 * spread, 2.0 * wide) if estimate.near else 0.0)
        target_pps = self._clamped(estimate.load_pps * (1.0 - margin))
        about = load_text(estimate.load_pps)
        if lower_pps is not None:
            above_pps = min(width.above(lower_pps, wide), self._plan.max_load_pps)
            if above_pps > estimate.load_pps or lower_pps >= target_pps:
                return Want(above_pps, "cap", f"{label}: {load_text(lower_pps)} is good, one width above it")
        if upper_pps is not None:
            below_pps = width.below(upper_pps, wide)
            if target_pps < below_pps <= estimate.load_pps * (1.0 - 0.05 * wide):
                target_pps = self._clamped(below_pps * (1.0 + 1e-9))
        return Want(target_pps, "prove", f"{label}: the threshold is expected at {about}, proving a load just below")

    def _want_lower(self, ledger: Ledger, lower_pps: float | None, upper_pps: float) -> Want:
        """The estimate has been refuted from above: step down from there, ever faster."""
        failures = self._failures.get(ledger.goal.label, 0)
        step = width.times(ledger.width_ratio, min(2.0 ** max(0, failures - 1), 1e4))
        load_pps = self._clamped(width.below(upper_pps, step))
        if lower_pps is not None and load_pps <= width.above(lower_pps, 0.3 * ledger.width_ratio):
            load_pps = (lower_pps * upper_pps) ** 0.5
        return Want(
            load_pps, "step-down", f"{ledger.goal.label}: {load_text(upper_pps)} lost too much, stepping down from it"
        )

    def _want_higher(self, ledger: Ledger, lower_pps: float, upper_pps: float | None) -> Want:
        step = width.times(ledger.width_ratio, 2.0 ** min(10, self._passes.get(ledger.goal.label, 0)))
        load_pps = min(width.above(lower_pps, step), self._plan.max_load_pps)
        if upper_pps is not None and load_pps >= width.below(upper_pps, 0.3 * ledger.width_ratio):
            load_pps = (lower_pps * upper_pps) ** 0.5
        return Want(load_pps, "step-up", f"{ledger.goal.label}: {load_text(lower_pps)} is good, better than expected")

    def _want_blind(self, ledger: Ledger, lower_pps: float | None, upper_pps: float | None) -> Want:
        """Nothing has been overloaded yet."""
        label, low, high = ledger.goal.label, self._plan.min_load_pps, self._plan.max_load_pps
        if upper_pps is None:
            return Want(high, "extreme", f"{label}: nothing was lost so far, proving the highest load")
        if lower_pps is None:
            return self._want_lower(ledger, lower_pps, upper_pps) if upper_pps > low else Want(low, "extreme", label)
        return Want((lower_pps * upper_pps) ** 0.5, "bisect", f"{label}: halving the interval")

    def _undecided(
        self, ledger: Ledger, lower_pps: float | None, upper_pps: float | None, estimate: Estimate | None
    ) -> float | None:
        """A load between the bounds, and near the threshold, that was tried and is not decided."""
        for load_pps in sorted(self._targets[ledger.goal.label]):
            inside = load_pps > (lower_pps or 0.0) and (upper_pps is None or load_pps < upper_pps)
            steady = self._model.nature is Nature.STABLE and self._model.era_start == 0
            near = steady or not estimate or width.between(load_pps, estimate.load_pps) < NEARBY * ledger.width_ratio
            if inside and near and ledger.at(load_pps) and ledger.classification(load_pps).undecided:
                return load_pps
        return None

    def _estimate(self, ledger: Ledger) -> Estimate | None:
        """The lowest of what overload, stalls and single losses say."""
        overload = self._model.threshold(ledger)
        if ledger.goal.loss_ratio > 0.0:
            return overload
        lower_pps, _ = ledger.bounds()
        top_pps = overload.load_pps if overload else self._plan.max_load_pps
        quiet = self._singly(ledger)
        losing = [trace for trace in quiet if trace.lost_count > 0]
        if not losing:
            return overload
        lowest_pps = min(trace.load_pps for trace in losing)
        if sum(is_stall(trace) for trace in losing) > len(losing) / 2:
            line = stall_line(losing)
            if line is None:
                return Estimate(lowest_pps / 2.0, 0.5, near=False)
            return Estimate(self._clamped(min(line.free_pps, top_pps)), 0.002, near=True)
        failures = max(1, self._failures.get(ledger.goal.label, 0))
        strict = ledger.goal.exceed_ratio == 0.0
        hoped = min(0.9, 1.0 - 0.6**failures) if strict else 0.5
        even_pps = EventRate(quiet).load_pps(hoped, ledger.full_s, self._plan.min_load_pps, lowest_pps)
        if all(trace.lost_count > HASTY_FRAMES for trace in losing):
            reach = width.times(ledger.width_ratio, 4.0 ** len(losing))
            even_pps = max(even_pps, width.below(lowest_pps, reach))
        elif strict and lower_pps is None:
            even_pps = min(even_pps, width.below(lowest_pps, width.times(ledger.width_ratio, 2.0 ** (failures - 1))))
        return Estimate(self._clamped(even_pps), 0.002, near=True)

    def _singly(self, ledger: Ledger) -> list[Trace]:
        """Trials that tell how often frames get lost below the capacity.

        Once proofs just below the capacity have failed again and again there is no hard limit, and all trials do.
        """
        if self._overloads.get(ledger.goal.label, 0) >= 2:
            return [trace for trace in self._model.current if trace.loss_ratio < 0.01]
        overload = self._model.threshold(ledger)
        top_pps = overload.load_pps if overload else self._plan.max_load_pps
        return [t for t in self._model.current if not t.overloaded and t.load_pps <= top_pps * 1.001]

    # --- trials ---

    def _prove(self, ledger: Ledger, want: Want) -> Dialogue:
        estimate = self._estimate(ledger)
        load_pps = want.load_pps
        wanted_s = self._deciding_s(ledger, load_pps)
        asked_s = min(wanted_s, self._fair_share_s())
        trace = yield from self._measure(want, asked_s, self._proof_stop(ledger, load_pps, asked_s), ledger.goal.label)
        label = ledger.goal.label
        if trace.stopped and trace.loss_ratio <= ledger.goal.loss_ratio:
            yield from self._look_again(f"{load_text(load_pps)} loses less than expected: where is the limit")
            return
        if asked_s < wanted_s and trace.loss_ratio <= ledger.goal.loss_ratio:
            ledger.accept(load_pps, trace.index)
            return
        self._check_apart(ledger, trace)
        self._decide_early(ledger, trace)
        _, upper_pps = ledger.bounds()
        if ledger.classification(load_pps).undecided and upper_pps != load_pps:
            return
        if upper_pps == load_pps:
            self._failures[label] = self._failures.get(label, 0) + 1
            self._overloads[label] = self._overloads.get(label, 0) + trace.overloaded
            self._passes[label] = 0
            yield from self._reconsider(ledger, trace, estimate)
            return
        self._failures[label] = 0
        self._passes[label] = self._passes.get(label, 0) + 1
        if trace.overloaded and not trace.steady and trace.tail_pps[-1] > trace.tail_pps[0]:
            self._model.nature = Nature.RISING
            self._natures.append(Nature.RISING)
        if self._model.nature is Nature.RISING:
            self._forget_failures_before(trace)

    def _forget_failures_before(self, proof: Trace) -> None:
        """While the SUT is getting better, failures from before a proof say nothing about what is above it."""
        for ledger in self._ledgers:
            for index in ledger.high_loss_indices(proof.load_pps * 1.2):
                if index < proof.index:
                    ledger.set_aside(index)

    def _reconsider(self, ledger: Ledger, trace: Trace, estimate: Estimate | None) -> Dialogue:
        """A proof failed by far: was it this trial, or is the SUT no longer what it was?"""
        if estimate is None or not estimate.near or not trace.overloaded or (trace.first_lossy or 0) > 1:
            return
        threshold_pps = trace.threshold_pps(ledger.goal.loss_ratio, 0.0)
        if width.between(threshold_pps, estimate.load_pps) < max(2.0 * ledger.width_ratio, 4.0 * estimate.sd_ratio):
            return
        if self._model.nature is not Nature.MODES and self._renewals < RENEWALS_MAX:
            yield from self._look_again(f"trial {trace.index} did far worse than expected: is that typical")
        if trace.index in ledger.aside:
            self._failures[ledger.goal.label] = 0

    def _excuse(self, trace: Trace) -> None:
        """Set a trial aside that ran in a mode which is the exception."""
        if self._model.nature is Nature.MODES and self._model.is_slow_exception(trace):
            for ledger in self._ledgers:
                if ledger.goal.exceed_ratio == 0.0 or ledger.part_count(trace) > 1:
                    ledger.set_aside(trace.index)

    def _proof_stop(self, ledger: Ledger, load_pps: float, asked_s: float) -> StopRule | None:
        """Watch a loss where none is allowed, stop where the verdict is certain, give up where it is pointless."""
        single = asked_s <= ledger.full_s * 1.001 and ledger.goal.exceed_ratio == 0.0
        ratio = ledger.goal.loss_ratio
        quiet_s, quiet_count = None, 1
        estimate = self._model.threshold(ledger)
        if ratio > 0.0 and estimate and self._renewals < RENEWALS_MAX and self._model.nature in PREDICTABLE:
            expected = self._model.expected_lost(load_pps, QUIET_S)
            if expected > 100.0 and asked_s > 2.0 * QUIET_S:
                quiet_s, quiet_count = QUIET_S, max(1, int(0.25 * expected))
        if not single:
            hopeless_s = EARLY_PARTS * ledger.full_s if ratio == 0.0 and asked_s > 2.0 * ledger.full_s else None
            return StopRule(after_loss_s=hopeless_s, quiet_s=quiet_s, quiet_lost_count=quiet_count)
        if ratio == 0.0:
            return StopRule(after_loss_s=WATCH_S)
        return StopRule(lost_count=int(ratio * load_pps * asked_s) + 1, quiet_s=quiet_s, quiet_lost_count=quiet_count)

    def _cap(self, ledger: Ledger, want: Want) -> Dialogue:
        """Show that a load loses too much: briefly if a moment can show it, else at full length."""
        key = (ledger.goal.label, want.load_pps)
        tried = self._capped.get(key, 0)
        self._capped[key] = tried + 1
        strict = ledger.goal.exceed_ratio == 0.0
        if strict and tried == 0 and ledger.goal.loss_ratio > 0.0 and self._shows_soon(ledger, want.load_pps):
            trace = yield from self._measure(want, ledger.full_s, StopRule(elapsed_s=CAP_S), ledger.goal.label)
            yield from self._surprised(ledger, trace)
            return
        if not strict and tried == 0:
            yield from self._cap_early(ledger, want)
            return
        asked_s = self._deciding_s(ledger, want.load_pps)
        stop = None
        if strict and ledger.goal.loss_ratio == 0.0:
            stop = StopRule(after_loss_s=WATCH_S)
        elif strict:
            stop = StopRule(lost_count=int(ledger.goal.loss_ratio * want.load_pps * asked_s))
        trace = yield from self._measure(want, asked_s, stop, ledger.goal.label)
        self._check_apart(ledger, trace)

    def _cap_early(self, ledger: Ledger, want: Want) -> Dialogue:
        """Where many trials decide a load: enough of them to be sure that the rest would lose too much as well."""
        asked_s = ledger.full_s * (1 if self._one_by_one(ledger, want.load_pps) else EARLY_PARTS)
        trace = yield from self._measure(want, asked_s, None, ledger.goal.label)
        self._decide_early(ledger, trace)
        if self._shows_soon(ledger, want.load_pps):
            yield from self._surprised(ledger, trace)

    def _surprised(self, ledger: Ledger, trace: Trace) -> Dialogue:
        """A load that was sure to lose too much did not."""
        if trace.loss_ratio > ledger.goal.loss_ratio or self._model.nature not in PREDICTABLE:
            return
        if self._renewals < RENEWALS_MAX:
            yield from self._look_again(f"{load_text(trace.load_pps)} loses less than expected: where is the limit")

    def _decide_early(self, ledger: Ledger, trace: Trace) -> None:
        """Take a load for an upper bound once enough trials in a row have lost too much."""
        if ledger.goal.exceed_ratio == 0.0 or self._model.nature is not Nature.STABLE:
            return
        clear_ratio = ledger.goal.loss_ratio * CLEAR_EXCESS
        steady = trace.overloaded and trace.steady
        needed = EARLY_PARTS if steady else EARLY_PARTS_SINGLY
        latest = [each.loss_ratio for each in ledger.at(trace.load_pps)][-needed:]
        if len(latest) == needed and min(latest) > clear_ratio:
            ledger.decide_early(trace.load_pps, trace.index)

    def _deciding_s(self, ledger: Ledger, load_pps: float) -> float:
        """How long to offer a load so that it is decided, if possible by this one trial."""
        if self._one_by_one(ledger, load_pps):
            return ledger.full_s
        return ledger.missing_s(load_pps) if ledger.at(load_pps) else ledger.decision_s()

    def _one_by_one(self, ledger: Ledger, load_pps: float) -> bool:
        """Whether a long trial cannot stand for several short ones.

        Each of these would find the buffer empty, or would have another capacity.
        """
        varies = self._model.nature in (Nature.MODES, Nature.SCATTERED)
        return self._apart or varies or self._model.buffer_matters(load_pps, ledger.full_s)

    def _check_apart(self, ledger: Ledger, trace: Trace) -> None:
        """A SUT that changes in the course of a long trial would not have changed in short ones."""
        ratios = trace.ratios(ledger.part_count(trace))
        if len(ratios) >= 4 and trace.overloaded and not trace.steady:
            self._apart = True

    def _shows_soon(self, ledger: Ledger, load_pps: float) -> bool:
        """Whether a short trial is expected to lose clearly more than the goal allows."""
        lost = self._model.expected_lost(load_pps, CAP_S, unsent=True)
        return lost > 1.15 * ledger.goal.loss_ratio * load_pps * CAP_S

    def _measure(self, want: Want, asked_s: float, stop: StopRule | None, label: str) -> Measuring:
        asked_s = min(asked_s, self._left_s())
        if asked_s < WATCH_S:
            raise OutOfTime
        load_pps = self._clamped(want.load_pps)
        if label:
            self._targets[label].add(load_pps)
        trial = Trial(
            intended_load_pps=load_pps, duration_s=asked_s, stop=stop, reason=want.reason, goal=label, rule=want.rule
        )
        outcome = yield trial
        trace = read(outcome, load_pps, asked_s)
        self._now_s = max(self._now_s, outcome.started_s) + trace.elapsed_s + self._plan.overhead_s
        self._model.learn(trace)
        for ledger in self._ledgers:
            ledger.add(trace, self._model.expected_ratio(trace, ledger.full_s))
        self._excuse(trace)
        return trace

    def _fair_share_s(self) -> float:
        """How long a proof may take, so that time is left for as long a one of each other goal."""
        unsettled = max(1, sum(not self._found(ledger) for ledger in self._ledgers))
        return max(SHORT_PROOF_S, self._left_s() / unsettled - self._plan.overhead_s - CAP_S)

    def _left_s(self) -> float:
        return self._plan.search_duration_max_s - self._now_s - self._plan.overhead_s

    def _clamped(self, load_pps: float) -> float:
        return min(self._plan.max_load_pps, max(self._plan.min_load_pps, load_pps))

    # --- what is known ---

    def intervals(self) -> tuple[Interval, ...]:
        """Relevant bounds by the classification of RFC 9971, with how sure they are and every deviation from it."""
        return tuple(self._interval(ledger) for ledger in self._ledgers)

    def findings(self) -> tuple[Flag, ...]:
        """What the trials show of the SUT beyond the goals."""
        return tuple(findings(self._model, self._natures))

    def _interval(self, ledger: Ledger) -> Interval:
        low, high = self._plan.min_load_pps, self._plan.max_load_pps
        interval = goal_interval(ledger.goal, ledger.counted(), low, high)
        lower_pps, upper_pps = ledger.bounds()
        estimate = self._estimate(ledger)
        update: dict[str, object] = {}
        flags = list(interval.flags)
        if upper_pps is not None and ledger.is_early(upper_pps):
            update |= {
                "upper_load_pps": upper_pps,
                "upper_index": ledger.at(upper_pps)[-1].trial_index,
                "upper_valid": True,
                "final": lower_pps is not None,
            }
            flags = [flag for flag in flags if flag.code != "undecided-upper-bound"]
            flags.append(_early_flag(ledger, upper_pps))
        if lower_pps is not None and ledger.is_accepted(lower_pps):
            update |= {
                "lower_load_pps": lower_pps,
                "lower_index": ledger.accepted[lower_pps],
                "lower_valid": True,
                "final": False,
            }
            flags = [flag for flag in flags if flag.code != "undecided-lower-bound"]
            flags.append(self._accepted_flag(ledger, lower_pps))
        if estimate and estimate.near:
            update |= {"estimate_pps": estimate.load_pps, "estimate_sd_pps": estimate.load_pps * estimate.sd_ratio}
        if lower_pps is not None:
            trace = self._longest_at(lower_pps)
            update |= {
                "lower_error_probability": self._misclassified(ledger, lower_pps, estimate, lower=True),
                "loss_ratio_limit": loss_ratio_limit(trace) if trace else None,
            }
        if upper_pps is not None:
            update["upper_error_probability"] = self._misclassified(ledger, upper_pps, estimate, lower=False)
        flags += [*self._deviations(ledger), *self._flags]
        return interval.model_copy(update=update | {"flags": tuple(flags)})

    def _misclassified(
        self, ledger: Ledger, load_pps: float, estimate: Estimate | None, *, lower: bool
    ) -> float | None:
        quiet = self._singly(ledger) if ledger.goal.loss_ratio == 0.0 else []
        if any(trace.lost_count > 0 for trace in quiet) and not any(is_stall(trace) for trace in quiet):
            meets = lossless_probability(EventRate(quiet), load_pps, ledger.full_s)
        elif estimate and estimate.near:
            meets = above_probability(estimate, load_pps)
        else:
            return None
        return 1.0 - meets if lower else meets

    def _accepted_flag(self, ledger: Ledger, lower_pps: float) -> Flag:
        trace = next(t for t in self._model.traces if t.index == ledger.accepted[lower_pps])
        text = f"At {load_text(lower_pps)} the trial took {trace.elapsed_s:.3g} s of the {ledger.full_s:g} s asked"
        found = self._earlier(ledger)
        if found and found.lower_pps == lower_pps:
            return Flag(code="earlier-lower-bound", text=f"{text}; the rest is the earlier result's word.")
        return Flag(code="short-lower-bound", text=f"{text}, as time was short: not proven.")

    def _longest_at(self, load_pps: float) -> Trace | None:
        at_load = [trace for trace in self._model.traces if trace.load_pps == load_pps]
        return max(at_load, key=lambda trace: trace.elapsed_s, default=None)

    def _deviations(self, ledger: Ledger) -> Iterator[Flag]:
        """Where the evidence is not what RFC 9971 would have counted."""
        if ledger.aside:
            listed = ", ".join(f"#{index}" for index in sorted(ledger.aside))
            yield Flag(
                code="trials-set-aside",
                text=f"Trials {listed} lost too much but were set aside, as the SUT did better before or since then.",
            )
        if ledger.in_parts:
            yield Flag(
                code="parts-as-trials",
                text=f"Parts of {ledger.full_s:g} s of longer trials count as trials: no pause came between them.",
            )


def _early_flag(ledger: Ledger, upper_pps: float) -> Flag:
    seconds = sum(each.effective_s for each in ledger.at(upper_pps))
    return Flag(
        code="early-upper-bound",
        text=f"{load_text(upper_pps)} was taken for an upper bound after {seconds:.3g} s of trials that all lost too "
        f"much, of the {ledger.sum_s * ledger.goal.exceed_ratio:.3g} s that would decide it.",
    )
