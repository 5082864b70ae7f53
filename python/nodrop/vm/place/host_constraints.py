"""Host-wide constraints: processor, memory, hypervisor, impact of other VMs. C1-C3, C10, C12."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from nodrop.model.observation import Observation
from nodrop.model.placement import Constraint, Violation
from nodrop.model.vmd import Profile
from nodrop.units import format_ratio
from nodrop.vm.place.inventory import HostInventory
from nodrop.vm.place.policy import PlacementOptions
from nodrop.vm.ranking import ProcessorStanding
from nodrop.vm.ranking.models import is_same_vendor


class HostDecision(NamedTuple):
    """Host-wide result for a profile."""

    violations: tuple[Violation, ...]
    standing: ProcessorStanding
    """Rank of its processor."""
    warnings: tuple[str, ...]
    impact_ratio: float = 1.0
    """Share of the performance left next to the VMs on the host."""


class _Finding(NamedTuple):
    constraint: Constraint
    asked: str
    found: str
    unknown: bool = False


def check_host_constraints(
    profile: Profile, inventory: HostInventory, options: PlacementOptions, vm: str
) -> HostDecision:
    """Check every requirement that applies to the entire host."""
    standing = options.ranking.rank_processor(profile.processor, inventory.host.capabilities.processor)
    findings = [
        *_check_processor(profile, inventory, standing, options),
        *_check_memory(profile, inventory),
        *_check_hypervisor(profile, inventory),
        *_check_impact(profile, inventory, vm),
    ]
    refused = [each for each in findings if not (each.unknown and options.unknown_passes)]
    passed = [each for each in findings if each.unknown and options.unknown_passes]
    impact_ratio, impact_warnings = _sum_neighbor_impact(profile, inventory)
    return HostDecision(
        tuple(Violation(constraint=each.constraint, asked=each.asked, found=each.found) for each in refused),
        standing,
        (*(f"{each.constraint}: {each.asked} required, {each.found}; accepted" for each in passed), *impact_warnings),
        impact_ratio,
    )


def _check_processor(
    profile: Profile, inventory: HostInventory, standing: ProcessorStanding, options: PlacementOptions
) -> Iterator[_Finding]:
    requested, actual = profile.processor, inventory.host.capabilities.processor
    if requested.architecture:
        yield from _check_equal("processor", "architecture", requested.architecture, actual.architecture)
    if requested.vendor:
        yield from _check_equal("processor", "vendor", requested.vendor, actual.vendor)
    if requested.isa_extensions:
        extensions = actual.isa_extensions.value
        missing = sorted(set(requested.isa_extensions) - set(extensions or ()))
        if extensions is None:
            yield _Finding(
                "processor", ", ".join(requested.isa_extensions), _format_unknown(actual.isa_extensions), unknown=True
            )
        elif missing:
            yield _Finding("processor", ", ".join(requested.isa_extensions), f"no {', '.join(missing)}")
    if not (standing.met or (standing.ratio is not None and standing.ratio >= options.guarantee_min_ratio)):
        yield _Finding("processor", standing.asked, standing.found)


def _check_memory(profile: Profile, inventory: HostInventory) -> Iterator[_Finding]:
    requested, actual = profile.memory, inventory.host.capabilities.memory
    if requested.speed_min_mtps:
        yield from _check_at_least("memory speed", requested.speed_min_mtps, actual.speed_mtps, "MT/s")
    if requested.channels_min_count:
        yield from _check_at_least(
            "memory speed", requested.channels_min_count, actual.channels_populated_count, "channels in use"
        )


def _check_hypervisor(profile: Profile, inventory: HostInventory) -> Iterator[_Finding]:
    requested, actual = profile.hypervisor, inventory.host.capabilities.hypervisor
    if requested.kind:
        yield from _check_equal("hypervisor", "kind", requested.kind, actual.kind)
    if requested.version_min and not (requested.kind and actual.kind.value != requested.kind):
        version = actual.version.value
        if version is None:
            yield _Finding(
                "hypervisor", f"{requested.version_min} or newer", _format_unknown(actual.version), unknown=True
            )
        elif _build_version_key(version) < _build_version_key(requested.version_min):
            yield _Finding("hypervisor", f"{requested.version_min} or newer", version)
    for name in requested.capabilities:
        feature = getattr(actual.capabilities, name)
        for state, observation in (("supported", feature.supported), ("enabled", feature.enabled)):
            if not observation.value:
                unknown = observation.value is None
                actual_text = _format_unknown(observation) if unknown else f"not {state}"
                yield _Finding("hypervisor", f"{name.replace('_', ' ')} {state}", actual_text, unknown)
                break
    if requested.accelerated_vswitch and not any(switch.accelerated for switch in inventory.switches.values()):
        names = ", ".join(inventory.switches) or "no virtual switch"
        yield _Finding("hypervisor", "an accelerated virtual switch", f"{names}, none known to be accelerated")


def _check_impact(profile: Profile, inventory: HostInventory, vm: str) -> Iterator[_Finding]:
    impact = profile.impact
    if impact is None:
        return
    if impact.identical_max_count is not None:
        identical_count = sum(is_same_image(owner, vm) for owner in inventory.vms)
        if identical_count >= impact.identical_max_count:
            yield _Finding(
                "impact",
                f"at most {impact.identical_max_count} identical VMs on a host",
                f"{identical_count} already there",
            )
    if llc_bytes := impact.usage.get("llc_bytes"):
        caches = inventory.host.capabilities.processor.caches
        size = next((each.size_bytes for each in caches if each.level == 3), Observation[int]())
        if size.value is None:
            yield _Finding("impact", f"{llc_bytes:,.0f} bytes of last-level cache", _format_unknown(size), unknown=True)
        elif llc_bytes > size.value:
            yield _Finding("impact", f"{llc_bytes:,.0f} bytes of last-level cache", f"{size.value:,} bytes")


def _sum_neighbor_impact(profile: Profile, inventory: HostInventory) -> tuple[float, tuple[str, ...]]:
    """Return the performance left next to the VMs on the host; descriptors do not tell which antagonists they are."""
    if profile.impact is None or not inventory.vms:
        return 1.0, ()
    neighbors = ", ".join(sorted(inventory.vms))
    worst = max(profile.impact.degradation_max_ratio.items(), key=lambda each: each[1], default=None)
    if worst is not None:
        warning = f"next to {neighbors}: declared to lose up to {format_ratio(worst[1])} to a {worst[0]} antagonist"
        return max(0.0, 1.0 - worst[1]), (f"{warning}; unknown whether one of them is one",)
    if profile.impact.option == 3:
        return 1.0, (f"next to {neighbors}: their use of the caches is unknown",)
    return 1.0, ()


def is_same_image(owner: str, vm: str) -> bool:
    """Return whether a VM on a host has the same descriptor: `bng`, `bng#2`."""
    return owner.partition("#")[0] == vm.partition("#")[0]


def _check_equal(constraint: Constraint, label: str, requested: str, actual: Observation[str]) -> Iterator[_Finding]:
    if actual.value is None:
        yield _Finding(constraint, f"{label} {requested}", _format_unknown(actual), unknown=True)
    elif not is_same_vendor(requested, actual.value):
        yield _Finding(constraint, f"{label} {requested}", actual.value)


def _check_at_least(constraint: Constraint, requested: int, actual: Observation[int], unit: str) -> Iterator[_Finding]:
    if actual.value is None:
        yield _Finding(constraint, f"{requested:,} {unit}", _format_unknown(actual), unknown=True)
    elif actual.value < requested:
        yield _Finding(constraint, f"{requested:,} {unit}", f"{actual.value:,}")


def _format_unknown(observation: Observation[Any]) -> str:
    return f"unknown ({observation.why})" if observation.why else "unknown"


def _build_version_key(version: str) -> tuple[int, ...]:
    """Return the sort key of a version: the leading numbers, e.g. of `6.1.0-27-amd64`."""
    head = re.match(r"[^\d]*(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in head[1].split(".")) if head else ()
