"""What disturbed trials of a run, linked to the checks of the host it ran on. Pure."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from nodrop.host.check import check
from nodrop.host.check.configuration import interrupt_cpus, isolated
from nodrop.model.chd import HostDescriptor
from nodrop.model.goal import Flag
from nodrop.model.hostcheck import HOST_FINDING
from nodrop.model.trial import TrialResult, Verdict
from nodrop.system.cpu_sets import ranges
from nodrop.units import format_count


class Cause(NamedTuple):
    """Why trials were doubtful, and what of the host may be behind it."""

    what: str
    """Completes `trials in which ...`."""
    checks: tuple[str, ...]
    whose: Literal["tester", "SUT"] = "tester"
    """On whose CPUs."""


CAUSES = {
    "tester_preempted": Cause("other work kept the tester off its CPU", ("A2", "A5")),
    "sut_preempted": Cause("other work kept the SUT off its CPU", ("A2", "A5"), "SUT"),
    "held_up": Cause("the tester was held up", ("A2", "A3")),
    "sender_late": Cause("the tester fell behind its timetable", ("A2", "A3")),
    "sender_stalled": Cause("the tester stood still", ("A2", "A3")),
    "receiver_starved": Cause("the tester's receiver got too little CPU time", ("A2", "A3")),
    "tester_drops": Cause("the tester itself dropped frames", ("A2", "A3")),
    "cpu_steal": Cause("the hypervisor below took CPU time away", ("Y7",)),
}
"""By the code of the doubt. A clock that jumped and frames that were not sent in time are not the host's set-up
alone."""


def disturbances(
    trials: Sequence[TrialResult],
    host: HostDescriptor | None,
    tester_cpus: Sequence[int],
    sut_cpus: Sequence[int] = (),
) -> tuple[Flag, ...]:
    """One finding for each cause that disturbed trials: which checks to look at, and which of them fail here.

    Args:
        trials: of a run.
        host: the machine it ran on, as it was then; None: not on record.
        tester_cpus: those the tester was bound to; none where it was not.
        sut_cpus: those of the SUT, likewise.
    """
    found = {code: [trial.index for trial in trials if _doubted(trial, code)] for code in CAUSES}
    cpus = {"tester": tester_cpus, "SUT": sut_cpus}
    failing = {
        whose: dict(_failing(host, whose, own)) if host and any(found.values()) else {} for whose, own in cpus.items()
    }
    return tuple(
        Flag(code=HOST_FINDING, text=_text(code, indices, failing[CAUSES[code].whose]))
        for code, indices in found.items()
        if indices
    )


def _doubted(trial: TrialResult, code: str) -> bool:
    return trial.validity.verdict is not Verdict.VALID and any(doubt.code == code for doubt in trial.validity.doubts)


def _text(code: str, indices: Sequence[int], failing: dict[str, str]) -> str:
    cause = CAUSES[code]
    which = f"trial #{indices[0]}" if len(indices) == 1 else f"{format_count(len(indices))} trials"
    command = f"nodrop host check {' '.join(cause.checks)}"
    here = [failing[each] for each in cause.checks if each in failing]
    if code == "cpu_steal":
        command += ", on the machine that runs this one"
        here = []
    reason = f": {'; '.join(here)}" if here else ""
    return f"In {which} {cause.what}{reason}. See: {command}."


def _failing(host: HostDescriptor, whose: str, own: Sequence[int]) -> Iterator[tuple[str, str]]:
    """What speaks against the host, by check; of the CPUs of the one that was disturbed where they are known."""
    cpus = isolated(host)
    open_ = sorted(set(own) - set(cpus or ()))
    if cpus is not None and open_:
        yield "A2", f"{_cpus(open_)} of the {whose} {'is' if len(open_) == 1 else 'are'} not isolated (A2 fails)"
    elif cpus is not None and not cpus:
        yield "A2", "no CPU is isolated (A2 fails)"
    if hit := sorted((interrupt_cpus(host) or set()) & set(own)):
        yield "A3", f"interrupts of network cards go to {_cpus(hit)} of the {whose} (A3 fails)"
    for each in check(host):
        if each.id == "A5" and each.status == "fail":
            yield "A5", f"{each.evidence[0].value} (A5 fails)"


def _cpus(cpus: Sequence[int]) -> str:
    return f"CPU{'' if len(cpus) == 1 else 's'} {ranges(cpus)}"
