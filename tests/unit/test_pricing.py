"""Placement rules that a host can break, the CPUs for it, and the plans."""

from pathlib import Path
from typing import Any

import pytest
from tests.hosts import Shape, host
from tests.vms import forwarder, sample

from nodrop.errors import ConfigError
from nodrop.model.plan import Plan
from nodrop.model.rule_cost import BASELINE_VARIANT, PlacementRule
from nodrop.model.vmd import VmDescriptor
from nodrop.run.rule_cost import RuleCostRuns, plan_rule_costs
from nodrop.run.rule_cost.cpu_selection import select_cpus
from nodrop.run.rule_cost.plans import RuleCostRequest
from nodrop.run.rule_cost.rules import HostMeans, list_rules

TWO_SOCKETS = host(shape=Shape(nodes=2, cores=8, threads=2))
"""Node 0: CPUs 0 to 7 and their siblings 16 to 23; node 1: 8 to 15 and 24 to 31."""
SMALL = host(shape=Shape(nodes=1, cores=2, threads=1, reserved_cores=0))
ALL = range(32)
MEANS = HostMeans(stress_ng=True)


def plan(
    tmp_path: Path, machine: Any = TWO_SOCKETS, cpus: Any = ALL, means: HostMeans = MEANS, **requested: Any
) -> RuleCostRuns:
    overrides = {"results_dir": str(tmp_path), **requested.pop("overrides", {})}
    return plan_rule_costs(RuleCostRequest(overrides=overrides, **requested), machine, list(cpus), means)


def rules_by_key(planned: RuleCostRuns) -> dict[str, PlacementRule]:
    return {rule.key: rule for rule in planned.pricing.rules}


def first_plan(planned: RuleCostRuns, variant: str) -> Plan:
    return next(each for each in planned.plans if each.variant == variant)


def cpus_of(each: Plan) -> tuple[int | None, ...]:
    return tuple(one.core for one in each.lab.forwarders)


def test_tester_and_forwarder_are_on_two_cores_of_one_node() -> None:
    places = select_cpus(TWO_SOCKETS, ALL)
    assert (places.tester.threads, places.forwarder.threads) == ((0, 16), (7, 23))
    assert [core.threads[0] for core in places.spare] == [6, 5, 4, 3, 2, 1]
    assert {core.node for core in places.other_nodes} == {1}


def test_only_cpus_that_may_be_used_are_chosen() -> None:
    places = select_cpus(TWO_SOCKETS, [3, 9, 10, 26])
    assert (places.tester_cpu, places.forwarder.threads) == (9, (10, 26))
    assert [core.threads for core in places.other_nodes] == [(3,)]


def test_two_threads_of_one_core_are_no_place_that_keeps_all_rules() -> None:
    with pytest.raises(ConfigError, match=r"no two of the usable CPUs \(3,19\) are on cores of one NUMA node"):
        select_cpus(TWO_SOCKETS, [3, 19])


def test_every_rule_can_be_broken_on_two_sockets_with_smt(tmp_path: Path) -> None:
    planned = plan(tmp_path)
    assert not [rule.key for rule in planned.pricing.rules if rule.why_not]
    assert {each.variant for each in planned.plans} == {BASELINE_VARIANT, *rules_by_key(planned)}
    stored = first_plan(planned, BASELINE_VARIANT)
    assert (stored.engine.cores, cpus_of(stored), stored.lab.sut_pages) == ((0,), (7,), "large")
    assert cpus_of(first_plan(planned, "same-core")) == (0,)
    assert cpus_of(first_plan(planned, "sibling")) == (16,)
    assert cpus_of(first_plan(planned, "other-node")) == (8,)
    assert cpus_of(first_plan(planned, "not-pinned")) == (None,)
    assert first_plan(planned, "remote-memory").lab.sut_memory_node == 1
    assert first_plan(planned, "small-pages").lab.sut_pages == "small"
    assert first_plan(planned, "softirq").lab.sut_softirq_core == 7


def test_noisy_neighbors_are_where_only_what_they_stand_for_is_shared(tmp_path: Path) -> None:
    planned = plan(tmp_path)
    noisy = {each.variant: each.lab.antagonists for each in planned.plans if each.lab.antagonists}
    assert {key: [(one.kind, one.core) for one in item] for key, item in noisy.items()} == {
        "sibling-noise": [("cpu", 23)],
        "cpu-noise": [("cpu", 7)],
        "memory-noise": [("memory", 6)],
        "cache-noise": [("cache", 6)],
    }
    assert not any(rules_by_key(planned)[key].note for key in noisy)


def test_identical_vnfs_have_a_cpu_each_as_long_as_there_are_some(tmp_path: Path) -> None:
    planned = plan(tmp_path)
    assert cpus_of(first_plan(planned, "identical-4")) == (7, 6, 5, 4)
    assert first_plan(planned, "identical-4").lab.chain_count == 4
    small = plan(tmp_path, SMALL, range(2))
    assert cpus_of(first_plan(small, "identical-2")) == (1, 1)
    assert "share" in rules_by_key(small)["identical-2"].how
    assert "identical-3" not in rules_by_key(small)


def test_a_placement_differs_from_the_one_that_keeps_all_rules_in_one_thing(tmp_path: Path) -> None:
    planned = plan(tmp_path)
    stored = first_plan(planned, BASELINE_VARIANT)
    for rule in planned.pricing.rules:
        if rule.vnf_count == 1:
            broken = first_plan(planned, rule.key)
            assert broken.traffic == stored.traffic
            assert broken.search == stored.search
            assert broken.engine == stored.engine


def test_what_a_machine_of_two_cpus_cannot_break_is_named(tmp_path: Path) -> None:
    rules = rules_by_key(plan(tmp_path, SMALL, range(2)))
    impossible = {key: rule.why_not for key, rule in rules.items() if rule.why_not}
    assert set(impossible) == {"sibling", "sibling-noise", "other-node", "remote-memory"}
    assert "one usable thread" in impossible["sibling"]
    assert "one NUMA node" in impossible["other-node"]
    assert "also takes CPU time from the forwarder" in rules["cache-noise"].note


def test_what_is_missing_for_a_rule_is_said_with_the_remedy() -> None:
    means = HostMeans(stress_ng=False, large_pages="off", steering="none")
    impossible = {
        each.rule.key: each.rule.why_not
        for each in list_rules(select_cpus(TWO_SOCKETS, ALL), means)
        if each.rule.why_not
    }
    assert impossible["cpu-noise"] == "needs stress-ng: apt install stress-ng"
    assert impossible["small-pages"] == "off"
    assert impossible["softirq"] == "none"


def test_set_ups_take_turns_forth_and_back(tmp_path: Path) -> None:
    planned = plan(tmp_path, rules=["same-core", "cpu-noise"], overrides={"repeat": 3})
    forth = [BASELINE_VARIANT, "same-core", "cpu-noise"]
    assert [each.variant for each in planned.plans] == [*forth, *forth[::-1], *forth[::-1]]
    assert [each.repeat for each in planned.plans] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--rules: unknown rule smae-core; choose from same-core, .*identical"):
        plan(tmp_path, rules=["smae-core"])


@pytest.mark.parametrize("keys", [{"sut": "bridge"}, {"chains": 2}, {"rate": "10kpps"}, {"frame_sizes": [64, 1518]}])
def test_what_is_no_single_forwarder_searched_at_one_size_is_refused(tmp_path: Path, keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(keys))):
        plan(tmp_path, overrides=keys)


@pytest.mark.parametrize(("vm", "expected"), [(sample(), 2**30), (forwarder(), 64 * 2**20)])
def test_a_vms_large_pages_are_the_forwarders_table_within_reason(
    tmp_path: Path, vm: VmDescriptor, expected: int
) -> None:
    planned = plan(tmp_path, vm=vm)
    assert planned.pricing.vm == vm.name
    assert {each.lab.sut_table_bytes for each in planned.plans} == {expected}


def test_choices_are_the_same_each_time(tmp_path: Path) -> None:
    assert plan(tmp_path) == plan(tmp_path)
