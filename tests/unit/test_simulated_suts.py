"""Simulated SUTs: they behave as their truth states, and remember their own trials only."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nodrop.errors import ConfigError
from nodrop.model.trial import StopClause, StopRule, Trial
from nodrop.simulation import SUTS, Sut, create
from nodrop.simulation.offer import OfferedTrial, offer_trial
from nodrop.simulation.stationary import DeepBuffer, HardLimit, LossFloor
from nodrop.simulation.varying_capacity import Drift, WarmUp

LOADS_PPS = (20_000.0, 1e6, 4.5e6, 8.4e6, 9.09e6, 9.2e6, 30e6)
SETTLED_S = 10_000.0
"""All warm-ups and drifts are over by this time."""


def offer(sut: Sut, load_pps: float, duration_s: float, start_s: float, stop: StopRule | None = None) -> OfferedTrial:
    return offer_trial(sut, Trial(intended_load_pps=load_pps, duration_s=duration_s, stop=stop), start_s)


def ratio_met(sut: Sut, load_pps: float, loss_ratio: float, duration_s: float, trial_count: int = 100) -> float:
    """Return how many of these independent trials meet the ratio, with starts spread over all phases."""
    met, start_s = 0, SETTLED_S
    for position in range(trial_count):
        met += offer(sut, load_pps, duration_s, start_s).loss_ratio <= loss_ratio
        start_s += duration_s + 0.5 + position * math.sqrt(2) % 3
    return met / trial_count


GRADUAL = {
    "loss-floor": 0.5,
    "loss-floor-rare": 0.5,
    "smooth-knee": 0.02,
    "noisy-capacity": 0.012,
    "noisy-windows": 0.01,
    "two-modes-time": 0.02,
}
"""Relative distance from its truth beyond which a SUT clearly meets or misses a ratio, if not half a percent."""


@pytest.mark.parametrize("duration_s", [5.0, 30.0])
@pytest.mark.parametrize("loss_ratio", [0.0, 0.005])
@pytest.mark.parametrize("name", SUTS)
def test_half_of_all_trials_or_more_meet_a_ratio_up_to_the_truth_and_fewer_above(
    name: str, loss_ratio: float, duration_s: float
) -> None:
    sut = SUTS[name](7)
    truth_pps = sut.truth_pps(loss_ratio, duration_s)
    margin = GRADUAL.get(name, 0.005)
    if math.isinf(truth_pps):
        assert ratio_met(sut, 1e9, loss_ratio, duration_s) == 1
    elif truth_pps == 0:
        assert ratio_met(sut, 1.0, loss_ratio, duration_s) == 0
    else:
        assert ratio_met(sut, truth_pps * (1 - margin), loss_ratio, duration_s) > 0.5
        assert ratio_met(sut, truth_pps * (1 + margin), loss_ratio, duration_s) < 0.5


@pytest.mark.parametrize(
    ("name", "loss_ratio", "truth_pps"),
    [
        ("hard-limit", 0.0, 9.1e6),
        ("hard-limit", 0.005, 9.1e6 / 0.995),
        ("stall-random", 0.0, 4096 / 0.001),
        ("stall-periodic", 0.0, 4096 / 0.001),
        ("deep-buffer", 0.0, 9.1e6 + 2e6 / 30),
        ("two-modes-trial", 0.0, 9.1e6),
        ("two-modes-time", 0.0, 8.3e6),
        ("degrading", 0.0, 9.1e6 * 0.96),
        ("loss-floor", 0.0, math.log(2) / 30e-6),
        ("tester-overload", 0.0, 20e6),
        ("tester-overload-above", 0.0, 9.1e6),
        ("warm-up", 0.0, 9.1e6),
        ("drift", 0.0, 9.1e6 * 0.97),
        ("loss-inversion", 0.0, 9.1e6),
        ("duration-dependent", 0.0, 9.0e6),
        ("dead-link", 0.005, 0.0),
        ("perfect-link", 0.0, math.inf),
    ],
)
def test_truths_that_can_be_worked_out_by_hand(name: str, loss_ratio: float, truth_pps: float) -> None:
    assert SUTS[name](1).truth_pps(loss_ratio, 30.0) == pytest.approx(truth_pps, rel=1e-4)


@pytest.mark.parametrize("make", SUTS.values(), ids=SUTS)
def test_the_same_seed_and_trials_give_the_same_counts(make: Callable[[int], Sut]) -> None:
    def counts(seed: int) -> list[OfferedTrial]:
        sut = make(seed)
        return [offer(sut, load_pps, 1.0, start_s) for start_s, load_pps in enumerate(LOADS_PPS)]

    assert counts(3) == counts(3)


@pytest.mark.parametrize("name", ["noisy-capacity", "noisy-windows", "stall-random", "two-modes-time", "smooth-knee"])
def test_another_seed_gives_other_counts(name: str) -> None:
    assert offer(SUTS[name](1), 9.3e6, 30.0, 0.0) != offer(SUTS[name](2), 9.3e6, 30.0, 0.0)


@pytest.mark.parametrize("make", SUTS.values(), ids=SUTS)
def test_windows_count_whole_frames_since_the_start_and_lose_no_more_than_was_offered(
    make: Callable[[int], Sut],
) -> None:
    sut = make(3)
    for start_s, load_pps in enumerate(LOADS_PPS):
        trial = offer(sut, load_pps, 0.93, 2.0 * start_s)
        assert trial.end_s == sorted(trial.end_s)
        assert trial.end_s[-1] == 0.93
        assert trial.offered_count == sorted(trial.offered_count)
        assert trial.lost_count == sorted(trial.lost_count)
        assert all(isinstance(count, int) for count in (*trial.offered_count, *trial.lost_count))
        assert all(0 <= lost <= sent for lost, sent in zip(trial.lost_count, trial.offered_count, strict=True))


@pytest.mark.parametrize(
    ("stop", "clause", "elapsed_s"),
    [
        (StopRule(lost_count=90_000), "lost_count", 0.1),
        (StopRule(after_loss_s=0.2), "after_loss", 0.25),
        (StopRule(elapsed_s=0.3), "elapsed", 0.3),
        (StopRule(quiet_s=0.2, quiet_lost_count=10**9), "quiet", 0.2),
        (StopRule(quiet_s=0.2), None, 1.0),
        (StopRule(lost_count=10**9), None, 1.0),
        (StopRule(elapsed_s=1.0), None, 1.0),
    ],
)
def test_a_trial_stops_at_the_end_of_the_first_window_in_which_its_rule_says_so(
    stop: StopRule, clause: StopClause | None, elapsed_s: float
) -> None:
    trial = offer(HardLimit(capacity_pps=9e6), 10e6, 1.0, 0.0, stop)
    assert trial.stopped_by == clause
    assert trial.elapsed_s == pytest.approx(elapsed_s)
    assert trial.lost_count[-1] == round(1e6 * elapsed_s)


def test_a_buffer_holds_what_it_held_when_a_trial_was_stopped() -> None:
    sut = DeepBuffer(capacity_pps=9e6, buffer_count=2e6)
    offer(sut, 10e6, 30.0, 0.0, StopRule(elapsed_s=1.5))
    trial = offer(sut, 10e6, 1.0, 1.5)
    assert trial.lost_count[-1] == 500_000


def test_a_buffer_is_worked_off_between_trials() -> None:
    sut = DeepBuffer(capacity_pps=9e6, buffer_count=2e6)
    offer(sut, 10e6, 2.0, 0.0)
    assert offer(sut, 10e6, 2.0, 2.1).lost_count[-1] == 2_000_000 - 900_000
    assert offer(sut, 10e6, 2.0, 60.0).lost_count[-1] == 0


@pytest.mark.parametrize("name", ["noisy-windows", "stall-periodic", "stall-random", "two-modes-time", "drift"])
def test_what_changes_by_itself_is_the_same_whatever_was_offered_before(name: str) -> None:
    undisturbed, disturbed = SUTS[name](5), SUTS[name](5)
    offer(disturbed, 20e6, 30.0, 0.0, StopRule(lost_count=0))
    offer(disturbed, 9.0e6, 7.3, 3.1)
    assert offer(disturbed, 9.2e6, 20.0, 40.0) == offer(undisturbed, 9.2e6, 20.0, 40.0)


def test_a_stall_loses_what_the_buffer_cannot_hold() -> None:
    trial = offer(SUTS["stall-periodic"](1), 5e6, 2.0, 0.0)
    assert trial.lost_count[-1] == 5_000 - 4_096


def test_a_sut_warms_up_by_the_time_on_the_wall() -> None:
    sut = WarmUp(capacity_pps=10e6, cold_ratio=0.1, warm_up_s=20.0)
    colds = [offer(sut, 10e6, 1.0, start_s).loss_ratio for start_s in (0.0, 20.0, 40.0)]
    assert colds == pytest.approx([0.1 / math.e**power for power in (0.025, 1.025, 2.025)], rel=0.01)
    assert sut.truth_pps(0.0, 1.0, at_s=20.0) == pytest.approx(10e6 * (1 - 0.1 / math.e))


def test_a_drift_is_true_to_the_time() -> None:
    sut = Drift(capacity_pps=10e6, fall_ratio=0.03, fall_s=300.0)
    assert sut.truth_pps(0.0, 30.0, at_s=120.0) == pytest.approx(10e6 * (1 - 0.03 / 2))


def test_a_tester_that_cannot_send_leaves_frames_unsent_and_none_lost() -> None:
    trial = offer(SUTS["tester-overload"](1), 25e6, 1.0, 0.0)
    assert (trial.offered_count[-1], trial.lost_count[-1], trial.unsent_count) == (20_000_000, 0, 5_000_000)
    assert trial.loss_ratio == 0.2


def test_random_loss_has_the_mean_and_the_spread_of_a_poisson_process() -> None:
    sut = LossFloor(floor_ratio=1e-6, seed=1)
    counts = [offer(sut, 1e6, 10.0, 20.0 * position).lost_count[-1] for position in range(300)]
    mean = sum(counts) / len(counts)
    variance = sum((count - mean) ** 2 for count in counts) / len(counts)
    assert mean == pytest.approx(10.0, abs=0.6)
    assert variance == pytest.approx(10.0, abs=2.5)


def test_parameters_make_other_suts() -> None:
    assert create("hard-limit", 1, {"capacity_pps": 5e6}).truth_pps(0.0, 30.0) == 5e6


@pytest.mark.parametrize(
    ("name", "parameters", "complaint"),
    [
        ("soft-limit", {}, r"unknown simulated SUT 'soft-limit'; choose one of hard-limit, "),
        ("drift", {"seed": 1.0}, r"unknown parameter 'seed' of the simulated SUT drift; choose from capacity_pps, "),
    ],
)
def test_suts_and_parameters_there_are_none_of_are_refused(
    name: str, parameters: dict[str, float], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        create(name, 1, parameters)


def test_the_reference_page_has_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/simulated-suts.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE) == list(SUTS)
