"""Which host a VM goes to: the fast part, which says nothing yet of why."""

from collections.abc import Sequence
from typing import NamedTuple

from nodrop.model.placement import Guarantee
from nodrop.model.vmd import Profile, VmDescriptor
from nodrop.vm.place.host_constraints import Verdict, judged
from nodrop.vm.place.inventory import Inventory, natural
from nodrop.vm.place.policy import STEPS_LEAST, Terms
from nodrop.vm.place.requirements import Need, counted
from nodrop.vm.place.scaling import scaled
from nodrop.vm.place.search import Found, Key, Search
from nodrop.vm.place.unrestricted import Split, split


class Candidate(NamedTuple):
    """A host that will do, and how."""

    inventory: Inventory
    profile: int
    need: Need
    found: Found | Split
    verdict: Verdict
    guarantee: Guarantee
    scaled: bool
    key: Key


class Decision(NamedTuple):
    """What became of one VM."""

    vm: str
    vmd: VmDescriptor
    terms: Terms
    candidates: tuple[Candidate, ...]
    """The best first."""
    refused: tuple[Inventory, ...]


def decide(vmd: VmDescriptor, hosts: Sequence[Inventory], terms: Terms, vm: str = "") -> Decision:
    """Which hosts will do, the best first."""
    name = vm or vmd.name
    terms = terms._replace(steps_max=max(STEPS_LEAST, terms.steps_max // max(1, len(hosts))))
    needs = [counted(profile) for profile in vmd.profiles]
    candidates: list[Candidate] = []
    refused: list[Inventory] = []
    for host in hosts:
        candidate = _candidate(needs, host, terms, name)
        if candidate:
            candidates.append(candidate)
        else:
            refused.append(host)
    candidates.sort(key=lambda each: (each.key, natural(each.inventory.id), each.profile))
    refused.sort(key=lambda each: natural(each.id))
    return Decision(name, vmd, terms, tuple(candidates), tuple(refused))


def _candidate(needs: Sequence[Need], host: Inventory, terms: Terms, vm: str) -> Candidate | None:
    """A host by the first profile that it meets."""
    for index, need in enumerate(needs):
        verdict = judged(need.profile, host, terms, vm)
        asked = need
        found = None
        grown = grown_profile(need.profile, verdict, terms)
        if grown:
            asked = counted(grown)
            verdict = judged(grown, host, terms._replace(guarantee_min_ratio=0.0), vm)
        if not verdict.violations:
            found = fitted(asked, host, terms, 1 if grown or verdict.standing.substitution else 0)
        if found:
            promise = guarantee(verdict, bool(grown))
            key = (-promise.ratio, *found.key)
            return Candidate(host, index, asked, found, verdict, promise, bool(grown), key)
    return None


def fitted(need: Need, host: Inventory, terms: Terms, substitution_count: int) -> Found | Split | None:
    """The best way to put a VM on a host, each set whole; for those that may be split, else in pieces."""
    found = Search(need, host, terms, substitution_count=substitution_count).run()
    if isinstance(found, Found):
        return found
    return split(need, host, terms, substitution_count) if need.profile.topology == "unrestricted" else None


def grown_profile(profile: Profile, verdict: Verdict, terms: Terms) -> Profile | None:
    """The profile with more vCPUs, where slower ones are to be made up for and that is possible."""
    standing = verdict.standing
    if (
        standing.met
        or not profile.scales_with_cores
        or not standing.ratio
        or standing.ratio >= terms.guarantee_min_ratio
    ):
        return None
    return scaled(profile, standing.ratio)


def guarantee(verdict: Verdict, grown: bool) -> Guarantee:
    """What of the promised performance can be expected."""
    ratio, label = verdict.standing.ratio, verdict.standing.label
    ratio = 1.0 if ratio is None or grown else ratio
    if grown:
        label += "; made up for by more vCPUs"
    if verdict.impact_ratio < 1:
        label += f"; beside others at worst {verdict.impact_ratio:.3g} of it"
    return Guarantee(ratio=ratio * verdict.impact_ratio, label=label)
