"""Sentences that explain why the result of a goal ends where it does, by code."""

from collections.abc import Mapping

UNSENT = (
    "At {load_pps:pps} only {offered_count:count} of {intended_count:count} frames could be sent, and the SUT lost "
    "{lost_count:count} of these: "
)

EXPLANATIONS: Mapping[str, tuple[str, ...]] = {
    "max-load": ("The goal is still met at the highest load allowed, {load_pps:pps}.",),
    "min-load": (
        "Even at the lowest load allowed, {load_pps:pps}, {loss_ratio:ratio} was lost where {allowed_ratio:ratio} is "
        "allowed.",
    ),
    "estimate": ("This is an estimate; the search does not look for bounds.",),
    "ended-without-lower": ("The search ended before it had a lower bound.",),
    "ended-without-upper": ("The search ended before it had an upper bound.",),
    "ended-without-bounds": ("The search ended before it had any bounds.",),
    "sut-lost": (
        "At {load_pps:pps} the SUT lost {lost_count:count} of {offered_count:count} frames ({loss_ratio:ratio}) where "
        "{allowed_ratio:ratio} is allowed, as in {high_loss_count} of {trial_count} trials at this load.",
        "At {load_pps:pps} the SUT lost {lost_count:count} of {offered_count:count} frames ({loss_ratio:ratio}) where "
        "{allowed_ratio:ratio} is allowed.",
    ),
    "sut-lost-early": (
        "At {load_pps:pps} the SUT lost {lost_count:count} of {offered_count:count} frames within "
        "{duration_s:duration}, which comes to more than the {allowed_ratio:ratio} allowed in {full_s:duration}.",
    ),
    "sut-lost-in-parts": (
        "At {load_pps:pps} the SUT lost {lost_count:count} of {offered_count:count} frames ({loss_ratio:ratio}) in "
        "{duration_s:duration}, and more than the {allowed_ratio:ratio} allowed in parts of {full_s:duration}.",
    ),
    "shared-cpu": (
        UNSENT + "on veth the kernel does the SUT's work on the sender's CPU, so overload appears as frames not sent, "
        "not as loss.",
    ),
    "tester-short": (UNSENT + "the tester was the limit, the SUT may forward more.",),
}
