"""What a check is made of: conditions that hold, do not, or cannot be told, each with what it rests on."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from nodrop.model.chd import HostDescriptor
from nodrop.model.hostcheck import Evidence
from nodrop.model.observation import Feature, Observation

T = TypeVar("T")


class Fact(NamedTuple):
    """A condition, and what was found."""

    holds: bool | None
    """None: cannot be told. That is never taken for yes."""
    evidence: tuple[Evidence, ...] = ()


class Remedy(NamedTuple):
    """What to do about it."""

    fix: str = ""
    """A shell command."""
    by_hand: str = ""
    """What no command does, or what to do after it."""
    verify: str = ""
    """A shell command that shows the present state."""


Judge = Callable[[HostDescriptor], Fact]
Mend = Callable[[HostDescriptor], Remedy]


class Rule(NamedTuple):
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


def seen(label: str, found: Observation[T], holds: Callable[[T], bool | None] = bool, shown: str = "") -> Fact:
    """Whether what was observed meets a condition.

    Args:
        label: what it is about, for the evidence.
        found: the observation.
        holds: the condition; None where the value leaves it open.
        shown: how the value reads, if not as it is.
    """
    if not found.known or found.value is None:
        why = found.why or "nothing was found out about it"
        return Fact(None, (Evidence(value=f"{label}: unknown, {why}", source=found.source),))
    evidence = Evidence(value=f"{label}: {shown or text_of(found.value)}{_doubt(found)}", source=found.source)
    return Fact(holds(found.value), (evidence,))


def working(label: str, feature: Feature) -> Fact:
    """Whether a capability is there and switched on."""
    supported = seen(f"{label} supported", feature.supported)
    enabled = seen(f"{label} enabled", feature.enabled)
    if supported.holds is False:
        return supported
    if enabled.holds:  # what is on, is there
        return Fact(True, (*(supported.evidence if supported.holds else ()), *enabled.evidence))
    return both(supported, enabled)


def both(*facts: Fact) -> Fact:
    """All of them: fails with one, and is known to hold only if each is known to."""
    answers = [fact.holds for fact in facts]
    if False in answers:  # what decides is all there is to say
        return Fact(False, _evidence(fact for fact in facts if fact.holds is False))
    return Fact(None if None in answers or not answers else True, _evidence(facts))


def either(*facts: Fact) -> Fact:
    """One of them is enough."""
    answers = [fact.holds for fact in facts]
    holds = True if True in answers else None if None in answers or not answers else False
    return Fact(holds, _evidence(facts))


def told(label: str, holds: bool | None, value: str, source: str) -> Fact:
    """What follows from several leaves."""
    return Fact(holds, (Evidence(value=f"{label}: {value}", source=source),))


def untold(label: str, why: str) -> Fact:
    """What nothing is said about."""
    return Fact(None, (Evidence(value=f"{label}: unknown, {why}", source=""),))


def setting(host: HostDescriptor, name: str) -> Observation[str]:
    """How the system is set up, by name."""
    nothing: Observation[str] = Observation(why="the descriptor does not hold it")
    return host.capabilities.settings.get(name, nothing)


def text_of(value: object) -> str:
    """A value as it reads."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(text_of, value)) or "none"
    return str(value) or "none"


def _doubt(found: Observation[T]) -> str:
    return f" ({found.confidence}: {found.why})" if found.confidence in ("inferred", "database", "declared") else ""


def _evidence(facts: Iterable[Fact]) -> tuple[Evidence, ...]:
    return tuple(each for fact in facts for each in fact.evidence)
