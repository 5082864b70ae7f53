"""What a host has to be as a whole: processor, memory, hypervisor, what others on it may cost. C1-C3, C10, C12."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from nodrop.model.observation import Observation
from nodrop.model.placement import Constraint, Violation
from nodrop.model.vmd import Profile
from nodrop.units import format_ratio
from nodrop.vm.place.inventory import Inventory
from nodrop.vm.place.policy import Terms
from nodrop.vm.ranking import Standing
from nodrop.vm.ranking.models import same_vendor


class Verdict(NamedTuple):
    """What a host is as a whole, to a profile."""

    violations: tuple[Violation, ...]
    standing: Standing
    """Of its processor."""
    warnings: tuple[str, ...]
    impact_ratio: float = 1.0
    """Of the performance that is left beside those who are on the host."""


class _Finding(NamedTuple):
    constraint: Constraint
    asked: str
    found: str
    unknown: bool = False


def judged(profile: Profile, inventory: Inventory, terms: Terms, vm: str) -> Verdict:
    """Every requirement that does not depend on where on the host the VM goes."""
    standing = terms.ranking.standing(profile.processor, inventory.host.capabilities.processor)
    findings = [
        *_processor(profile, inventory, standing, terms),
        *_memory(profile, inventory),
        *_hypervisor(profile, inventory),
        *_impact(profile, inventory, vm),
    ]
    refused = [each for each in findings if not (each.unknown and terms.unknown_passes)]
    passed = [each for each in findings if each.unknown and terms.unknown_passes]
    impact_ratio, impact_warnings = _beside_others(profile, inventory)
    return Verdict(
        tuple(Violation(constraint=each.constraint, asked=each.asked, found=each.found) for each in refused),
        standing,
        (*(f"{each.constraint}: {each.asked} asked, {each.found}; let pass" for each in passed), *impact_warnings),
        impact_ratio,
    )


def _processor(profile: Profile, inventory: Inventory, standing: Standing, terms: Terms) -> Iterator[_Finding]:
    asked, found = profile.processor, inventory.host.capabilities.processor
    if asked.architecture:
        yield from _equal("processor", "architecture", asked.architecture, found.architecture)
    if asked.vendor:
        yield from _equal("processor", "vendor", asked.vendor, found.vendor)
    if asked.isa_extensions:
        there = found.isa_extensions.value
        missing = sorted(set(asked.isa_extensions) - set(there or ()))
        if there is None:
            yield _Finding("processor", ", ".join(asked.isa_extensions), _unknown(found.isa_extensions), unknown=True)
        elif missing:
            yield _Finding("processor", ", ".join(asked.isa_extensions), f"no {', '.join(missing)}")
    if not (standing.met or (standing.ratio is not None and standing.ratio >= terms.guarantee_min_ratio)):
        yield _Finding("processor", standing.asked, standing.found)


def _memory(profile: Profile, inventory: Inventory) -> Iterator[_Finding]:
    asked, found = profile.memory, inventory.host.capabilities.memory
    if asked.speed_min_mtps:
        yield from _at_least("memory speed", asked.speed_min_mtps, found.speed_mtps, "MT/s")
    if asked.channels_min_count:
        yield from _at_least(
            "memory speed", asked.channels_min_count, found.channels_populated_count, "channels in use"
        )


def _hypervisor(profile: Profile, inventory: Inventory) -> Iterator[_Finding]:
    asked, found = profile.hypervisor, inventory.host.capabilities.hypervisor
    if asked.kind:
        yield from _equal("hypervisor", "kind", asked.kind, found.kind)
    if asked.version_min and not (asked.kind and found.kind.value != asked.kind):
        version = found.version.value
        if version is None:
            yield _Finding("hypervisor", f"{asked.version_min} or newer", _unknown(found.version), unknown=True)
        elif _numbers(version) < _numbers(asked.version_min):
            yield _Finding("hypervisor", f"{asked.version_min} or newer", version)
    for name in asked.capabilities:
        feature = getattr(found.capabilities, name)
        for state, observation in (("supported", feature.supported), ("enabled", feature.enabled)):
            if not observation.value:
                unknown = observation.value is None
                says = _unknown(observation) if unknown else f"not {state}"
                yield _Finding("hypervisor", f"{name.replace('_', ' ')} {state}", says, unknown)
                break
    if asked.accelerated_vswitch and not any(switch.accelerated for switch in inventory.switches.values()):
        names = ", ".join(inventory.switches) or "no virtual switch"
        yield _Finding("hypervisor", "an accelerated virtual switch", f"{names}, none known to be accelerated")


def _impact(profile: Profile, inventory: Inventory, vm: str) -> Iterator[_Finding]:
    impact = profile.impact
    if impact is None:
        return
    if impact.identical_max_count is not None:
        there = sum(same_image(owner, vm) for owner in inventory.vms)
        if there >= impact.identical_max_count:
            yield _Finding("impact", f"at most {impact.identical_max_count} of it on a host", f"{there} there already")
    if llc_bytes := impact.usage.get("llc_bytes"):
        caches = inventory.host.capabilities.processor.caches
        size = next((each.size_bytes for each in caches if each.level == 3), Observation[int]())
        if size.value is None:
            yield _Finding("impact", f"{llc_bytes:,.0f} bytes of last-level cache", _unknown(size), unknown=True)
        elif llc_bytes > size.value:
            yield _Finding("impact", f"{llc_bytes:,.0f} bytes of last-level cache", f"{size.value:,} bytes")


def _beside_others(profile: Profile, inventory: Inventory) -> tuple[float, tuple[str, ...]]:
    """What is left beside those who are there already; which antagonist each of them is, no descriptor says."""
    if profile.impact is None or not inventory.vms:
        return 1.0, ()
    others = ", ".join(sorted(inventory.vms))
    worst = max(profile.impact.degradation_max_ratio.items(), key=lambda each: each[1], default=None)
    if worst is not None:
        says = f"beside {others}: it loses up to {format_ratio(worst[1])} to a {worst[0]} antagonist, as declared"
        return max(0.0, 1.0 - worst[1]), (f"{says}; whether one of them is such is unknown",)
    if profile.impact.option == 3:
        return 1.0, (f"beside {others}: how much of the caches they use is unknown",)
    return 1.0, ()


def same_image(owner: str, vm: str) -> bool:
    """Whether a VM on a host is of the same descriptor: `bng`, `bng#2`."""
    return owner.partition("#")[0] == vm.partition("#")[0]


def _equal(constraint: Constraint, what: str, asked: str, found: Observation[str]) -> Iterator[_Finding]:
    if found.value is None:
        yield _Finding(constraint, f"{what} {asked}", _unknown(found), unknown=True)
    elif not same_vendor(asked, found.value):
        yield _Finding(constraint, f"{what} {asked}", found.value)


def _at_least(constraint: Constraint, asked: int, found: Observation[int], unit: str) -> Iterator[_Finding]:
    if found.value is None:
        yield _Finding(constraint, f"{asked:,} {unit}", _unknown(found), unknown=True)
    elif found.value < asked:
        yield _Finding(constraint, f"{asked:,} {unit}", f"{found.value:,}")


def _unknown(observation: Observation[Any]) -> str:
    return f"unknown ({observation.why})" if observation.why else "unknown"


def _numbers(version: str) -> tuple[int, ...]:
    """What versions are ordered by: the numbers at the beginning of `6.1.0-27-amd64`."""
    head = re.match(r"[^\d]*(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in head[1].split(".")) if head else ()
