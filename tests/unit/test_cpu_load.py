"""Other work on CPUs, from a written `/proc`, and the wait for its end."""

import os
from pathlib import Path

import pytest

from nodrop.config.schema import Config
from nodrop.errors import BusyError
from nodrop.plan import build_plan
from nodrop.run.cpu_watch import KERNEL_WORK_SAMPLES_MAX, CpuWatch, await_idle_cpus, list_measured_cpus
from nodrop.system.cpu_load import PF_KTHREAD, CpuLoadMeter, CpuSample, CpuUse, format_use, list_notable_uses

Processes = dict[int, tuple[str, int, int, int]]


def write_proc(proc: Path, busy: dict[int, int], total: int, processes: Processes) -> None:
    """Write the files of `/proc`: ticks that CPUs were busy, and name, parent, CPU and ticks of processes."""
    lines = [f"cpu{cpu} {ticks} 0 0 {total - ticks} 0 0 0 0 0 0" for cpu, ticks in busy.items()]
    (proc / "stat").write_text("cpu  1 2 3 4 5 6 7 8 9 10\n" + "\n".join(lines) + "\nctxt 5\n")
    for pid, (name, parent, cpu, ticks) in processes.items():
        (proc / str(pid)).mkdir(exist_ok=True)
        flags = PF_KTHREAD if name.startswith("kworker") else 0
        fields = ["R", str(parent), *["0"] * 4, str(flags), *["0"] * 4, str(ticks), *["0"] * 24, str(cpu), "0"]
        (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


def test_the_use_of_a_cpu_is_that_of_others_and_names_them(tmp_path: Path) -> None:
    own = os.getpid()
    before: Processes = {own: ("pytest", 1, 0, 500), 7: ("a b) c", 1, 1, 100), 8: ("idle", 1, 1, 9)}
    write_proc(tmp_path, {0: 1000, 1: 2000}, 5000, before)
    meter = CpuLoadMeter(tmp_path)
    after = before | {
        own: ("pytest", 1, 0, 540),
        90: ("child", own, 0, 10),
        7: ("a b) c", 1, 1, 160),
        9: ("cc1", 1, 1, 20),
    }
    write_proc(tmp_path, {0: 1060, 1: 2085}, 5100, after)
    uses = meter.read()
    assert [(use.cpu, round(use.busy_ratio, 6), use.processes) for use in uses] == [
        (0, 0.1, ()),
        (1, 0.85, ("a b) c", "cc1")),
    ]
    assert list_notable_uses(uses) == uses[1:]
    assert list_notable_uses(uses, frozenset({0})) == ()
    assert format_use(uses[1]) == "CPU 1 is 85 % busy (a b) c, cc1)"


def test_work_of_kernel_threads_is_known(tmp_path: Path) -> None:
    before: Processes = {7: ("kworker/0:1", 2, 0, 100), 8: ("cc1", 1, 0, 100)}
    write_proc(tmp_path, {0: 1000}, 5000, before)
    meter = CpuLoadMeter(tmp_path)
    write_proc(tmp_path, {0: 1038}, 5100, {7: ("kworker/0:1", 2, 0, 130), 8: ("cc1", 1, 0, 108)})
    (use,) = meter.read()
    assert use.kernel_ratio == 0.3
    assert use.is_by_kernel
    write_proc(tmp_path, {0: 1060}, 5100, {7: ("kworker/0:1", 2, 0, 130), 8: ("cc1", 1, 0, 129)})
    (use,) = meter.read()
    assert not use.is_by_kernel


def test_a_meter_that_is_read_at_once_knows_nothing(tmp_path: Path) -> None:
    write_proc(tmp_path, {0: 1000}, 5000, {})
    assert CpuLoadMeter(tmp_path).read() == ()


def test_the_real_machine_has_a_use_for_each_of_its_cpus() -> None:
    meter = CpuLoadMeter()
    deadline = os.times().elapsed + 0.3
    while os.times().elapsed < deadline:
        pass
    assert {use.cpu for use in meter.read()} >= os.sched_getaffinity(0)


BUSY = (CpuUse(0, 0.0, ()), CpuUse(1, 0.9, ("cc1",)))
IDLE = (CpuUse(0, 0.02, ()), CpuUse(1, 0.03, ()))


def test_the_wait_ends_once_the_cpus_are_idle_and_says_why_it_waits() -> None:
    seen = iter([BUSY, BUSY, IDLE])
    lines: list[str] = []
    plan = build_plan(Config())
    await_idle_cpus([plan], 60.0, lines.append, clock=lambda: 0.0, measure=lambda: next(seen))
    assert lines == ["waiting for idle CPUs: CPU 1 is 90 % busy (cc1)"]


def test_a_wait_that_takes_too_long_names_the_work() -> None:
    times = iter([0.0, 1.0, 2.0, 9.0])
    with pytest.raises(BusyError, match=r"did not end within 5 s: CPU 1 is 90 % busy \(cc1\); stop it"):
        await_idle_cpus([build_plan(Config())], 5.0, lambda _: None, clock=lambda: next(times), measure=lambda: BUSY)


class WrittenSample(CpuSample):
    """Returns one written use of all CPUs after the other."""

    def __init__(self, *uses: tuple[CpuUse, ...]) -> None:
        self.uses = list(uses)

    def read(self) -> tuple[CpuUse, ...]:
        return self.uses.pop(0)


def test_a_watch_waits_for_the_end_of_the_kernels_own_work() -> None:
    cpu = min(list_measured_cpus([build_plan(Config())]) or {0})
    by_kernel, by_others = CpuUse(cpu, 0.5, ("kworker/0:1",), 0.45), CpuUse(cpu, 0.5, ("cc1",), 0.1)
    plan = build_plan(Config())
    assert CpuWatch(plan, WrittenSample((by_kernel,), ())).read() == ()
    (load,) = CpuWatch(plan, WrittenSample((by_kernel,), (by_others,))).read()
    assert load.processes == ("cc1",)
    sample = WrittenSample(*[(by_kernel,)] * (KERNEL_WORK_SAMPLES_MAX + 1))
    assert len(CpuWatch(plan, sample).read()) == 1
    assert len(sample.uses) == 1


def test_work_on_other_cpus_is_no_reason_to_wait() -> None:
    plan = build_plan(Config())
    measured = list_measured_cpus([plan])
    assert measured
    elsewhere = (CpuUse(max(measured) + 1, 1.0, ("cc1",)),)
    await_idle_cpus([plan], 5.0, pytest.fail, clock=lambda: 0.0, measure=lambda: elsewhere)
