"""Each constraint of a placement by itself: requirement, result and explanation."""

from typing import Any

import pytest
from tests.hosts import GIB, MOMENT, Shape, host, make_feature
from tests.vms import forwarder, sample

from nodrop.model.chd import HostDescriptor, Tlb, VSwitch
from nodrop.model.observation import Feature, Observation
from nodrop.model.placement import Placement, PlacementResult
from nodrop.model.vmd import Disk, Impact, Interface, OtherIo, Profile, SetLink, SetMemory, VcpuSet, VmDescriptor
from nodrop.vm.place import HostReserve, PlacementOptions, build_inventory, place_vm, subtract_placement
from nodrop.vm.ranking.rankings import BenchmarkRanking, FeatureRanking

GBPS = 1e9


def vm(**changes: Any) -> VmDescriptor:
    """Return the forwarder with another profile."""
    return VmDescriptor(name="vm", profiles=(forwarder().profiles[0].model_copy(update=changes),))


def sets(*vcpu_counts: int, **changes: Any) -> tuple[VcpuSet, ...]:
    begin, created = 0, []
    for count in vcpu_counts:
        memory = changes.get("memory") or SetMemory(total_bytes=GIB)
        rest = {key: value for key, value in changes.items() if key != "memory"}
        created.append(VcpuSet(vcpus=tuple(range(begin, begin + count)), memory=memory, **rest))
        begin += count
    return tuple(created)


def require_placement(result: PlacementResult) -> Placement:
    assert result.placement, result.rejections
    return result.placement


def constraints(result: PlacementResult) -> list[str]:
    assert result.placement is None
    return [each.constraint for each in result.rejections[0].violations]


def processor(chd: HostDescriptor, **changes: Any) -> HostDescriptor:
    capabilities = chd.capabilities
    changed = capabilities.processor.model_copy(update=changes)
    return chd.model_copy(update={"capabilities": capabilities.model_copy(update={"processor": changed})})


def hypervisor(chd: HostDescriptor, **changes: Any) -> HostDescriptor:
    capabilities = chd.capabilities
    changed = capabilities.hypervisor.model_copy(update=changes)
    return chd.model_copy(update={"capabilities": capabilities.model_copy(update={"hypervisor": changed})})


def vm_with_processor(**changes: Any) -> VmDescriptor:
    return vm(processor=forwarder().profiles[0].processor.model_copy(update=changes))


# The sample of clause 8.2.2.4


def test_the_sample_of_clause_8_2_2_4_has_its_pairs_on_sibling_threads_and_its_interfaces_on_its_node() -> None:
    placement = require_placement(place_vm(sample(), [host()]))
    first, second = placement.sets
    assert first.node == second.node
    for piece in placement.sets:
        vcpus = sorted(piece.cpus)
        for one, other in zip(vcpus[::2], vcpus[1::2], strict=True):
            # tests/hosts.py numbers the second thread of a core 16 further.
            assert piece.cpus[other] == piece.cpus[one] + 16
    assert [each.mode for each in first.interfaces] == ["dedicated", "sriov"]
    assert first.large_page_count == 4
    assert first.normal_bytes == 6 * GIB
    assert not {cpu for piece in placement.sets for cpu in piece.cpus.values()} & set(placement.emulator_cpus)


def test_sets_go_to_two_nodes_when_one_has_no_room_for_both_or_when_that_is_asked() -> None:
    small = host("small", Shape(cores=6))
    assert {each.node for each in require_placement(place_vm(sample(), [small])).sets} == {0, 1}
    apart = sample().model_copy(
        update={"profiles": (sample().profiles[0].model_copy(update={"separate_nodes": True}),)}
    )
    placement = require_placement(place_vm(apart, [host()]))
    assert {each.node for each in placement.sets} == {0, 1}
    assert placement.links[0].bytes_per_s == 0.1e9 / 8


# Processor, hypervisor: C1 to C3


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"vendor": "AMD"}, "vendor AMD"),
        ({"architecture": "aarch64"}, "architecture aarch64"),
        ({"isa_extensions": ("aes", "avx512f")}, "no avx512f"),
    ],
)
def test_a_processor_of_another_kind_will_not_do(asked: dict[str, Any], says: str) -> None:
    violation = place_vm(vm_with_processor(**asked), [host()]).rejections[0].violations[0]
    assert violation.constraint == "processor"
    assert says in violation.asked + violation.found


def test_an_unknown_fact_refuses_a_host_and_says_why_unless_unknown_is_to_pass() -> None:
    blind = processor(host(), isa_extensions=Observation[tuple[str, ...]](why="needs root"))
    requested = vm_with_processor(isa_extensions=("aes",))
    violation = place_vm(requested, [blind]).rejections[0].violations[0]
    assert violation.found == "unknown (needs root)"
    passed = require_placement(place_vm(requested, [blind], options=PlacementOptions(unknown_passes=True)))
    assert any("unknown" in each for each in passed.warnings)


def test_a_capability_has_to_be_supported_and_switched_on_for_sure() -> None:
    requested = vm(hypervisor=forwarder().profiles[0].hypervisor.model_copy(update={"capabilities": ("iommu_slat",)}))
    assert require_placement(place_vm(requested, [host()]))
    capabilities = host().capabilities.hypervisor.capabilities
    for feature, says in (
        (make_feature(False), "not supported"),
        (Feature(supported=MOMENT.reported(True, "test"), enabled=MOMENT.reported(False, "test")), "not enabled"),
        (Feature(supported=MOMENT.reported(True, "test")), "unknown"),
    ):
        other = hypervisor(host(), capabilities=capabilities.model_copy(update={"iommu_slat": feature}))
        assert place_vm(requested, [other]).rejections[0].violations[0].found == says


def test_versions_of_hypervisors_are_compared_as_numbers() -> None:
    requested = forwarder().profiles[0].hypervisor
    newer = vm(hypervisor=requested.model_copy(update={"version_min": "6.10"}))
    older = vm(hypervisor=requested.model_copy(update={"version_min": "5.15"}))
    assert constraints(place_vm(newer, [host()])) == ["hypervisor"]
    assert require_placement(place_vm(older, [host()]))


def test_every_violated_constraint_of_a_host_is_told() -> None:
    requested = Profile(
        processor=forwarder().profiles[0].processor.model_copy(update={"vendor": "AMD"}),
        vcpu_sets=sets(40, memory=SetMemory(total_bytes=100 * GIB, large_page_bytes=GIB, large_page_count=50)),
        other_io=(OtherIo(),),
    )
    report = constraints(place_vm(VmDescriptor(name="vm", profiles=(requested,)), [host()]))
    assert set(report) == {"processor", "cpus", "large pages", "memory", "devices"}
    assert report[0] == "processor"


# Ranking: the 75 % rule and others


def test_at_75_percent_of_the_clock_75_percent_is_guaranteed_and_labeled() -> None:
    slow = host("slow", Shape(base_mhz=2025.0))
    refused = place_vm(forwarder(), [slow])
    assert "0.75 guaranteed" in refused.rejections[0].violations[0].found
    placement = require_placement(place_vm(forwarder(), [slow], options=PlacementOptions(guarantee_min_ratio=0.75)))
    assert placement.guarantee.ratio == 0.75
    assert placement.guarantee.label.startswith("extrapolated (worst-case)")


def test_a_faster_clock_gives_no_credit() -> None:
    fast = host("fast", Shape(base_mhz=3600.0))
    assert require_placement(place_vm(forwarder(), [fast])).guarantee.ratio == 1.0


def test_a_vmd_can_be_content_with_less_by_its_rank() -> None:
    slow = host("slow", Shape(base_mhz=2025.0))
    assert require_placement(place_vm(vm_with_processor(rank_min=0.7), [slow])).guarantee.ratio == 0.75


@pytest.mark.parametrize(
    ("model", "does"),
    [
        ("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.70GHz", True),
        ("Intel(R) Xeon(R) Gold 6230 CPU @ 2.70GHz", True),
        ("Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", False),
        ("Something(R) Else", False),
    ],
)
def test_the_worst_case_holds_for_the_same_or_a_newer_generation_alone(model: str, does: bool) -> None:
    other = processor(host(), model=MOMENT.reported(model, "test"))
    result = place_vm(vm_with_processor(model="E5-2680 v2"), [other])
    assert bool(result.placement) is does
    if result.placement:
        assert any(model in each for each in result.placement.substitutions)


def test_slower_cores_are_made_up_for_by_more_where_the_vm_scales() -> None:
    slow = host("slow", Shape(base_mhz=1800.0))
    pairs = VcpuSet(vcpus=(0, 1, 2, 3), pairs=((0, 1), (2, 3)), memory=SetMemory(total_bytes=GIB))
    placement = require_placement(place_vm(vm(scales_with_cores=True, vcpu_sets=(pairs,)), [slow]))
    # 4 vCPUs at 2.7 GHz are 6 at 1.8 GHz.
    assert len(placement.sets[0].cpus) == 6
    assert placement.scaled
    assert placement.scaled.vcpu_sets[0].pairs == ((0, 1), (2, 3), (4, 5))
    assert placement.guarantee.ratio == 1.0
    assert "extrapolated" in placement.guarantee.label


def test_a_table_of_benchmarks_ranks_by_its_figures_and_names_its_source() -> None:
    table = BenchmarkRanking("a benchmark", "who measured", {"E5-2680 v2": 200.0, "E5-2680": 150.0})
    requested = vm_with_processor(model="E5-2680 v2")
    refused = place_vm(requested, [host()], ranking=table).rejections[0].violations[0]
    assert (refused.asked, refused.found) == ("200 in a benchmark", "150")
    placement = require_placement(
        place_vm(requested, [host()], ranking=table, options=PlacementOptions(guarantee_min_ratio=0.7))
    )
    assert placement.guarantee.ratio == 0.75
    assert "who measured" in placement.guarantee.label


def test_features_rank_by_what_falls_short_the_most() -> None:
    tlb = Tlb(level=1, kind="data", page_sizes=("1G",), entries_count=MOMENT.reported(4, "test"))
    reference = processor(host(), tlbs=(tlb,)).capabilities.processor
    less = tlb.model_copy(update={"entries_count": MOMENT.reported(2, "test")})
    other = processor(host(), tlbs=(less,), model=MOMENT.reported("Intel(R) Xeon(R) CPU E5-2680 v2 @ 2.80GHz", "test"))
    refused = place_vm(forwarder(), [other], ranking=FeatureRanking(reference)).rejections[0].violations[0]
    assert refused.found == "0.5 of its L1 data TLB for 1G"


# CPUs: C5, C6, C11


def test_a_core_is_never_shared_with_another_vm() -> None:
    one = require_placement(place_vm(vm(vcpu_sets=sets(1)), [host("a", Shape(nodes=1, cores=3))]))
    left = subtract_placement(host("a", Shape(nodes=1, cores=3)), one)
    second = require_placement(place_vm(vm(vcpu_sets=sets(1)), [left]))
    assert second.sets[0].cpus[0] != one.sets[0].cpus[0] + 3
    assert constraints(place_vm(vm(vcpu_sets=sets(1)), [subtract_placement(left, second)])) == ["cpus"]


def test_isolated_vcpus_leave_the_sibling_empty_and_required_ones_use_it() -> None:
    small = host("a", Shape(nodes=1, cores=3))
    assert constraints(place_vm(vm(vcpu_sets=sets(3), thread_policy="isolate"), [small])) == ["thread pairs"]
    assert require_placement(place_vm(vm(vcpu_sets=sets(3), thread_policy="require"), [small]))
    flat = host("b", Shape(nodes=1, cores=6, threads=1))
    assert constraints(place_vm(vm(vcpu_sets=sets(2), thread_policy="require"), [flat])) == ["thread pairs"]
    assert require_placement(place_vm(vm(vcpu_sets=sets(2), thread_policy="prefer"), [flat]))


def test_without_smt_pairs_have_two_cores_of_one_cluster_and_that_is_a_substitution() -> None:
    flat = host("flat", Shape(nodes=1, cores=8, threads=1))
    node = flat.resources.numa_nodes[0]
    clusters = Observation[tuple[tuple[int, ...], ...]](
        value=((0, 1, 2, 3), (4, 5, 6, 7)), source="test", confidence="reported"
    )
    report = flat.model_copy(
        update={
            "resources": flat.resources.model_copy(
                update={
                    "numa_nodes": (
                        node.model_copy(update={"cpus": node.cpus.model_copy(update={"clusters": clusters})}),
                    )
                }
            )
        }
    )
    pairs = VcpuSet(vcpus=(0, 1, 2, 3, 4, 5), pairs=((0, 1), (2, 3), (4, 5)), memory=SetMemory(total_bytes=GIB))
    placement = require_placement(place_vm(vm(vcpu_sets=(pairs,)), [report]))
    for one, other in pairs.pairs:
        assert placement.sets[0].cpus[one] // 4 == placement.sets[0].cpus[other] // 4
    assert any("SMT is off" in each for each in placement.substitutions)
    assert not placement.warnings
    unknown = require_placement(place_vm(vm(vcpu_sets=(pairs,)), [flat]))
    assert any("last-level caches is unknown" in each for each in unknown.warnings)


def test_a_host_keeps_a_core_and_memory_for_itself() -> None:
    bare = host("bare", Shape(nodes=1, cores=2, reserved_cores=0))
    assert constraints(place_vm(vm(vcpu_sets=sets(4)), [bare])) == ["host reserve"]
    placement = require_placement(
        place_vm(vm(vcpu_sets=sets(4)), [bare], options=PlacementOptions(reserve=HostReserve(core_count=0)))
    )
    assert any("hypervisor threads" in each for each in placement.warnings)
    most = vm(vcpu_sets=sets(1, memory=SetMemory(total_bytes=46 * GIB)))
    assert constraints(place_vm(most, [bare])) == ["host reserve"]
    assert require_placement(place_vm(most, [bare], options=PlacementOptions(reserve=HostReserve(memory_bytes=0))))


# Memory, ports, links, devices, impact: C7 to C10, C12


def test_unknown_pages_are_no_pages() -> None:
    chd = host("a", Shape(nodes=1))
    node = chd.resources.numa_nodes[0]
    pages = node.memory.large_pages[0].model_copy(update={"used_count": Observation[int](why="no such file")})
    memory = node.memory.model_copy(update={"large_pages": (pages,)})
    resources = chd.resources.model_copy(update={"numa_nodes": (node.model_copy(update={"memory": memory}),)})
    blind = chd.model_copy(update={"resources": resources})
    requested = vm(vcpu_sets=sets(1, memory=SetMemory(total_bytes=GIB, large_page_bytes=GIB, large_page_count=1)))
    violation = place_vm(requested, [blind]).rejections[0].violations[0]
    assert (violation.constraint, violation.found) == ("large pages", "1 GiB: unknown")


def test_interfaces_are_on_the_node_of_their_set() -> None:
    chd = host("a", Shape(cores=4))
    full = subtract_placement(chd, require_placement(place_vm(vm(vcpu_sets=sets(6)), [chd])))
    interface = (Interface(speed_bps=10 * GBPS, mode="dedicated"),)
    dedicated = vm(vcpu_sets=sets(2, interfaces=interface))
    assert require_placement(place_vm(dedicated, [full])).sets[0].interfaces[0].pci_id.startswith("0000:83")
    elsewhere = full.model_copy(
        update={
            "resources": full.resources.model_copy(
                update={
                    "numa_nodes": (
                        full.resources.numa_nodes[0],
                        full.resources.numa_nodes[1].model_copy(update={"nics": ()}),
                    )
                }
            )
        }
    )
    assert constraints(place_vm(dedicated, [elsewhere])) == ["cpus", "interfaces"]


def test_vfs_are_given_while_the_port_can_carry_them() -> None:
    interface = (Interface(speed_bps=10 * GBPS, bandwidth_bps=4 * GBPS, mode="sriov"),)
    chd = host("a", Shape(nodes=1, cores=16))
    ends = []
    for _ in range(2):
        placement = require_placement(place_vm(vm(vcpu_sets=sets(1, interfaces=interface)), [chd]))
        ends.append(placement.sets[0].interfaces[0].pci_id)
        chd = subtract_placement(chd, placement)
    assert ends == ["0000:03:10.0", "0000:03:10.1"]
    # 8 of 10 Gb/s are reserved.
    assert constraints(place_vm(vm(vcpu_sets=sets(1, interfaces=interface)), [chd])) == ["interfaces"]


def test_the_slot_of_a_card_limits_its_ports_together() -> None:
    chd = host("a", Shape(nodes=1, speed_gbps=25, ports=2))
    both = tuple(Interface(speed_bps=25 * GBPS, mode="dedicated") for _ in range(2))
    # tests/hosts.py states 29.8 Gb/s for the slot.
    violation = place_vm(vm(vcpu_sets=sets(1, interfaces=both)), [chd]).rejections[0].violations[0]
    assert violation.constraint == "interfaces"
    assert require_placement(place_vm(vm(vcpu_sets=sets(1, interfaces=both[:1])), [chd]))


def test_a_virtual_switch_has_to_be_accelerated_where_that_is_asked_and_its_burden_is_told() -> None:
    chd = host("a", Shape(nodes=1))
    node = chd.resources.numa_nodes[0]
    nic = node.nics[0]
    uplink = nic.model_copy(update={"ports": (nic.ports[0].model_copy(update={"vswitch": "br0"}), nic.ports[1])})
    resources = chd.resources.model_copy(update={"numa_nodes": (node.model_copy(update={"nics": (uplink,)}),)})

    def with_switch(acceleration: str) -> HostDescriptor:
        switch = VSwitch(
            name="br0",
            kind=MOMENT.reported("ovs-dpdk", "test"),
            acceleration=MOMENT.reported(acceleration, "test"),
            cpus=MOMENT.reported((1,), "test"),
        )
        capabilities = chd.capabilities.model_copy(update={"vswitches": (switch,)})
        return chd.model_copy(update={"capabilities": capabilities, "resources": resources})

    interface = (Interface(speed_bps=10 * GBPS, bandwidth_bps=GBPS, mode="vswitch"),)
    wants = forwarder().profiles[0].hypervisor.model_copy(update={"accelerated_vswitch": True})
    requested = vm(hypervisor=wants, vcpu_sets=sets(2, interfaces=interface))
    placement = require_placement(place_vm(requested, [with_switch("dpdk")]))
    assert placement.sets[0].interfaces[0].vswitch == "br0"
    assert 1 not in placement.sets[0].cpus.values(), "the switch polls there"
    assert any("bottleneck" in each for each in placement.warnings)
    assert set(constraints(place_vm(requested, [with_switch("none")]))) == {"hypervisor", "interfaces"}


def test_links_between_nodes_are_warned_of_when_unknown_and_refused_when_too_thin() -> None:
    apart = Profile(vcpu_sets=sets(2, 2), links=(SetLink(sets=(0, 1), bandwidth_bps=80 * GBPS),), separate_nodes=True)
    requested = VmDescriptor(name="vm", profiles=(apart,))
    assert any("between nodes 0 and 1" in each for each in require_placement(place_vm(requested, [host()])).warnings)
    chd = host()
    link = chd.resources.links[0]
    thin = link.model_copy(
        update={"bandwidth": link.bandwidth.model_copy(update={"total_bytes_per_s": MOMENT.reported(5e9, "test")})}
    )
    other = chd.model_copy(update={"resources": chd.resources.model_copy(update={"links": (thin,)})})
    assert "node links" in constraints(place_vm(requested, [other]))


def test_identical_vms_are_no_more_than_the_vm_says() -> None:
    requested = vm(impact=Impact(option=2, identical_max_count=2), vcpu_sets=sets(1))
    chd = host("a", Shape(nodes=1))
    for name in ("vm", "vm#2"):
        chd = subtract_placement(chd, require_placement(place_vm(requested, [chd], vm=name)))
    assert constraints(place_vm(requested, [chd], vm="vm#3")) == ["impact"]


def test_what_antagonists_cost_is_taken_off_the_promise_beside_others() -> None:
    requested = vm(impact=Impact(option=1, degradation_max_ratio={"cache": 0.2}), vcpu_sets=sets(1))
    assert require_placement(place_vm(requested, [host()])).guarantee.ratio == 1.0
    remaining = subtract_placement(host(), require_placement(place_vm(forwarder(), [host()])))
    placement = require_placement(place_vm(requested, [remaining]))
    assert placement.guarantee.ratio == pytest.approx(0.8)
    assert any("forwarder" in each for each in placement.warnings)


def test_storage_is_said_to_be_unchecked() -> None:
    assert any(
        "storage" in each for each in require_placement(place_vm(vm(disks=(Disk(size_bytes=GIB),)), [host()])).warnings
    )


# Profiles, policies, several hosts


def test_the_first_profile_that_a_host_meets_is_used() -> None:
    amd = (
        forwarder()
        .profiles[0]
        .model_copy(
            update={"name": "amd", "processor": forwarder().profiles[0].processor.model_copy(update={"vendor": "AMD"})}
        )
    )
    both = VmDescriptor(name="vm", profiles=(amd, *forwarder().profiles))
    assert require_placement(place_vm(both, [host()])).profile == 1
    refused = place_vm(both.model_copy(update={"profiles": (amd, amd)}), [host()])
    assert refused.rejections[0].violations[0].where == "profile amd"


def test_policies_choose_as_they_say() -> None:
    small, large = host("small", Shape(nodes=1, cores=4)), host("large", Shape(nodes=1, cores=16))
    assert require_placement(place_vm(forwarder(), [large, small], "best-fit")).host_id == "small"
    assert require_placement(place_vm(forwarder(), [large, small], "spread")).host_id == "large"
    exact, fast = host("exact", Shape(nodes=1, cores=16)), host("fast", Shape(nodes=1, cores=8, speed_gbps=25))
    requested = vm(vcpu_sets=sets(2, interfaces=(Interface(speed_bps=10 * GBPS, mode="dedicated"),)))
    assert require_placement(place_vm(requested, [exact, fast], "best-fit")).host_id == "fast"
    assert require_placement(place_vm(requested, [exact, fast], "minimal-substitutions")).host_id == "exact"


def test_a_vm_without_topology_may_be_in_pieces() -> None:
    chd = host("a", Shape(cores=4))
    whole = vm(vcpu_sets=sets(10))
    assert set(constraints(place_vm(whole, [chd]))) == {"cpus"}
    placement = require_placement(place_vm(vm(vcpu_sets=sets(10), topology="unrestricted"), [chd]))
    assert {each.node for each in placement.sets} == {0, 1}
    assert sorted(vcpu for each in placement.sets for vcpu in each.cpus) == list(range(10))
    assert sum(each.normal_bytes for each in placement.sets) == GIB
    assert subtract_placement(chd, placement)


# Remaining resources


def test_a_host_afterwards_keeps_what_a_descriptor_has_to_keep() -> None:
    before = host()
    after = subtract_placement(before, require_placement(place_vm(sample(), [before], vm="bng")))
    node = after.resources.numa_nodes[0]
    used = [cpu for cpu, state in node.cpus.cpu.items() if state.owners == ("bng",)]
    assert len(used) == 14
    assert all(node.cpus.cpu[cpu].in_use.value and node.cpus.cpu[cpu].use.value == "dedicated" for cpu in used)
    assert node.memory.large_pages[0].used_count.value == 6
    assert (
        node.memory.normal.free_bytes.value == before.resources.numa_nodes[0].memory.normal.free_bytes.value - 8 * GIB
    )
    port, shared = node.nics[0].ports
    assert (port.use.value, port.owners) == ("dedicated", ("bng",))
    assert shared.sriov
    assert [(vf.owner, vf.pacing_bps.value) for vf in shared.sriov.vfs[:2]] == [("bng", 5e9), ("", 0.0)]
    assert after.resources.numa_nodes[1] == before.resources.numa_nodes[1]
    assert HostDescriptor.model_validate_json(after.model_dump_json()) == after


def test_slack_is_what_the_next_vm_finds() -> None:
    placement = require_placement(place_vm(sample(), [host()]))
    left = build_inventory(subtract_placement(host(), placement))
    assert placement.slack["host_core_count"] == sum(node.whole_count for node in left.nodes) == 7
    assert placement.slack["node_0_1_GiB_page_count"] == 10


# Hostile


def test_a_host_without_nodes_is_refused_in_words() -> None:
    chd = host()
    empty = chd.model_copy(update={"resources": chd.resources.model_copy(update={"numa_nodes": ()})})
    assert constraints(place_vm(forwarder(), [empty])) == ["node"]


def test_absurd_sums_are_refused_and_not_waited_for() -> None:
    absurd = VmDescriptor(
        name="vm",
        profiles=(
            Profile(
                vcpu_sets=sets(
                    2,
                    2,
                    2,
                    2,
                    memory=SetMemory(total_bytes=10**18, large_page_bytes=GIB, large_page_count=9 * 10**8),
                    interfaces=(Interface(speed_bps=1e300, bandwidth_bps=1e300, mode="sriov"),),
                )
            ),
        ),
    )
    assert {"large pages", "interfaces"} <= set(constraints(place_vm(absurd, [host()])))


def test_a_search_that_would_not_end_is_ended_and_says_so() -> None:
    chd = host("a", Shape(nodes=12, cores=9, memory_gib=64))
    nodes = tuple(
        node.model_copy(
            update={
                "memory": node.memory.model_copy(
                    update={
                        "normal": node.memory.normal.model_copy(
                            update={"free_bytes": MOMENT.reported((20 + node.id) * GIB, "test")}
                        )
                    }
                )
            }
        )
        for node in chd.resources.numa_nodes
    )
    uneven = chd.model_copy(update={"resources": chd.resources.model_copy(update={"numa_nodes": nodes})})
    # 25 sets of three cores on twelve nodes that all differ and fit two sets each.
    profile = Profile(
        vcpu_sets=sets(*[5 if each % 2 else 6 for each in range(25)]),
        links=(SetLink(sets=(0, 1), bandwidth_bps=1.0),),
    )
    many = VmDescriptor(name="vm", profiles=(profile,))
    violation = place_vm(many, [uneven], options=PlacementOptions(steps_max=3000)).rejections[0].violations[0]
    assert "undecided after 3,000 steps" in violation.found


def test_4096_cpus_are_placed() -> None:
    large = host("large", Shape(nodes=8, cores=256, threads=2))
    assert (
        len(
            require_placement(place_vm(vm(vcpu_sets=sets(400, memory=SetMemory(total_bytes=GIB))), [large]))
            .sets[0]
            .cpus
        )
        == 400
    )
