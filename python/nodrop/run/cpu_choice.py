"""The CPUs of tester and SUT: those that no other run and little other work uses, where there are more than needed."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nodrop.errors import BusyError
from nodrop.model.plan import Plan
from nodrop.run.cpu_watch import list_measured_cpus
from nodrop.run.machine_lock import LockWait, list_locked_cpus, list_resources, measurement_lock
from nodrop.system.cpu_load import CpuSample, CpuUse, format_use, list_notable_uses
from nodrop.system.cpu_sets import format_cpu_list


class Admission(NamedTuple):
    """Plans of runs that may measure now."""

    plans: tuple[Plan, ...]
    cpus: tuple[int, ...] | None
    """The CPUs they were made with; None: the default."""


class CpuChoice(NamedTuple):
    """CPUs to plan with."""

    cpus: tuple[int, ...] | None = None
    """In the order in which `nodrop.plan.build_plan` uses them; None: its default."""
    note: str = ""
    """Reason, in one line, if they differ from the default."""


@contextlib.contextmanager
def admit(
    make_plans: Callable[[Sequence[int] | None], tuple[Plan, ...]],
    on_note: Callable[[str], None],
    *,
    alongside: bool = False,
    wait: bool = False,
    on_wait: Callable[[LockWait], None] | None = None,
    sample: CpuSample | None = None,
) -> Iterator[Admission]:
    """Make plans on free CPUs, and hold the locks of their CPUs and ports until the block exits.

    Args:
        make_plans: makes the plans with CPUs in the order of use, or with the default ones for None.
        on_note: receives a line if the CPUs are not the default, and when a wait begins.
        on_wait: receives the reason when a wait begins.
        alongside: measure even while other runs have the locks.
        wait: wait for the locks instead of raising.
        sample: a measurement of the CPUs that has begun; by default a new one.

    Raises: BusyError if another run measures on the same CPUs or ports; what `make_plans` raises.
    """
    sample = sample or CpuSample()  # its time passes while the plans are made
    default = make_plans(None)
    refused: CpuChoice | None = None

    def report_wait(reason: LockWait) -> None:
        on_note(reason.text())
        if on_wait:
            on_wait(reason)

    with contextlib.ExitStack() as stack:
        while True:
            choice = choose_cpus(default, sample.read)
            plans = make_plans(choice.cpus) if choice.cpus else default
            if list_measured_cpus(plans) == list_measured_cpus(default):
                choice, plans = CpuChoice(), default  # the configuration names the CPUs
            # A run that chose the same CPUs in the same second may have been faster: then there may be others.
            is_final = refused is not None and refused.cpus == choice.cpus
            lock = measurement_lock(
                plans[0].results_dir,
                list_resources(plans),
                alongside=alongside,
                wait=wait and is_final,
                on_wait=report_wait,
            )
            try:
                stack.enter_context(lock)
                break
            except BusyError:
                if is_final:
                    raise
                refused = choice
        if choice.note:
            on_note(choice.note)
        yield Admission(plans, choice.cpus)


def choose_cpus(
    plans: Sequence[Plan],
    measure: Callable[[], tuple[CpuUse, ...]],
    *,
    available: Sequence[int] | None = None,
    locked: frozenset[int] | None = None,
) -> CpuChoice:
    """Choose other CPUs than those of these plans if other runs or other work use them.

    Args:
        plans: the runs with the default CPUs, made on this machine.
        measure: returns the use of all CPUs, if there is a choice.
        available: CPUs of this process; by default its affinity.
        locked: CPUs of other runs; by default those with a lock.
    """
    available = sorted(os.sched_getaffinity(0) if available is None else available)
    needed = list_measured_cpus(plans)
    if needed is None or len(needed) >= len(available):
        return CpuChoice()
    locked = list_locked_cpus() if locked is None else locked
    uses = measure()
    for busy in (list_notable_uses(uses), ()):  # without any idle CPU, at least one without another run
        unfit = locked | {use.cpu for use in busy}
        fit = [cpu for cpu in available if cpu not in unfit]
        if needed & unfit and len(fit) >= len(needed):
            first = max(len(plan.engine.cores) for plan in plans)
            rest = [cpu for cpu in available if cpu in unfit]
            order = (*fit[:first], *rest, *fit[first:])
            return CpuChoice(order, _format_reason(needed, locked, busy))
    return CpuChoice()


def _format_reason(needed: frozenset[int], locked: frozenset[int], busy: Sequence[CpuUse]) -> str:
    reasons = [format_use(use) for use in busy if use.cpu in needed - locked]
    if taken := needed & locked:
        reasons.insert(0, f"another run measures on CPU {format_cpu_list(taken)}")
    return f"measuring on other CPUs than usual: {'; '.join(reasons)}"
