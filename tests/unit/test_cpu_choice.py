"""The choice of CPUs for tester and SUT on a machine that has more than they need."""

import secrets
import socket

import pytest

from nodrop.config.load import build_config
from nodrop.model.plan import Plan
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers
from nodrop.run import cpu_choice, machine_lock
from nodrop.run.cpu_choice import CpuChoice, choose_cpus
from nodrop.run.machine_lock import list_resources
from nodrop.system.cpu_load import CpuUse

MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")


def plan(cpus: tuple[int, ...], **keys: object) -> Plan:
    return build_plan(build_config([], keys), Resolvers(inspect_ports=lambda _: MACS), cpus)


def choose(
    cpu_count: int, locked: frozenset[int] = frozenset(), busy: tuple[int, ...] = (), **keys: object
) -> CpuChoice:
    cpus = tuple(range(cpu_count))
    uses = tuple(CpuUse(cpu, 0.9 if cpu in busy else 0.01, ("cc1",)) for cpu in cpus)
    return choose_cpus([plan(cpus, **keys)], lambda: uses, available=cpus, locked=locked)


def test_without_other_work_the_usual_cpus_are_used() -> None:
    assert choose(4) == CpuChoice()


def test_where_all_cpus_are_needed_there_is_no_choice_and_no_watch() -> None:
    plans = [plan((0, 1))]

    def fail() -> tuple[CpuUse, ...]:
        pytest.fail("measured without a choice")

    assert choose_cpus(plans, fail, available=(0, 1), locked=frozenset({0})) == CpuChoice()


def test_busy_cpus_are_avoided() -> None:
    choice = choose(4, busy=(0,))
    assert choice.cpus == (1, 0, 2, 3)
    assert "CPU 0 is 90 % busy (cc1)" in choice.note
    moved = plan(choice.cpus)
    assert (moved.engine.cores, moved.lab.sut_cores) == ((1,), (3,))


def test_cpus_of_another_run_are_avoided() -> None:
    choice = choose(4, locked=frozenset({0, 3}))
    assert choice.cpus is not None
    moved = plan(choice.cpus)
    assert (moved.engine.cores, moved.lab.sut_cores) == ((1,), (2,))
    assert choice.note == "measuring on other CPUs than usual: another run measures on CPU 0,3"


def test_busy_cpus_are_better_than_those_of_another_run() -> None:
    choice = choose(4, locked=frozenset({0, 3}), busy=(1, 2))
    assert choice.cpus is not None
    moved = plan(choice.cpus)
    assert (moved.engine.cores, moved.lab.sut_cores) == ((1,), (2,))


def test_a_sut_in_the_kernel_leaves_a_choice_on_two_cpus() -> None:
    choice = choose(2, busy=(0,), sut="bridge")
    assert choice.cpus is not None
    assert plan(choice.cpus, sut="bridge").engine.cores == (1,)


def test_a_run_needs_its_cpus_and_ports() -> None:
    assert list_resources([plan((0, 1, 2, 3))]) == {"CPU 0", "CPU 3"}
    assert list_resources([plan((0, 1, 2, 3), sut="bridge")]) == {"CPU 0"}
    antagonist = {"antagonist": {"kind": "cpu", "cores": [2]}}
    assert list_resources([plan((0, 1, 2, 3), **antagonist)]) == {"CPU 0", "CPU 2", "CPU 3"}
    ports = list_resources([plan((0, 1), sut="ext", ports=["eth1", "eth2"])])
    assert {"port eth1", "port eth2"} <= ports


def test_a_run_without_pinned_processes_needs_all_cpus() -> None:
    every = list_resources([plan((0, 1), **{"engine": {"cores": "none"}})])
    assert every == list_resources([plan((0, 1), **{"vnf": {"core": "none"}})])
    assert "CPU 0" in every


def test_named_cpus_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_choice, "choose_cpus", lambda *_: choose(2, busy=(0,), sut="bridge"))
    notes: list[str] = []
    keys = {"sut": "bridge", "engine": {"cores": [0]}}
    with cpu_choice.admit(lambda cpus: (plan(tuple(cpus or (0, 1)), **keys),), notes.append, alongside=True) as (
        plans,
        cpus,
    ):
        assert (plans[0].engine.cores, cpus, notes) == ((0,), None, [])


def test_a_run_that_comes_too_late_chooses_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_lock, "LOCK_ADDRESS", f"\0nodrop.test.{secrets.token_hex(8)}")
    monkeypatch.delenv(machine_lock.ALONGSIDE, raising=False)
    choices = [CpuChoice(), CpuChoice((1, 0), "another run measures on CPU 0")]
    monkeypatch.setattr(cpu_choice, "choose_cpus", lambda *_: choices.pop(0))
    notes: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(f"{machine_lock.LOCK_ADDRESS}.CPU 0")
        with cpu_choice.admit(lambda cpus: (plan(tuple(cpus or (0, 1)), sut="bridge"),), notes.append) as (plans, _):
            assert plans[0].engine.cores == (1,)
    assert notes == ["another run measures on CPU 0"]
