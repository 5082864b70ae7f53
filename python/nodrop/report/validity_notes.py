"""What speaks against the figures of a result: doubts about the trials they rest on, and in short about the others."""

from collections.abc import Iterator

from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED, Doubt, TrialResult, ValidityStatus


def doubt_lines(result: RunResult) -> Iterator[str]:
    """A line for every doubtful trial that a figure rests on, one for every invalid trial, one for all others."""
    yield from grave_doubt_lines(result)
    roles = _roles(result)
    suspect = [trial for trial in result.trials if trial.validity.verdict is ValidityStatus.SUSPECT]
    others = [trial.index for trial in suspect if trial.index not in roles and _doubts(trial)]
    if others:
        which = ", ".join(f"#{index}" for index in others)
        are = "trials are" if len(others) > 1 else "trial is"
        yield f"{len(others)} {are} suspect that no figure rests on ({which}); nodrop show --trials says why"


def grave_doubt_lines(result: RunResult) -> Iterator[str]:
    """A line for every doubtful trial that a figure rests on, and one for every invalid trial."""
    roles = _roles(result)
    for trial in result.trials:
        verdict = trial.validity.verdict
        if _doubts(trial) and (verdict is ValidityStatus.INVALID or (verdict is ValidityStatus.SUSPECT and trial.index in roles)):
            rests = f" ({', '.join(roles[trial.index])})" if trial.index in roles else ""
            yield f"trial #{trial.index}{rests} is {verdict}: {_reasons(trial)}"


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
