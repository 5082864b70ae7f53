"""Whether a host is ready: the recommendations of ETSI GS NFV-PER 001, held against its descriptor. Pure.

Each file has a few of them: `processor` (H), `hypervisor` (Y), `configuration` (A), `record` (R).
"""

from nodrop.host.check import configuration, hypervisor, processor
from nodrop.host.check.rfc8204 import recorded
from nodrop.host.check.rule import Fact, Rule
from nodrop.host.check.unknown import to_know
from nodrop.model.chd import HostDescriptor
from nodrop.model.hostcheck import CheckProfile, CheckStatus, HostCheck

RULES: tuple[Rule, ...] = (*processor.RULES, *hypervisor.RULES, *configuration.RULES)


def check(host: HostDescriptor, profile: CheckProfile = "data-plane") -> tuple[HostCheck, ...]:
    """Every recommendation with what was found, and what to do about it.

    Args:
        host: a descriptor, of this machine or any other.
        profile: what the host is for. Clause 7 lets control planes do without a part of the list.
    """
    return (*(_check(rule, host, profile) for rule in RULES), *recorded(host))


def _check(rule: Rule, host: HostDescriptor, profile: CheckProfile) -> HostCheck:
    is_needed = profile == "data-plane" or rule.control_plane
    found = rule.judge(host) if rule.judge else Fact(None)
    status = _status(found) if rule.judge and is_needed else "not required"
    remedy = rule.remedy(host)
    is_open = status in ("fail", "unknown")
    return HostCheck(
        id=rule.id,
        title=rule.title,
        clause=rule.clause,
        required=rule.required and is_needed,
        status=status,
        evidence=found.evidence,
        why=rule.why,
        fix=remedy.fix if is_open else "",
        by_hand=remedy.by_hand if is_open else "",
        verify=remedy.verify,
        to_know=to_know(found) if status == "unknown" else "",
    )


def _status(found: Fact) -> CheckStatus:
    return {True: "pass", False: "fail", None: "unknown"}[found.holds]  # type: ignore[return-value]
