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
from nodrop.units import format_count


class DisturbanceCause(NamedTuple):
    """A cause of doubtful trials, and the host checks that may explain it."""

    what: str
    """Completes `trials in which ...`."""
    checks: tuple[str, ...]
    whose: Literal["tester", "SUT"] = "tester"
    """Whose CPUs are affected."""


DISTURBANCE_CAUSES = {
    "tester_preempted": DisturbanceCause("other work kept the tester off its CPU", ("A2", "A5")),
    "sut_preempted": DisturbanceCause("other work kept the SUT off its CPU", ("A2", "A5"), "SUT"),
    "held_up": DisturbanceCause("the tester was stalled", ("A2", "A3")),
    "sender_late": DisturbanceCause("the tester fell behind its schedule", ("A2", "A3")),
    "sender_stalled": DisturbanceCause("the tester's sender stalled", ("A2", "A3")),
    "receiver_starved": DisturbanceCause("the tester's receiver got too little CPU time", ("A2", "A3")),
    "tester_drops": DisturbanceCause("the tester itself dropped frames", ("A2", "A3")),
    "cpu_steal": DisturbanceCause("the underlying hypervisor took CPU time (steal)", ("Y7",)),
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
    found = {code: [trial.index for trial in trials if _has_doubt(trial, code)] for code in DISTURBANCE_CAUSES}
    cpus = {"tester": tester_cpus, "SUT": sut_cpus}
    failing = {
        whose: dict(_failing_checks(host, whose, own)) if host and any(found.values()) else {}
        for whose, own in cpus.items()
    }
    return tuple(
        Flag.of(HOST_FINDING, text=_finding_text(code, indices, failing[DISTURBANCE_CAUSES[code].whose]))
        for code, indices in found.items()
        if indices
    )


def _has_doubt(trial: TrialResult, code: str) -> bool:
    return trial.validity.verdict is not ValidityStatus.VALID and any(
        doubt.code == code for doubt in trial.validity.doubts
    )


def _finding_text(code: str, indices: Sequence[int], failing: dict[str, str]) -> str:
    cause = DISTURBANCE_CAUSES[code]
    which = f"trial #{indices[0]}" if len(indices) == 1 else f"{format_count(len(indices))} trials"
    command = f"nodrop host check {' '.join(cause.checks)}"
    here = [failing[each] for each in cause.checks if each in failing]
    if code == "cpu_steal":
        command += ", on the machine that runs this one"
        here = []
    reason = f": {'; '.join(here)}" if here else ""
    return f"In {which} {cause.what}{reason}. See: {command}."


def _failing_checks(host: HostDescriptor, whose: str, own: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Yield the failing checks, limited to the CPUs of the disturbed process if known."""
    cpus = parse_isolated_cpus(host)
    open_ = sorted(set(own) - set(cpus or ()))
    if cpus is not None and open_:
        yield "A2", f"{_cpus(open_)} of the {whose} {'is' if len(open_) == 1 else 'are'} not isolated (A2 fails)"
    elif cpus is not None and not cpus:
        yield "A2", "no CPU is isolated (A2 fails)"
    if hit := sorted((parse_interrupt_cpus(host) or set()) & set(own)):
        yield "A3", f"interrupts of network cards go to {_cpus(hit)} of the {whose} (A3 fails)"
    for each in check_host(host):
        if each.id == "A5" and each.status == "fail":
            yield "A5", f"{each.evidence[0].value} (A5 fails)"


def _cpus(cpus: Sequence[int]) -> str:
    return f"CPU{'' if len(cpus) == 1 else 's'} {format_cpu_list(cpus)}"
