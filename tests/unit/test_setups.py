"""Differences of setups: the important ones first, and none that always exists."""

from pathlib import Path

import pytest
from tests.hosts import MOMENT, host
from tests.recorded import record_run
from tests.running import MILLION
from tests.verdicts import rate, run

from nodrop.analysis import diff_setups, diff_summaries
from nodrop.model.chd import CpuState, HostDescriptor
from nodrop.model.result import RunResult


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return record_run(tmp_path_factory.mktemp("results"), MILLION)


def with_facts(result: RunResult, **host: object) -> RunResult:
    assert result.facts
    actual = result.facts.host.model_copy(update=host)
    return result.model_copy(update={"facts": result.facts.model_copy(update={"host": actual})})


def test_two_runs_of_one_configuration_do_not_differ(result: RunResult, tmp_path: Path) -> None:
    again = record_run(tmp_path / "elsewhere", MILLION, label="again")
    assert result.run_id != again.run_id
    assert diff_setups([result], [again]) == ()


def test_what_likely_matters_comes_first(result: RunResult, tmp_path: Path) -> None:
    other = record_run(tmp_path, MILLION, hops=2, search__width="2%", frame_bytes=128)
    actual = diff_setups([result], [with_facts(other, kernel="7.0", memory_bytes=1)])
    texts = [each.text for each in actual]
    order = ["SUT", "traffic", "kernel", "memory in bytes", "goal width"]
    assert [text for text in texts if text in order] == order
    sut = actual[0]
    assert (sut.area, sut.a, sut.b) == ("sut", "vnf-l2", "vnf-l2 x 2 in line")


def test_keys_that_nobody_thought_of_are_told_by_their_names(result: RunResult, tmp_path: Path) -> None:
    other = record_run(tmp_path, MILLION, engine__catch_up="30ms")
    assert [(each.text, each.a, each.b) for each in diff_setups([result], [other])] == [
        ("engine.catch_up_max_s", "0.02", "0.03")
    ]


def test_values_that_vary_on_both_sides_alike_are_no_difference(result: RunResult) -> None:
    faster = with_facts(result, kernel="7.0")
    assert diff_setups([result, faster], [faster, result]) == ()
    (kernel,) = diff_setups([result, faster], [faster])
    assert kernel.b == "7.0" and "7.0" in kernel.a and ", " in kernel.a


def test_a_run_that_never_came_up_has_no_facts_to_differ_in(result: RunResult) -> None:
    assert {each.a for each in diff_setups([result.model_copy(update={"facts": None})], [result])} == {"-"}


def test_of_other_testers_results_what_is_known_is_compared() -> None:
    foreign = run(1, rate(1e6), source="nfvbench", version="3.6.1", kernel="")
    actual = {each.text: (each.a, each.b) for each in diff_summaries([run(0, rate(1e6))], [foreign])}
    assert actual == {
        "kernel": ("6.1", "-"),
        "tester": ("nodrop", "nfvbench"),
        "version of the tester": ("0.1.0", "3.6.1"),
    }


def with_hosts(result: RunResult, *hosts: HostDescriptor | None) -> list[RunResult]:
    assert result.facts
    return [result.model_copy(update={"facts": result.facts.model_copy(update={"chd": each})}) for each in hosts]


def with_settings(**settings: str) -> HostDescriptor:
    value = host()
    observed = {name: MOMENT.reported(text, "test") for name, text in settings.items()}
    return value.model_copy(
        update={"capabilities": value.capabilities.model_copy(update={"settings": observed})},
    )


def test_hosts_that_are_set_up_differently_are_told_likeliest_first(result: RunResult) -> None:
    a = with_settings(swap="off", mitigations="on", isolated_cpus="2-7", clock_source="tsc", zone_reclaim="0")
    b = with_settings(swap="on", mitigations="off", isolated_cpus="none", clock_source="hpet", zone_reclaim="1")
    actual = diff_setups(with_hosts(result, a), with_hosts(result, b))
    assert [(each.text, each.a, each.b) for each in actual] == [
        ("isolated_cpus", "2-7", "none"),
        ("mitigations", "on", "off"),
        ("swap", "off", "on"),
        ("zone_reclaim", "0", "1"),
    ]
    assert actual[0].key == "facts.chd.capabilities.settings.isolated_cpus"
    assert all(each.area == "host" for each in actual)
    assert actual[0].why == "Isolated CPUs lose no time to other work."


def test_what_differs_of_hosts_is_told_before_what_differs_of_the_search(result: RunResult, tmp_path: Path) -> None:
    other = record_run(tmp_path, MILLION, hops=2, search__width="2%")
    actual = diff_setups(
        with_hosts(result, with_settings(swap="off")),
        with_hosts(with_facts(other, kernel="7.0"), with_settings(swap="on")),
    )
    texts = [each.text for each in actual if each.text in ("SUT", "kernel", "swap", "goal width")]
    assert texts == ["SUT", "kernel", "swap", "goal width"]


def test_what_is_free_or_used_at_the_moment_is_no_difference(result: RunResult) -> None:
    a = host()
    (node, *_), others = a.resources.numa_nodes, a.resources.numa_nodes[1:]
    busy = node.memory.model_copy(
        update={"normal": node.memory.normal.model_copy(update={"free_bytes": MOMENT.reported(1, "test")})}
    )
    cpus = node.cpus.model_copy(
        update={"cpu": {**node.cpus.cpu, 1: CpuState(in_use=MOMENT.reported(True, "test"), owners=("vm",))}}
    )
    node = node.model_copy(update={"memory": busy, "cpus": cpus})
    b = a.model_copy(update={"resources": a.resources.model_copy(update={"numa_nodes": (node, *others)})})
    assert diff_setups(with_hosts(result, a), with_hosts(result, b)) == ()


def test_results_of_releases_without_a_descriptor_still_compare(result: RunResult) -> None:
    old, new = with_hosts(result, None, with_settings(swap="on"))
    assert diff_setups([old], [new]) == ()
    assert diff_setups([old, new], [old]) == ()


def test_what_is_known_of_one_side_alone_is_no_difference(result: RunResult) -> None:
    a = with_settings(swap="on")
    hidden = MOMENT.unknown("needs root")
    b = a.model_copy(update={"capabilities": a.capabilities.model_copy(update={"settings": {"swap": hidden}})})
    assert diff_setups(with_hosts(result, a), with_hosts(result, b)) == ()


def test_hosts_that_vary_on_both_sides_alike_are_no_difference(result: RunResult) -> None:
    a, b = with_hosts(result, with_settings(swap="on"), with_settings(swap="off"))
    assert diff_setups([a, b], [b, a]) == ()
    (swap,) = diff_setups([a, b], [b])
    assert (swap.a, swap.b) == ("off, on", "off")
