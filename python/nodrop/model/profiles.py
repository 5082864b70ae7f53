"""Profiles: presets for durations and precision of searches."""

from typing import NamedTuple

from nodrop.model.choices import AlgorithmName, ProfileName

DEFAULT_ALGORITHM: AlgorithmName = "nodrop"

TIME_LIMITED_SEARCHES: frozenset[AlgorithmName] = frozenset({"plrsearch"})
"""Searches that always use the entire time limit; reaching it is not a failure."""

BACK_TO_BACK: AlgorithmName = "back-to-back"
PRESCRIBED_SEARCHES: frozenset[AlgorithmName] = frozenset({"frame-loss-rate", BACK_TO_BACK})
"""Tests of RFC 2544 whose trials are prescribed: no profile limits their time."""
PRESCRIBED_MAX_S = 604_800.0
"""Time limit of these if no key sets one."""


class SearchProfile(NamedTuple):
    """Defaults of the `search` and `latency` keys."""

    initial_trial_duration_s: float
    final_trial_duration_s: float
    width_ratio: float
    search_duration_max_s: float
    latency_trial_duration_s: float
    algorithm: AlgorithmName = DEFAULT_ALGORITHM
    duration_sum_s: float = 0.0
    """Never less than the final trial duration."""
    exceed_ratio: float = 0.0
    intermediate_phases: int = 2
    expansion_coefficient: float = 4.0
    repeat_invalid: int = 2
    overhead_s: float = 0.5
    """Time of a trial in addition to sending."""


PROFILES: dict[ProfileName, SearchProfile] = {
    # An answer in about a minute.
    "quick": SearchProfile(
        initial_trial_duration_s=0.5,
        final_trial_duration_s=5.0,
        width_ratio=0.01,
        intermediate_phases=1,
        search_duration_max_s=180.0,
        latency_trial_duration_s=3.0,
    ),
    # The inputs FD.io CSIT used. Source: draft-ietf-bmwg-mlrsearch-01 section 5.1.1.
    "standard": SearchProfile(
        initial_trial_duration_s=1.0,
        final_trial_duration_s=30.0,
        width_ratio=0.005,
        search_duration_max_s=600.0,
        latency_trial_duration_s=10.0,
    ),
    # The goals FD.io CSIT has since. Source: defaults of MLRsearch 1.2.1 (SearchGoal, Config); overhead as in CSIT.
    "csit": SearchProfile(
        algorithm="mlrsearch-rfc9971",
        initial_trial_duration_s=1.0,
        final_trial_duration_s=1.0,
        duration_sum_s=21.0,
        exceed_ratio=0.5,
        width_ratio=0.005,
        expansion_coefficient=2.0,
        search_duration_max_s=1200.0,
        overhead_s=0.5,
        latency_trial_duration_s=10.0,
    ),
}
