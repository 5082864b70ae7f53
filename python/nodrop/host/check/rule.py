"""Building blocks of checks: conditions that hold, fail or are unknown, each with evidence."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from nodrop.model.chd import HostDescriptor
from nodrop.model.hostcheck import CheckEvidence
from nodrop.model.observation import Feature, Observation

T = TypeVar("T")
NEXT_STEPS = (
    ("needs root", "run the command as root"),
    ("no msr driver", "run modprobe msr, then the command as root"),
    ("in the capture", "describe the machine itself: nodrop host describe"),
    ("does not hold it", "describe the machine again: nodrop host describe -o FILE"),
    ("says nothing", "describe the machine again: nodrop host describe -o FILE"),
    ("not installed", "install the named program"),
    ("is not loaded", "load the hypervisor's module: modprobe kvm_intel, or kvm_amd"),
    ("shows no unit of it", "enable the IOMMU in the BIOS and the kernel"),
    ("unknown eligibility for VMs", "specify the CPUs for VMs: nodrop host describe --eligible-cpus LIST"),
    ("did not answer", "start the named service"),
)
"""Texts in the reasons of observations, and the next step."""


class Condition(NamedTuple):
    """The result of a condition."""

    holds: bool | None
    """None: unknown; never treated as true."""
    evidence: tuple[CheckEvidence, ...] = ()


class Remedy(NamedTuple):
    """How to fix a failed check."""

    fix: str = ""
    """A shell command."""
    by_hand: str = ""
    """Steps without a command, or after it."""
    verify: str = ""
    """A shell command that shows the current state."""


Judge = Callable[[HostDescriptor], Condition]
Mend = Callable[[HostDescriptor], Remedy]


class CheckRule(NamedTuple):
    """One recommendation."""

    id: str
    title: str
    why: str
    judge: Judge | None
    """None: not visible on any host."""
    remedy: Mend
    clause: str
    required: bool = True
    """For data planes; otherwise advisory."""
    control_plane: bool = True
    """Whether it applies to control planes too."""


def judge_observation(
    label: str, observation: Observation[T], holds: Callable[[T], bool | None] = bool, value_text: str = ""
) -> Condition:
    """Judge whether an observation meets a condition.

    Args:
        label: name of the observation in the evidence.
        observation: the observation.
        holds: the condition; returns None if the value does not decide it.
        value_text: text in place of the value.
    """
    if not observation.known or observation.value is None:
        reason = observation.why or "no data"
        return Condition(None, (CheckEvidence(value=f"{label}: unknown, {reason}", source=observation.source),))
    evidence = CheckEvidence(
        value=f"{label}: {value_text or format_value(observation.value)}{_format_confidence_note(observation)}",
        source=observation.source,
    )
    return Condition(holds(observation.value), (evidence,))


def judge_feature(label: str, feature: Feature) -> Condition:
    """Judge whether a capability is supported and enabled."""
    supported = judge_observation(f"{label} supported", feature.supported)
    enabled = judge_observation(f"{label} enabled", feature.enabled)
    if supported.holds is False:
        return supported
    if enabled.holds:  # what is on, is there
        return Condition(True, (*(supported.evidence if supported.holds else ()), *enabled.evidence))
    return combine_all(supported, enabled)


def combine_all(*facts: Condition) -> Condition:
    """Combine conditions: fails if one fails, holds only if all are known to hold."""
    answers = [fact.holds for fact in facts]
    if False in answers:  # what decides is all there is to say
        return Condition(False, _merge_evidence(fact for fact in facts if fact.holds is False))
    return Condition(None if None in answers or not answers else True, _merge_evidence(facts))


def combine_any(*facts: Condition) -> Condition:
    """Combine conditions: holds if one holds."""
    answers = [fact.holds for fact in facts]
    holds = True if True in answers else None if None in answers or not answers else False
    return Condition(holds, _merge_evidence(facts))


def build_condition(label: str, holds: bool | None, value: str, source: str) -> Condition:
    """Return a condition derived from several observations."""
    return Condition(holds, (CheckEvidence(value=f"{label}: {value}", source=source),))


def build_unknown_condition(label: str, reason: str) -> Condition:
    """Return a condition without data."""
    return Condition(None, (CheckEvidence(value=f"{label}: unknown, {reason}", source=""),))


def find_next_step(condition: Condition) -> str:
    """Return the first step to resolve an unknown condition; empty if none is known."""
    reasons = " ".join(each.value for each in condition.evidence if "unknown" in each.value)
    return next((way for reason, way in NEXT_STEPS if reason in reasons), "")


def get_setting(host: HostDescriptor, name: str) -> Observation[str]:
    """Return a system setting by name."""
    nothing: Observation[str] = Observation(why="the descriptor does not hold it")
    return host.capabilities.settings.get(name, nothing)


def format_value(value: object) -> str:
    """Format a value for the evidence."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(format_value, value)) or "none"
    return str(value) or "none"


def _format_confidence_note(observation: Observation[T]) -> str:
    return (
        f" ({observation.confidence}: {observation.why})"
        if observation.confidence in ("inferred", "database", "declared")
        else ""
    )


def _merge_evidence(facts: Iterable[Condition]) -> tuple[CheckEvidence, ...]:
    return tuple(each for fact in facts for each in fact.evidence)
