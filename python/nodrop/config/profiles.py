"""Ready-made answers to how long and how precisely to search."""

from typing import Literal, NamedTuple

ProfileName = Literal["quick", "standard"]


class Profile(NamedTuple):
    """Values for every `search` and `latency` key that a user leaves out."""

    initial_trial_duration_s: float
    final_trial_duration_s: float
    width_ratio: float
    intermediate_phases: int
    expansion_coefficient: float
    search_duration_max_s: float
    repeat_invalid: int
    latency_trial_duration_s: float


PROFILES: dict[ProfileName, Profile] = {
    # An answer in about a minute.
    "quick": Profile(
        initial_trial_duration_s=0.5,
        final_trial_duration_s=5.0,
        width_ratio=0.01,
        intermediate_phases=1,
        expansion_coefficient=4.0,
        search_duration_max_s=180.0,
        repeat_invalid=2,
        latency_trial_duration_s=3.0,
    ),
    # The inputs FD.io CSIT uses. Source: draft-ietf-bmwg-mlrsearch-01 section 5.1.1.
    "standard": Profile(
        initial_trial_duration_s=1.0,
        final_trial_duration_s=30.0,
        width_ratio=0.005,
        intermediate_phases=2,
        expansion_coefficient=4.0,
        search_duration_max_s=600.0,
        repeat_invalid=2,
        latency_trial_duration_s=10.0,
    ),
}
