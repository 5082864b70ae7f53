"""What speaks against the figures of a result: doubts about the trials they rest on, and in short about the others."""

from collections.abc import Iterator

from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED, Doubt, TrialResult, Verdict


def doubt_lines(result: RunResult) -> Iterator[str]:
    """A line for every doubtful trial that a figure rests on, one for every invalid trial, one for all others."""
    roles = _roles(result)
    others = []
    for trial in result.trials:
        verdict = trial.validity.verdict
        if verdict is Verdict.VALID or not _doubts(trial):
            continue
        if trial.index in roles or verdict is Verdict.INVALID:
            rests = f" ({', '.join(roles[trial.index])})" if trial.index in roles else ""
            yield f"trial #{trial.index}{rests} is {verdict}: {_reasons(trial)}"
        else:
            others.append(trial.index)
    if others:
        which = ", ".join(f"#{index}" for index in others)
        are = "trials are" if len(others) > 1 else "trial is"
        yield f"{len(others)} {are} suspect that no figure rests on ({which}); nodrop show --trials says why"


def _roles(result: RunResult) -> dict[int, list[str]]:
    """What the trials stand for, by their index."""
    roles: dict[int, list[str]] = {}
    for found in result.goals:
        for side, bound in (("lower", found.lower), ("upper", found.upper)):
            if bound:
                roles.setdefault(bound.trial_index, []).append(f"{found.goal.label} {side} bound")
    for latency in result.latencies:
        roles.setdefault(latency.trial_index, []).append(f"latency at {latency.label}")
    for trial in result.trials:
        if trial.phase == FIXED:
            roles[trial.index] = ["all figures"]
    return roles


def _reasons(trial: TrialResult) -> str:
    return "; ".join(doubt.text for doubt in _doubts(trial))


def _doubts(trial: TrialResult) -> list[Doubt]:
    """Of a trial at a fixed rate without that frames were not sent: there they do not count as lost, and are told."""
    return [doubt for doubt in trial.validity.doubts if trial.phase != FIXED or doubt.code != "offered_short"]
