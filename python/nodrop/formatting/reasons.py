"""Sentences of the reasons for trials, by code."""

from collections.abc import Mapping

REASONS: Mapping[str, tuple[str, ...]] = {
    # all searches
    "fixed-rate": ("fixed rate {rate}",),
    "latency": ("latency at {point}",),
    # binary, binary-loss-verification, nfvbench, mrr
    "highest-first": ("the highest load comes first",),
    "halve": (
        "{goal}: halving {low_pps:load} to {high_pps:load} ({width_ratio:width}), wider than the "
        "{goal_width_ratio:width} required",
    ),
    "halve-from-lowest": (
        "{goal}: halving {low_pps:load}, the lowest load allowed, to {high_pps:load} "
        "({width_ratio:width}), wider than the {goal_width_ratio:width} required",
    ),
    "lowest-remaining": ("{goal}: only the lowest load allowed can still meet it",),
    "list-middle": (
        "{goal}: the load of the list in the middle from {low_pps:load} to {high_pps:load}",
        "{goal}: the load of the list in the middle from the lowest load allowed to {high_pps:load}",
    ),
    "verify": (
        "{goal}: {load_pps:load} lost {lost_count:count} frames, more than {goal} allows; trial {number} of at "
        "most {count} shows whether the loss recurs",
    ),
    "line-rate-first": ("the line rate comes first: no higher load is searched",),
    "lowest-for-middle": ("{goals}: the lowest load allowed, instead of the lower middle of the range",),
    "halve-range": (
        "{goals}: halving {low_pps:load} to {high_pps:load}, {width_ratio:width} of the line rate, wider "
        "than {epsilon_ratio:width}",
    ),
    "mrr": ("trial {number} of {count} at the highest load, whose forwarding rate is the result",),
    # frame-loss-rate, back-to-back
    "loss-step": ("loss at {share_ratio:ratio} of the highest load",),
    "burst-longest": ("repeat {repeat}: the longest burst allowed comes first, {frame_count:frame_count} each way",),
    "burst-halve": (
        "repeat {repeat}: {frame_count:frame_count}, between {low_count:count} that passed and {high_count:count} that "
        "did not",
    ),
    "burst-verify": (
        "repeat {repeat}: {frame_count:frame_count} lost {lost_count:count}; trial {number} shows whether the loss "
        "recurs",
    ),
    "burst-confirm": ("repeat {repeat}: {frame_count:frame_count}, the longest burst that passed, must pass again",),
    # mlrsearch-01, mlrsearch-03, mlrsearch-rfc9971: initial trials
    "forwarding-rate-of-highest": ("the forwarding rate at the highest load shows the order of magnitude",),
    "at-forwarding-rate": ("{forwarded_pps:load} came back of {load_pps:load}: measuring at that rate",),
    "one-width-below": (
        "{forwarded_pps:load} came back of {load_pps:load}, nearly all: stepping down one width of {width_ratio:width}",
    ),
    "at-lowest": ("{forwarded_pps:load} came back of {load_pps:load}: measuring at the lowest load allowed",),
    "initial-down": ("{load_pps:load} loses too much for {goal}: stepping down to the forwarding rate or lower",),
    "initial-up": ("{load_pps:load} is good enough for {goal}: stepping up one width of {width_ratio:width}",),
    "near-forwarding-rate": ("{forwarded_pps:load} came back of {load_pps:load}: measuring near that rate",),
    "near-forwarding-rate-lower": (
        "{forwarded_pps:load} came back of {load_pps:load}, too little: measuring near that rate",
    ),
    "near-forwarding-rate-higher": (
        "{forwarded_pps:load} came back of {load_pps:load}, enough: measuring a little higher",
    ),
    # mlrsearch-01, mlrsearch-03: phases
    "split-of-shorter": (
        "{goal}: splitting {low_pps:load} to {high_pps:load} ({width_ratio:width}), the bounds of the "
        "{old_s:seconds} trials, wider than the {goal_width_ratio:width} this phase needs",
    ),
    "split-phase": (
        "{goal}: splitting {low_pps:load} to {high_pps:load} ({width_ratio:width}), wider than the "
        "{goal_width_ratio:width} this phase needs",
    ),
    "halve-phase": (
        "{goal}: halving {low_pps:load} to {high_pps:load} ({width_ratio:width}), wider than the "
        "{goal_width_ratio:width} this phase needs",
    ),
    "remeasure": ("re-measuring the {goal} {bound} {load_pps:load} of the {old_s:seconds} trials at {new_s:seconds}",),
    "far-below": (
        "{goal}: lower bound {low_pps:load} is far below upper bound {high_pps:load}, stepping down from it to "
        "{load_pps:load}",
        "{goal}: lower bound {low_pps:load} is far below upper bound {high_pps:load}, stepping down from it to the "
        "lowest load allowed",
    ),
    "external-down": (
        "no {goal} lower bound at {duration_s:seconds} yet: stepping down from {high_pps:load} to {load_pps:load}",
        "no {goal} lower bound at {duration_s:seconds} yet: stepping down from {high_pps:load} to the lowest load "
        "allowed",
        "{from_pps:load} loses too much for {goal}: stepping down to {load_pps:load}",
    ),
    "external-up": (
        "no {goal} upper bound at {duration_s:seconds} yet: stepping up from {low_pps:load} to {load_pps:load}",
        "no {goal} upper bound at {duration_s:seconds} yet: stepping up from {low_pps:load} to the highest load "
        "allowed",
        "{from_pps:load} is good enough for {goal}: stepping up to {load_pps:load}",
    ),
    # mlrsearch-rfc9971
    "halve-start": ("{goal}: halving {low_pps:load} to {high_pps:load}, the bounds found with less evidence",),
    "refine": ("{goal}: {load_pps:load}, the {side} end so far, needs {trial_s:seconds} trials until it is decided",),
    "extend-down": ("{goal}: no lower bound yet, stepping down from {high_pps:load}",),
    "extend-up": ("{goal}: no upper bound yet, stepping up from {low_pps:load}",),
    "split": ("{goal}: splitting {low_pps:load} to {high_pps:load}, still too wide",),
    "lower-far-below": ("{goal}: the lower bound {low_pps:load} is far below, stepping down from {high_pps:load}",),
    "upper-far-above": ("{goal}: the upper bound {high_pps:load} is far above, stepping up from {low_pps:load}",),
    # plrsearch
    "middle-first": ("half way between the lowest and the highest load, to start with",),
    "about-forwarding-rate": ("{forwarded_pps:load} came back of {load_pps:load}: measuring about that rate",),
    "critical-load": ("the critical load of {goal} is estimated at {estimate_pps:load}",),
    "zero-streak": (
        "{count} in a row without loss: up from {estimate_pps:load}, the estimate for {goal}, towards "
        "{lossy_pps:load}, which lost too much",
    ),
    # nodrop: probes
    "probe-highest": ("how much of the highest load comes through",),
    "offer-lowest": ("whether the SUT only has to warm up, as it forwards almost nothing",),
    "probe-above": ("{capacity_pps:load} came through: probing just above",),
    "probe-between": ("the limit is between {low_pps:load} and {high_pps:load}: probing there",),
    "probe-earlier": ("does the SUT still behave as in the earlier search",),
    "probe-upper": ("does {load_pps:load} still lose too much",),
    "upper-recovered": ("{load_pps:load} no longer loses too much: where is the limit",),
    "less-loss": ("{load_pps:load} loses less than expected: where is the limit",),
    "far-worse": ("trial {trial} did far worse than expected: is that typical",),
    "fell-in-trial": ("the capacity fell in the course of trial {trial}: has it come back",),
    # nodrop: goals
    "prove-earlier": ("{goal}: proving the earlier lower bound again",),
    "check-earlier": ("{goal}: does the earlier lower bound still hold",),
    "undecided": ("{goal}: trials at {load_pps:load} have not decided it yet",),
    "measure-loss-rate": ("{goal}: how many single frames are lost per second between the loads known",),
    "confirm-doubtful": ("{goal}: trials at other loads contradict {load_pps:load}, trying it again",),
    "confirm": ("{goal}: passing at {load_pps:load} may have been luck, trying again",),
    "halve-uncertain": ("{goal}: no better estimate is known, halving the interval",),
    "halve-interval": ("{goal}: halving the interval",),
    "cap": ("{goal}: {load_pps:load} is good, trying one width above",),
    "prove-guess": (
        "{goal}: the threshold is expected at {estimate_pps:load}, a guess until a stall is seen at "
        "another load; proving a load just below",
    ),
    "prove-stalls": (
        "{goal}: the threshold is expected at {estimate_pps:load}, up to which stalls of {stall_s:ms} "
        "should lose nothing; proving a load just below",
    ),
    "prove-single-losses": (
        "{goal}: the threshold is expected at {estimate_pps:load}, going by how often single "
        "frames were lost; proving a load just below",
    ),
    "prove-capacity": (
        "{goal}: the threshold is expected at {estimate_pps:load}, as the capacity shows; proving a load just below",
    ),
    "below-undecided": ("{goal}: other work left {load_pps:load} undecided; stepping down",),
    "cap-undecided": ("{goal}: probing above the loads that other work left undecided",),
    "retry-undecided": ("{goal}: other work left {load_pps:load} undecided and may have ended",),
    "step-down": ("{goal}: {load_pps:load} lost too much, stepping down",),
    "step-up-short": ("{goal}: better than expected, looking for the limit with short trials",),
    "step-up": ("{goal}: {load_pps:load} is better than expected, stepping up",),
    "lowest-swamped": ("{goal}: hardly anything came through at any load, trying the lowest",),
    "highest-lossless": ("{goal}: no loss so far, proving the highest load",),
    "lowest-unmet": ("{goal}: no load is known to meet it, trying the lowest",),
}
