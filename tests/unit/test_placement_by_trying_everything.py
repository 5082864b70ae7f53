"""Placement compared with exhaustive search, on random small hosts and VMs.

`NODROP_PLACEMENT_CASES=20000` tries more than CI has time for, `NODROP_PLACEMENT_SEED=1000000` others.
"""

import os
import random
from typing import NamedTuple

import pytest
from tests.hosts import GIB
from tests.placing import Rules, find_best_rank, find_faults, random_host, random_vm

from nodrop.model.chd import HostDescriptor
from nodrop.model.vmd import VmDescriptor
from nodrop.vm.place import (
    HostReserve,
    PlacementOptions,
    build_inventory,
    choose_host,
    explain_decision,
    subtract_placement,
)
from nodrop.vm.place.assemble import assemble_placement

CASES = int(os.environ.get("NODROP_PLACEMENT_CASES", "800"))
SEED = int(os.environ.get("NODROP_PLACEMENT_SEED", "0"))
CHUNKS = 8


class Case(NamedTuple):
    seed: int
    host: HostDescriptor
    vmd: VmDescriptor
    rules: Rules

    @property
    def options(self) -> PlacementOptions:
        return PlacementOptions(
            policy=self.rules.policy, reserve=HostReserve(self.rules.reserve_cores, self.rules.reserve_bytes)
        )


def case(seed: int) -> Case:
    draw = random.Random(seed)
    host, vmd = random_host(draw), random_vm(draw)
    policy = draw.choice(("best-fit", "spread", "minimal-substitutions"))
    return Case(seed, host, vmd, Rules(policy, draw.choice((0, 1)), draw.choice((0, GIB))))


def cases(chunk: int) -> "list[Case]":
    return [case(SEED + number) for number in range(chunk, CASES, CHUNKS)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_vm_is_placed_exactly_where_trying_everything_finds_a_place_and_as_well(chunk: int) -> None:
    for each in cases(chunk):
        decision = choose_host(each.vmd, [build_inventory(each.host)], each.options)
        truth = find_best_rank(each.vmd, each.host, each.rules)
        if not decision.candidates:
            assert truth is None, f"seed {each.seed}: a place was missed"
            continue
        placement = assemble_placement("vm", decision.candidates[0])
        assert find_faults(placement, each.vmd, each.host, each.rules) == [], f"seed {each.seed}"
        restricted = each.vmd.profiles[0].topology == "restricted"
        assert truth is not None or not restricted, f"seed {each.seed}: placed where there is no place"
        if truth is not None:
            assert decision.candidates[0].key[1:] == truth, f"seed {each.seed}: a better place was missed"


def test_the_random_cases_are_no_foregone_conclusion() -> None:
    placed = sum(
        bool(choose_host(each.vmd, [build_inventory(each.host)], each.options).candidates) for each in cases(0)
    )
    assert 0.25 * len(cases(0)) < placed < 0.75 * len(cases(0))


def test_every_refused_host_is_told_why() -> None:
    for each in cases(1):
        result = explain_decision(choose_host(each.vmd, [build_inventory(each.host)], each.options))
        for rejection in result.rejections:
            assert rejection.violations, f"seed {each.seed}"


def test_what_a_placement_leaves_is_counted_as_the_first_vm_would_be_there() -> None:
    """The same external rules judge a second VM on the remaining descriptor, from that descriptor alone."""
    seconds = 0
    for each in cases(2):
        first = explain_decision(choose_host(each.vmd, [build_inventory(each.host)], each.options, "first")).placement
        if first is None:
            continue
        left = subtract_placement(each.host, first)
        decision = choose_host(each.vmd, [build_inventory(left)], each.options, "second")
        if not decision.candidates:
            assert find_best_rank(each.vmd, left, each.rules) is None, f"seed {each.seed}"
            continue
        second = assemble_placement("second", decision.candidates[0])
        assert find_faults(second, each.vmd, left, each.rules) == [], f"seed {each.seed}"
        assert not _double_use(first, second, each.vmd), f"seed {each.seed}"
        seconds += 1
    assert seconds


def _double_use(first, second, vmd: VmDescriptor) -> set[object]:  # type: ignore[no-untyped-def]
    def cpus(placement) -> set[int]:  # type: ignore[no-untyped-def]
        if vmd.profiles[0].cpu_oversubscription_allowed:
            return set()
        return {cpu for each in placement.sets for cpu in each.cpus.values()}

    def functions(placement) -> set[str]:  # type: ignore[no-untyped-def]
        ends = [end for each in placement.sets for end in each.interfaces if end.mode != "vswitch"]
        return {end.pci_id for end in ends}

    return (cpus(first) & cpus(second)) | (functions(first) & functions(second))


def shuffle_host(host: HostDescriptor, draw: random.Random) -> HostDescriptor:
    """Return the same host with its lists in another order."""

    def mixed(items):  # type: ignore[no-untyped-def]
        return tuple(draw.sample(items, len(items)))

    nodes = [
        node.model_copy(
            update={
                "cpus": node.cpus.model_copy(
                    update={
                        "sibling_sets": mixed(tuple(mixed(each) for each in node.cpus.sibling_sets)),
                        "cpu": dict(mixed(tuple(node.cpus.cpu.items()))),
                    }
                ),
                "nics": mixed(tuple(nic.model_copy(update={"ports": mixed(nic.ports)}) for nic in node.nics)),
            }
        )
        for node in host.resources.numa_nodes
    ]
    return host.model_copy(update={"resources": host.resources.model_copy(update={"numa_nodes": mixed(tuple(nodes))})})


def test_the_order_of_what_is_in_a_file_does_not_matter() -> None:
    for each in cases(3):
        draw = random.Random(each.seed)
        before = explain_decision(choose_host(each.vmd, [build_inventory(each.host)], each.options))
        after = explain_decision(choose_host(each.vmd, [build_inventory(shuffle_host(each.host, draw))], each.options))
        assert before == after, f"seed {each.seed}"


def test_of_several_hosts_the_best_is_taken_in_whatever_order_they_come() -> None:
    chosen = 0
    for number in range(0, CASES // CHUNKS, 4):
        first, *others = (case(SEED + number + each) for each in range(4))
        hosts = [random_host(random.Random(each.seed), f"host-{at}") for at, each in enumerate((first, *others))]
        worth = {host.host.id.value: find_best_rank(first.vmd, host, first.rules) for host in hosts}
        results = [
            explain_decision(choose_host(first.vmd, [build_inventory(each) for each in order], first.options))
            for order in (hosts, hosts[::-1])
        ]
        assert results[0] == results[1], f"seed {first.seed}"
        placement = results[0].placement
        if placement is None or first.vmd.profiles[0].topology != "restricted":
            continue
        result = {name: each for name, each in worth.items() if each is not None}
        assert placement.host_id == min(result, key=lambda name: (result[name], name)), f"seed {first.seed}"
        assert {placement.host_id, *results[0].alternatives} == set(result), f"seed {first.seed}"
        chosen += 1
    assert chosen
