"""Disturbances of trials, linked to the checks of their host. Pure."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from nodrop.host.check import check_host
from nodrop.host.check.configuration import parse_interrupt_cpus, parse_isolated_cpus
from nodrop.model.chd import HostDescriptor
from nodrop.model.goal import Flag
from nodrop.model.hostcheck import HOST_FINDING
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.system.cpu_sets import format_cpu_list


class DisturbanceCause(NamedTuple):
    """The host checks that may explain doubtful trials, and the CPUs concerned."""

    checks: tuple[str, ...]
    role: Literal["tester", "SUT"] = "tester"
    """The process whose CPUs are affected."""


DISTURBANCE_CAUSES = {
    "tester_preempted": DisturbanceCause(("A2", "A5")),
    "sut_preempted": DisturbanceCause(("A2", "A5"), "SUT"),
    "disturbed": DisturbanceCause(("A2", "A5")),
    "held_up": DisturbanceCause(("A2", "A3")),
    "sender_late": DisturbanceCause(("A2", "A3")),
    "sender_stalled": DisturbanceCause(("A2", "A3")),
    "receiver_starved": DisturbanceCause(("A2", "A3")),
    "tester_drops": DisturbanceCause(("A2", "A3")),
    "cpu_steal": DisturbanceCause(("Y7",)),
}
"""By code of the doubt. Without clock jumps and late frames, which host configuration alone does not explain."""


def find_disturbances(
    trials: Sequence[TrialResult],
    host: HostDescriptor | None,
    tester_cpus: Sequence[int],
    sut_cpus: Sequence[int] = (),
) -> tuple[Flag, ...]:
    """Return one finding per cause that disturbed trials: the related checks, and those that fail here.

    Args:
        trials: of a run.
        host: the machine as recorded during the run; None: not recorded.
        tester_cpus: CPUs that the tester was pinned to; empty: not pinned.
        sut_cpus: CPUs that the SUT was pinned to, likewise.
    """
    indices_by_code = {
        code: [trial.index for trial in trials if _has_doubt(trial, code)] for code in DISTURBANCE_CAUSES
    }
    cpus = {"tester": tester_cpus, "SUT": sut_cpus}
    failing = {
        role: dict(_list_failing_checks(host, role, role_cpus)) if host and any(indices_by_code.values()) else {}
        for role, role_cpus in cpus.items()
    }
    return tuple(
        _make_finding(code, indices, failing[DISTURBANCE_CAUSES[code].role])
        for code, indices in indices_by_code.items()
        if indices
    )


def _has_doubt(trial: TrialResult, code: str) -> bool:
    """Return whether a trial has a doubt whose cause is not known to be a CPU quota."""
    is_doubtful = trial.validity.verdict is not ValidityStatus.VALID and not trial.is_throttled
    return is_doubtful and any(doubt.code == code for doubt in trial.validity.doubts)


def _make_finding(code: str, indices: Sequence[int], failing: dict[str, str]) -> Flag:
    checks = DISTURBANCE_CAUSES[code].checks
    trials = {"trial": indices[0]} if len(indices) == 1 else {"trial_count": len(indices)}
    if code == "cpu_steal":
        return Flag.of(HOST_FINDING, disturbance=code, **trials, hypervisor_checks=" ".join(checks))
    failures = "; ".join(failing[check] for check in checks if check in failing)
    return Flag.of(HOST_FINDING, disturbance=code, **trials, checks=" ".join(checks), failures=failures or None)


def _list_failing_checks(host: HostDescriptor, role: str, role_cpus: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yield the failing checks, limited to the CPUs of the disturbed process if known."""
    cpus = parse_isolated_cpus(host)
    shared = sorted(set(role_cpus) - set(cpus or ()))
    if cpus is not None and shared:
        yield "A2", f"the {role} runs on CPUs without isolation: {format_cpu_list(shared)} (A2 fails)"
    elif cpus is not None and not cpus:
        yield "A2", "no CPU is isolated (A2 fails)"
    if interrupted := sorted((parse_interrupt_cpus(host) or set()) & set(role_cpus)):
        yield "A3", f"interrupts of network cards go to CPUs of the {role}: {format_cpu_list(interrupted)} (A3 fails)"
    for check in check_host(host):
        if check.id == "A5" and check.status == "fail":
            yield "A5", f"{check.evidence[0].value} (A5 fails)"
