"""What a check is made of: conditions that hold, do not, or cannot be told, each with what it rests on."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from nodrop.model.chd import HostDescriptor
from nodrop.model.hostcheck import CheckEvidence
from nodrop.model.observation import Feature, Observation

T = TypeVar("T")


class Condition(NamedTuple):
    """A condition, and what was found."""

    holds: bool | None
    """None: cannot be told. That is never taken for yes."""
    evidence: tuple[CheckEvidence, ...] = ()


class Remedy(NamedTuple):
    """What to do about it."""

    fix: str = ""
    """A shell command."""
    by_hand: str = ""
    """What no command does, or what to do after it."""
    verify: str = ""
    """A shell command that shows the present state."""


Judge = Callable[[HostDescriptor], Condition]
Mend = Callable[[HostDescriptor], Remedy]


class CheckRule(NamedTuple):
    """One recommendation."""

    id: str
    title: str
    clause: str
    why: str
    judge: Judge | None
    """None: no host shows it."""
    remedy: Mend
    required: bool = True
    """For data planes; otherwise advice."""
    control_plane: bool = True
    """Whether control planes need it too."""


def judge_observation(
    label: str, found: Observation[T], holds: Callable[[T], bool | None] = bool, shown: str = ""
) -> Condition:
    """Whether what was observed meets a condition.

    Args:
        label: what it is about, for the evidence.
        found: the observation.
        holds: the condition; None where the value leaves it open.
        shown: how the value reads, if not as it is.
    """
    if not found.known or found.value is None:
        why = found.why or "nothing was found out about it"
        return Condition(None, (CheckEvidence(value=f"{label}: unknown, {why}", source=found.source),))
    evidence = CheckEvidence(
        value=f"{label}: {shown or format_value(found.value)}{_confidence_note(found)}", source=found.source
    )
    return Condition(holds(found.value), (evidence,))


def judge_feature(label: str, feature: Feature) -> Condition:
    """Whether a capability is there and switched on."""
    supported = judge_observation(f"{label} supported", feature.supported)
    enabled = judge_observation(f"{label} enabled", feature.enabled)
    if supported.holds is False:
        return supported
    if enabled.holds:  # what is on, is there
        return Condition(True, (*(supported.evidence if supported.holds else ()), *enabled.evidence))
    return all_of(supported, enabled)


def all_of(*facts: Condition) -> Condition:
    """All of them: fails with one, and is known to hold only if each is known to."""
    answers = [fact.holds for fact in facts]
    if False in answers:  # what decides is all there is to say
        return Condition(False, _evidence(fact for fact in facts if fact.holds is False))
    return Condition(None if None in answers or not answers else True, _evidence(facts))


def any_of(*facts: Condition) -> Condition:
    """One of them is enough."""
    answers = [fact.holds for fact in facts]
    holds = True if True in answers else None if None in answers or not answers else False
    return Condition(holds, _evidence(facts))


def conclude(label: str, holds: bool | None, value: str, source: str) -> Condition:
    """What follows from several leaves."""
    return Condition(holds, (CheckEvidence(value=f"{label}: {value}", source=source),))


def unknown_condition(label: str, why: str) -> Condition:
    """What nothing is said about."""
    return Condition(None, (CheckEvidence(value=f"{label}: unknown, {why}", source=""),))


def get_setting(host: HostDescriptor, name: str) -> Observation[str]:
    """How the system is set up, by name."""
    nothing: Observation[str] = Observation(why="the descriptor does not hold it")
    return host.capabilities.settings.get(name, nothing)


def format_value(value: object) -> str:
    """A value as it reads."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(format_value, value)) or "none"
    return str(value) or "none"


def _confidence_note(found: Observation[T]) -> str:
    return f" ({found.confidence}: {found.why})" if found.confidence in ("inferred", "database", "declared") else ""


def _evidence(facts: Iterable[Condition]) -> tuple[CheckEvidence, ...]:
    return tuple(each for fact in facts for each in fact.evidence)
