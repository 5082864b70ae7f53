"""Choice of a host: the fast part, without explanations."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.placement import Guarantee
from nodrop.model.vmd import Profile, VcpuSet, VmDescriptor
from nodrop.vm.place.host_constraints import HostDecision, check_host_constraints
from nodrop.vm.place.inventory import HostInventory, build_natural_sort_key
from nodrop.vm.place.policy import STEPS_MIN, PlacementOptions
from nodrop.vm.place.requirements import VmNeed, count_needs
from nodrop.vm.place.search import CandidateKey, NodeAssignment, NodeSearch
from nodrop.vm.place.unrestricted import SplitAssignment, split_vm


class Candidate(NamedTuple):
    """A host that fits."""

    inventory: HostInventory
    profile: int
    need: VmNeed
    assignment: NodeAssignment | SplitAssignment
    verdict: HostDecision
    guarantee: Guarantee
    scaled: bool
    key: CandidateKey


class Decision(NamedTuple):
    """The decision on one VM."""

    vm: str
    vmd: VmDescriptor
    options: PlacementOptions
    candidates: tuple[Candidate, ...]
    """The best first."""
    refused: tuple[HostInventory, ...]


def choose_host(vmd: VmDescriptor, hosts: Sequence[HostInventory], options: PlacementOptions, vm: str = "") -> Decision:
    """Return the hosts that fit, the best first."""
    name = vm or vmd.name
    options = options._replace(steps_max=max(STEPS_MIN, options.steps_max // max(1, len(hosts))))
    needs = [count_needs(profile) for profile in vmd.profiles]
    candidates: list[Candidate] = []
    refused: list[HostInventory] = []
    for host in hosts:
        candidate = _find_candidate(needs, host, options, name)
        if candidate:
            candidates.append(candidate)
        else:
            refused.append(host)
    candidates.sort(key=lambda each: (each.key, build_natural_sort_key(each.inventory.id), each.profile))
    refused.sort(key=lambda each: build_natural_sort_key(each.id))
    return Decision(name, vmd, options, tuple(candidates), tuple(refused))


def _find_candidate(
    needs: Sequence[VmNeed], host: HostInventory, options: PlacementOptions, vm: str
) -> Candidate | None:
    """Return the host with the first profile that it meets."""
    for index, need in enumerate(needs):
        verdict = check_host_constraints(need.profile, host, options, vm)
        requested = need
        assignment = None
        grown = scale_profile(need.profile, verdict, options)
        if grown:
            requested = count_needs(grown)
            verdict = check_host_constraints(grown, host, options._replace(guarantee_min_ratio=0.0), vm)
        if not verdict.violations:
            assignment = fit_vm(requested, host, options, 1 if grown or verdict.standing.substitution else 0)
        if assignment:
            promise = compute_guarantee(verdict, bool(grown))
            key = (-promise.ratio, *assignment.key)
            return Candidate(host, index, requested, assignment, verdict, promise, bool(grown), key)
    return None


def fit_vm(
    need: VmNeed, host: HostInventory, options: PlacementOptions, substitution_count: int
) -> NodeAssignment | SplitAssignment | None:
    """Return the best assignment with unsplit sets, otherwise one with split sets if allowed."""
    assignment = NodeSearch(need, host, options, substitution_count=substitution_count).run()
    if isinstance(assignment, NodeAssignment):
        return assignment
    return split_vm(need, host, options, substitution_count) if need.profile.topology == "unrestricted" else None


def scale_profile(profile: Profile, verdict: HostDecision, options: PlacementOptions) -> Profile | None:
    """Return the profile with more vCPUs, if these can compensate for slower ones."""
    standing = verdict.standing
    if (
        standing.met
        or not profile.scales_with_cores
        or not standing.ratio
        or standing.ratio >= options.guarantee_min_ratio
    ):
        return None
    return add_vcpus(profile, standing.ratio)


def compute_guarantee(verdict: HostDecision, grown: bool) -> Guarantee:
    """Return the expected share of the promised performance."""
    ratio, label = verdict.standing.ratio, verdict.standing.label
    ratio = 1.0 if ratio is None or grown else ratio
    if grown:
        label += "; compensated by more vCPUs"
    if verdict.impact_ratio < 1:
        label += f"; next to other VMs at worst {verdict.impact_ratio:.3g} of it"
    return Guarantee(ratio=ratio * verdict.impact_ratio, label=label)


def add_vcpus(profile: Profile, ratio: float) -> Profile:
    """Return the profile with more vCPUs to compensate for slower ones: n / ratio per set, in complete groups.

    Source: ETSI GS NFV-PER 001 clause 8.2.2.5: fewer cores are needed at 2.7 GHz than at 1.8 GHz.
    """
    names = iter(range(max(vcpu for each in profile.vcpu_sets for vcpu in each.vcpus) + 1, 1 << 62))
    return profile.replace(vcpu_sets=tuple(_add_to_set(each, ratio, names) for each in profile.vcpu_sets))


def _add_to_set(vcpu_set: VcpuSet, ratio: float, names: Iterator[int]) -> VcpuSet:
    # A hair off, so that 2 / (2/3) is 3 and not 4.
    missing = math.ceil(len(vcpu_set.vcpus) / ratio - 1e-9) - len(vcpu_set.vcpus)
    size = max((len(pair) for pair in vcpu_set.pairs), default=1)
    groups = [tuple(next(names) for _ in range(size)) for _ in range(-(-missing // size))]
    added = tuple(vcpu for group in groups for vcpu in group)
    pairs = (*vcpu_set.pairs, *groups) if size > 1 else vcpu_set.pairs
    return vcpu_set.replace(vcpus=(*vcpu_set.vcpus, *added), pairs=pairs)
