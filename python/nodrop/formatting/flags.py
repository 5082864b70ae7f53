"""Sentences of flags, by code: what a reader of a result has to know in addition to the bounds."""

from collections.abc import Iterator, Mapping

DISTURBANCES: Mapping[str, str] = {
    "tester_preempted": "other work kept the tester off its CPU",
    "sut_preempted": "other work kept the SUT off its CPU",
    "disturbed": "other work took the CPU from tester or SUT",
    "held_up": "the tester was stalled",
    "sender_late": "the tester fell behind its schedule",
    "sender_stalled": "the tester's sender stalled",
    "receiver_starved": "the tester's receiver got too little CPU time",
    "tester_drops": "the tester itself dropped frames",
    "cpu_steal": "the underlying hypervisor took CPU time (steal)",
}
"""Disturbances of trials, by code of the doubt; each completes `trials in which ...`."""


def _make_host_check_templates() -> Iterator[str]:
    for trials in ("trial #{trial}", "{trial_count:count} trials"):
        disturbed = f"In {trials} {{disturbance:disturbance}}"
        yield f"{disturbed}. See: nodrop host check {{hypervisor_checks}}, on the machine that runs this one."
        yield f"{disturbed}: {{failures}}. See: nodrop host check {{checks}}."
        yield f"{disturbed}. See: nodrop host check {{checks}}."


FLAGS: Mapping[str, tuple[str, ...]] = {
    "buffer": ("The SUT buffers about {frames:frames} frames ({seconds:ms} at its capacity).",),
    "burst-length": (
        "The longest burst without loss at {rate_pps:load} has {frame_count:.1f} frames each way: {lowest_count:count} "
        "to {highest_count:count} in {repeat_count} repeats, standard deviation {deviation_count:.1f}.",
        "The longest burst without loss at {rate_pps:load} has {frame_count:.0f} frames each way.",
    ),
    "burst-limit": (
        "The longest burst allowed passes at {rate_pps:load}: {frame_count:frame_count} each way, {seconds:duration}. "
        "Longer ones may pass; raise search.burst_max.",
    ),
    "contradictory-goals": (
        "{strict_goal} allows less loss than {goal} and still has a higher bound: this search judges each goal by "
        "itself.",
    ),
    "degenerate": ("Both bounds of {goal} are the same load, {load_pps:load}: they enclose no interval.",),
    "degradation": (
        "In the course of trial {trial} the capacity fell from {begin_pps:load} to {end_pps:load} "
        "({change_ratio:change}) in {seconds:.0f} s.",
    ),
    "doubtful-lower-bound": (
        "By all trials, most at the lower bound would not meet the goal: {probability:percent} likely.",
    ),
    "doubtful-upper-bound": (
        "By all trials, most at the upper bound would meet the goal: {probability:percent} likely.",
    ),
    "drift": (
        "The capacity fell from {first_pps:load} to {last_pps:load} ({change_ratio:change}) in {seconds:.0f} s: "
        "the SUT is drifting.",
        "Values {slope_ratio_per_run:direction} from run to run: the machine or the SUT drifts. Alternating runs "
        "cancel drift.",
    ),
    "earlier-lower-bound": (
        "At {load_pps:load} the trial took {seconds:.3g} s of the {full_s:g} s required; the earlier result vouches "
        "for the rest.",
    ),
    "early-upper-bound": (
        "{load_pps:load} counts as an upper bound after {seconds:.3g} s of trials that all lost too much, of the "
        "{required_s:.3g} s that would decide it.",
    ),
    "estimate-at-highest-load": ("The critical load may lie above the highest load allowed, {load_pps:load}.",),
    "estimate-at-lowest-load": ("The critical load may lie below the lowest load allowed, {load_pps:load}.",),
    "goal-lost": (
        "The {duration_s:seconds} trials for loss ratio {loss_ratio:g} were broken off because the lowest load "
        "allowed, {lowest_pps:load}, already loses too much for {smallest_goal}, which ends the phase for all goals.",
        "The goal is not met even at the lowest load allowed, {lowest_pps:load}.",
    ),
    "host-check": tuple(_make_host_check_templates()),
    "impossible_value": ("{side}: run {run_id}: {doubt}.",),
    "invalid-lower-bound": (
        "{load_pps:load} is not a lower bound of {goal}, only the nearest load measured: its {duration_s:seconds} "
        "trial lost more than {loss_ratio:g} of the frames.",
    ),
    "invalid-upper-bound": (
        "{load_pps:load} is not an upper bound of {goal}, only the nearest load measured: its {duration_s:seconds} "
        "trial lost no more than {loss_ratio:g} of the frames.",
    ),
    "loss-inversion": (
        "A trial at {met_pps:load} met {goal}, which contradicts its bounds: this search never reconsiders a bound.",
        "A trial at {missed_pps:load} did not meet {goal}, which contradicts its bounds: this search never reconsiders "
        "a bound.",
    ),
    "loss-rates": (
        "At the highest load, {highest_pps:load}, {loss_ratio:ratio} of the frames sent were lost; from "
        "{clean_pps:load} down, two successive trials lost none.",
        "At the highest load, {highest_pps:load}, {loss_ratio:ratio} of the frames sent were lost; no two successive "
        "trials lost none.",
    ),
    "met-at-max-load": ("The goal is met at the highest load allowed, {load_pps:load}.",),
    "mixed-trial-durations": (
        "Trials of {longest_s:g} s also count for the goal whose trials need only {shortest_s:g} s, and may decide it; "
        "RFC 9971 recommends the same final trial duration for all goals.",
    ),
    "mode-switching": (
        "Within trial {trial}, at {load_pps:load}, the capacity alternated: {low_pps:load} for {low_s:.1f} s, and at "
        "least the load for {high_s:.1f} s.",
        "Within trial {trial} the capacity jumped between {low_pps:load} and {high_pps:load}.",
    ),
    "models-disagree": (
        "The two models of the SUT differ by more than their uncertainties: {stretch_pps:load} and {erf_pps:load}.",
    ),
    "modes": (
        "The SUT has two modes: {fast_pps:load} in {fast_count} and {slow_pps:load} in {slow_count} of {count} trials.",
    ),
    "one_after_the_other": (
        "All runs of {first_side} came before those of {second_side}: a change of the machine in between looks like a "
        "difference. Alternating runs cancel it.",
    ),
    "out-of-time": (
        "The time for the search, {limit_s:duration}, was over before the search was done.",
        "The time for the search was over.",
    ),
    "outlier": ("{side}: run {run_id} is far from the others.",),
    "parts-as-trials": ("Parts of {full_s:g} s of longer trials count as trials, without a pause between them.",),
    "recounted-loss": (
        "Frames reported lost during a trial arrived after all, and may have stopped the trial: trials {trials}.",
    ),
    "refuted-lower-bound": (
        "Latency trial #{trial} at {load_pps:load} lost {loss_ratio:ratio}, where {allowed_ratio:ratio} is allowed: "
        "the lower bound may be too high.",
    ),
    "same_runs": ("A run is on both sides, which makes the sides more similar.",),
    "scatter": ("The capacity differs from trial to trial: {lowest_pps:load} to {highest_pps:load}.",),
    "short-lower-bound": (
        "At {load_pps:load} the trial took {seconds:.3g} s of the {full_s:g} s required, for lack of time: not proven.",
    ),
    "short-trials": ("Trials were shorter than requested without having been stopped: {trials}.",),
    "short-upper-bound": ("At {load_pps:load} only trials shorter than {full_s:g} s lost too much.",),
    "single-losses": (
        "Frames were lost one by one: {lost:frames} of {frames:frames} ({loss_ratio:.2g}) below the capacity.",
    ),
    "stalls": (
        "{count} stalls in {seconds:.0f} s of trials, of about {stall_s:ms}, which a buffer absorbs up to "
        "{free_pps:load}.",
        "{count} stalls in {seconds:.0f} s of trials, which lost up to {lost:frames} frames each.",
    ),
    "tester-limited": (
        "In {short_count} of {count} trials the tester could not send the highest load {highest_pps:load}: the "
        "forwarding rate may be the tester's, and the SUT may forward more.",
        "In {short_count} of {count} trials the tester could not send the load; unsent frames count as lost, so the "
        "estimate may be the tester's.",
        "Above {offered_pps:load} the tester itself did not keep up.",
        "Above {forwarded_pps:load} the tester itself did not keep up.",
        "The upper bound is the tester's: it could not send this load, and the SUT may forward more.",
    ),
    "trials-set-aside": (
        "Trials {trials} lost too much but do not count, as the SUT did better before or since then.",
    ),
    "two_modes": ("{side}: {high_count} runs are high and {low_count} low, with none between.",),
    "undecided-loads": (
        "Other work on this machine left too little undisturbed time to decide the loads from {lowest_pps:load} to "
        "{highest_pps:load}.",
    ),
    "undecided-lower-bound": ("No load is known to meet the goal yet.",),
    "undecided-upper-bound": ("No load is known to miss the goal yet.",),
    "warm-up": (
        "The capacity rose from {first_pps:load} to {last_pps:load} ({change_ratio:change}) in {seconds:.0f} s: "
        "the SUT was warming up.",
    ),
    "wide-interval": ("The bounds are {width_ratio:width} apart; the goal is {goal_width_ratio:width}.",),
}
