"""Checks of a host descriptor against the recommendations of ETSI GS NFV-PER 001. Pure.

Modules: `processor` (H), `hypervisor` (Y), `configuration` (A), `rfc8204` (R).
"""

from nodrop.host.check import configuration, hypervisor, processor
from nodrop.host.check.rfc8204 import check_records
from nodrop.host.check.rule import CheckRule, Condition, find_next_step
from nodrop.model.chd import HostDescriptor
from nodrop.model.hostcheck import CheckProfile, CheckStatus, HostCheck

CHECK_RULES: tuple[CheckRule, ...] = (*processor.RULES, *hypervisor.RULES, *configuration.RULES)


def check_host(host: HostDescriptor, profile: CheckProfile = "data-plane") -> tuple[HostCheck, ...]:
    """Check every recommendation; return results with evidence and remedies.

    Args:
        host: a descriptor, of this machine or another.
        profile: intended use. Clause 7 exempts control planes from some recommendations.
    """
    return (*(_apply_rule(rule, host, profile) for rule in CHECK_RULES), *check_records(host))


def _apply_rule(rule: CheckRule, host: HostDescriptor, profile: CheckProfile) -> HostCheck:
    is_needed = profile == "data-plane" or rule.control_plane
    condition = rule.judge(host) if rule.judge else Condition(None)
    status = _get_status(condition) if rule.judge and is_needed else "not required"
    remedy = rule.remedy(host)
    is_open = status in ("fail", "unknown")
    return HostCheck(
        id=rule.id,
        title=rule.title,
        clause=rule.clause,
        required=rule.required and is_needed,
        status=status,
        evidence=condition.evidence,
        why=rule.why,
        fix=remedy.fix if is_open else "",
        by_hand=remedy.by_hand if is_open else "",
        verify=remedy.verify,
        to_know=find_next_step(condition) if status == "unknown" else "",
    )


def _get_status(condition: Condition) -> CheckStatus:
    return {True: "pass", False: "fail", None: "unknown"}[condition.holds]  # type: ignore[return-value]
