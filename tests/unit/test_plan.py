"""Plans: complete, and free of contradictions."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, get_args

import pytest

from nodrop.config.load import build_config
from nodrop.config.schema import GoalConfig, SearchConfig
from nodrop.errors import ConfigError
from nodrop.model.choices import SutKind
from nodrop.model.goal import Bound, GoalResult, Limit
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.search_plan import EarlierGoal
from nodrop.plan import build_plan
from nodrop.plan.resolvers import Resolvers
from nodrop.rates import compute_line_rate_pps

SEARCH_PAGE = (Path(__file__).parents[2] / "docs/reference/search-options.md").read_text()


def plan(cpus: tuple[int, ...] = (0, 1), **overrides: Any) -> Plan:
    keys = {key.replace("__", "."): value for key, value in overrides.items()}
    return build_plan(build_config((), keys), cpus=cpus)


@pytest.mark.parametrize(
    ("frame_bytes", "frames_per_second"),
    [(64, 14_880_952), (128, 8_445_945), (512, 2_349_624), (1518, 812_743)],
)
def test_line_rates_are_those_of_the_standard(frame_bytes: int, frames_per_second: int) -> None:
    """Source: RFC 5180 appendix A.1, 10 Gb/s, fractions of a frame cut off."""
    assert int(compute_line_rate_pps(frame_bytes)) == frames_per_second


def test_the_highest_load_is_the_line_rate_of_both_directions_together() -> None:
    assert plan().search.max_load_pps == pytest.approx(2 * 14_880_952.4, rel=1e-6)
    assert plan(bidirectional=False).search.max_load_pps == pytest.approx(14_880_952.4, rel=1e-6)


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_one_width_at_the_lowest_load_is_a_frame_of_each_direction(profile: str) -> None:
    search = plan(profile=profile).search
    frames = search.min_load_pps * search.initial_trial_duration_s * search.width_ratio
    assert frames >= 2 or frames == pytest.approx(2)


def test_the_standard_profile_is_what_the_draft_lists() -> None:
    """draft-ietf-bmwg-mlrsearch-01 section 5.1.1."""
    search = plan(profile="standard").search
    assert (search.initial_trial_duration_s, search.final_trial_duration_s) == (1.0, 30.0)
    assert (search.width_ratio, search.intermediate_phases) == (0.005, 2)
    assert (search.search_duration_max_s, search.expansion_coefficient) == (600.0, 4.0)
    assert [goal.loss_ratio for goal in search.goals] == [0.0, 0.005]


def test_the_csit_profile_is_what_the_library_of_csit_has_by_default() -> None:
    """MLRsearch 1.2.1: SearchGoal and Config."""
    search = plan(profile="csit").search
    assert search.algorithm == "mlrsearch-rfc9971"
    assert [goal.loss_ratio for goal in search.goals] == [0.0, 0.005]
    for goal in search.goals:
        assert (goal.exceed_ratio, goal.width_ratio, goal.duration_sum_s) == (0.5, 0.005, 21.0)
        assert (goal.initial_trial_duration_s, goal.final_trial_duration_s) == (1.0, 1.0)
    assert (search.preceding_targets, search.expansion_coefficient, search.overhead_s) == (2, 2.0, 0.5)
    assert search.search_duration_max_s == 1200.0


def test_every_goal_of_a_plan_has_every_attribute() -> None:
    goals = {"NDR": 0.0, "long": {"loss_ratio": "0.1%", "final_trial_duration": "20s", "width": "2%"}}
    ndr, long = plan(goals=goals, search__algorithm="mlrsearch-rfc9971", search__exceed_ratio="10%").search.goals
    assert ndr.model_dump() == {
        "label": "NDR",
        "loss_ratio": 0.0,
        "exceed_ratio": 0.1,
        "initial_trial_duration_s": 0.5,
        "final_trial_duration_s": 5.0,
        "duration_sum_s": 5.0,
        "width_ratio": 0.01,
    }
    assert (long.final_trial_duration_s, long.duration_sum_s, long.width_ratio) == (20.0, 20.0, 0.02)


def test_what_a_profile_says_gives_way_to_what_was_asked() -> None:
    longer = plan(profile="csit", search__final_trial_duration="60s").search.goals[0]
    assert (longer.initial_trial_duration_s, longer.duration_sum_s) == (1.0, 60.0)
    shorter = plan(profile="csit", search__final_trial_duration="0.2s").search
    assert (shorter.initial_trial_duration_s, shorter.goals[0].initial_trial_duration_s) == (0.2, 0.2)


def test_a_search_that_knows_no_exceed_ratio_gets_none_from_the_profile() -> None:
    goals = plan(profile="csit", search__algorithm="binary").search.goals
    assert [(goal.exceed_ratio, goal.duration_sum_s) for goal in goals] == [(0.0, 1.0)] * 2


def test_every_option_of_a_single_search_reaches_the_plan() -> None:
    requested = {"doublings": 3, "verify_trials": 4, "verify_lost_count": 9, "load_epsilon": "1%", "joint": False}
    search = plan(**{f"search__{key}": value for key, value in requested.items()}).search
    assert (search.doublings, search.verify_trial_count, search.verify_lost_count) == (3, 4, 9)
    assert (search.load_epsilon_ratio, search.joint) == (0.01, False)


def test_the_reference_page_has_a_row_for_every_key_of_the_search_and_of_a_goal() -> None:
    keys = {*SearchConfig.model_fields, *GoalConfig.model_fields}
    assert [key for key in sorted(keys) if f"| `{key}` |" not in SEARCH_PAGE] == []


def test_disturbed_time_is_left_out_by_nodrops_own_search_of_a_sut_in_the_lab_unless_asked_otherwise() -> None:
    assert plan().search.excludes_disturbed
    assert not plan(search__disturbed_time="count").search.excludes_disturbed
    assert not plan(search__algorithm="binary").search.excludes_disturbed
    assert plan(search__algorithm="binary", search__disturbed_time="exclude").search.excludes_disturbed


def test_a_budget_goes_before_the_time_after_which_a_search_has_failed() -> None:
    search = plan(search__budget="60s", search__max_duration="10s").search
    assert (search.search_duration_max_s, search.budgeted) == (60.0, True)
    assert not plan(search__max_duration="10s").search.budgeted
    assert plan(search__algorithm="plrsearch", goals={"PLR": 1e-7}).search.budgeted


def test_the_lowest_load_suits_the_most_demanding_goal() -> None:
    goals = {"NDR": 0.0, "fine": {"loss_ratio": 0, "width": "0.1%"}}
    search = plan(goals=goals, search__algorithm="mlrsearch-rfc9971").search
    assert search.min_load_pps == pytest.approx(2 / (0.5 * 0.001))


def earlier_result(created: Plan) -> RunResult:
    """Return a run of that plan that found one goal completely and the other by half."""
    ndr, pdr = created.search.goals
    bounds = [Bound(load_pps=pps, loss_ratio=0.0, duration_s=5.0, trial_index=0) for pps in (1e6, 1.1e6)]
    results = [
        GoalResult(goal=goal, lower=bounds[0], upper=upper, regular=False, limit=Limit.SUT, explanation="")
        for goal, upper in ((ndr, bounds[1]), (pdr, None))
    ]
    return RunResult(
        run_id="then", started_at="", wall_s=1.0, status=Status.COMPLETE, plan=created, facts=None, goals=tuple(results)
    )


def build_warm_start(then: RunResult, **keys: Any) -> Plan:
    config = build_config((), {"search.warm_start": "latest", "search.algorithm": "nodrop"} | keys)
    return build_plan(config, Resolvers(find_result=lambda _: then), (0, 1))


def test_a_warm_start_takes_the_goals_that_had_both_bounds() -> None:
    (earlier,) = build_warm_start(earlier_result(plan())).search.earlier
    assert earlier == EarlierGoal(loss_ratio=0.0, final_trial_duration_s=5.0, lower_pps=1e6, upper_pps=1.1e6)


def test_a_warm_start_from_something_else_is_refused() -> None:
    then = earlier_result(plan(sut="bridge"))
    with pytest.raises(
        ConfigError, match=r"\(latest: it measured bridge with 64-byte .* this run measures vnf-l2 with"
    ):
        build_warm_start(then)
    with pytest.raises(ConfigError, match=r"this run measures vnf-l2 with 128-byte frames both ways"):
        build_warm_start(earlier_result(plan()), frame_bytes=128)
    with pytest.raises(ConfigError, match=r"no goal has both bounds \(latest\); name another result"):
        build_warm_start(earlier_result(plan()).model_copy(update={"goals": ()}))
    with pytest.raises(ConfigError, match=r"the search binary always starts from nothing"):
        build_warm_start(earlier_result(plan()), **{"search.algorithm": "binary"})


def test_frames_are_never_addressed_to_an_interface_of_the_labs() -> None:
    """All addresses are locally administered (the second bit of the first byte) and unicast (the first)."""
    for sut in set(get_args(SutKind)) - {"ext", "openstack"}:
        for stream in plan(sut=sut).traffic.streams:
            for mac in (stream.ethernet.src, stream.ethernet.dst):
                assert int(mac[:2], 16) & 0b11 == 0b10


def test_the_vnf_sends_on_to_the_testers_addresses() -> None:
    built_plan = plan()
    forth, back = built_plan.traffic.streams
    peer_macs = tuple(port.peer_mac for port in built_plan.lab.forwarders[0].ports)
    assert peer_macs == (forth.ethernet.src, back.ethernet.src)
    assert {forth.ethernet.dst, back.ethernet.dst}.isdisjoint(peer_macs)


def test_through_a_bridge_frames_are_addressed_to_the_other_tester_port() -> None:
    forth, back = plan(sut="bridge").traffic.streams
    assert (forth.ethernet.dst, back.ethernet.dst) == (back.ethernet.src, forth.ethernet.src)


def test_with_several_cpus_tester_and_vnf_take_one_each() -> None:
    built_plan = plan(cpus=(2, 3, 5))
    assert (built_plan.engine.cores, built_plan.lab.forwarders[0].core) == ((2,), 5)


def test_with_one_cpu_nothing_is_bound() -> None:
    built_plan = plan(cpus=(0,))
    assert (built_plan.engine.cores, built_plan.lab.forwarders[0].core) == ((), None)


def test_cores_that_were_asked_for_are_taken() -> None:
    built_plan = plan(engine__cores=[1, 0], vnf__core="none")
    assert (built_plan.engine.cores, built_plan.lab.forwarders[0].core) == ((1, 0), None)


def test_large_frames_get_a_lab_they_fit_through() -> None:
    assert plan(frame_bytes=9018).lab.mtu_bytes == 9000
    assert plan(frame_bytes=64).lab.mtu_bytes == 1500


def test_latency_is_asked_for_at_every_goal_and_half_of_the_one_with_most_loss() -> None:
    points = plan().latency.points
    assert [(point.label, point.goal_label, point.load_ratio) for point in points] == [
        ("NDR", "NDR", 1.0),
        ("PDR", "PDR", 1.0),
        ("50 % of PDR", "PDR", 0.5),
    ]
    assert plan(latency__enabled=False).latency.points == ()


def test_a_standing_lab_is_taken_as_it_is() -> None:
    lab = plan(sut="bridge").lab
    built_plan = build_plan(build_config((), {"lab": "mine"}), Resolvers(find_lab={"mine": lab}.__getitem__), (0, 1))
    assert (built_plan.standing_lab, built_plan.lab) == ("mine", lab)
    assert built_plan.traffic.streams[0].ethernet.dst == built_plan.traffic.streams[1].ethernet.src


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"search.initial_trial_duration": "10s"},
            r"search\.initial_trial_duration: 10 s exceeds search\.final_trial_duration \(5 s\); make final_trial",
        ),
        (
            {"search.min_load": "2M", "search.max_load": "1M"},
            r"search\.max_load: 1\.000 Mpps is not above search\.min_load \(2\.000 Mpps\); raise",
        ),
        (
            {"search.algorithm": "nodrop", "search.duration_sum": "1s"},
            r"search\.final_trial_duration: 5 s exceeds search\.duration_sum \(1 s\); make duration_sum at least as long",  # noqa: E501
        ),
        (
            {"search.algorithm": "nodrop", "goals": {"NDR": {"loss_ratio": 0, "initial_trial_duration": "9s"}}},
            r"goals\.NDR\.initial_trial_duration: 9 s exceeds search\.final_trial_duration \(5 s\)",
        ),
        (
            {"search.algorithm": "binary", "search.exceed_ratio": "50%"},
            r"search\.exceed_ratio: 50 % has no effect, the search binary uses only .*; remove it or set search\.algorithm to nodrop or",  # noqa: E501
        ),
        (
            {"search.algorithm": "mlrsearch-01", "search.duration_sum": "60s"},
            r"search\.duration_sum: 1 min 00 s has no effect, the search mlrsearch-01",
        ),
        (
            {"search.algorithm": "mlrsearch-01", "goals": {"NDR": {"loss_ratio": 0, "width": "1%"}}},
            r"goals\.NDR\.width: 1 % has no effect, the search mlrsearch-01 uses only the loss ratio .* write it under search",  # noqa: E501
        ),
        (
            {"engine.cores": [7]},
            r"engine\.cores: CPU not available to nodrop \(7, available: 0, 1\); name an available one",
        ),
        ({"vnf.core": 2}, r"vnf\.core: CPU not available to nodrop \(2,"),
        ({"lab": "mine", "sut": "bridge"}, r"sut: lab mine has vnf-l2 \(bridge\); remove sut"),
        ({"lab": "mine", "frame_bytes": 9000}, r"frame_bytes: too large for lab mine \(9000, at most 1518\)"),
    ],
)
def test_what_does_not_go_together_is_refused(keys: dict[str, Any], sentence: str) -> None:
    lab = plan().lab
    with pytest.raises(ConfigError, match=sentence):
        build_plan(build_config((), keys), Resolvers(find_lab=lambda _: lab), (0, 1))


def test_every_chain_has_ports_networks_and_forwarders_of_its_own() -> None:
    built_plan = plan(sut="vnf-l3", chains=3, hops=2, networks="ports")
    streams, lab = built_plan.traffic.streams, built_plan.lab
    assert [(stream.tx_port, stream.rx_port) for stream in streams] == [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)]
    assert (
        len({stream.ip.src for stream in streams if stream.ip}) == len({stream.ethernet.src for stream in streams}) == 6
    )
    assert (lab.chain_count, lab.hop_count, len(lab.forwarders)) == (3, 2, 6)
    interfaces = [port.interface for forwarder in lab.forwarders for port in forwarder.ports]
    assert sorted(interfaces) == sorted(lab.interfaces("sut"))
    assert lab.sut_text == "vnf-l3 x 2 in line, 3 chains"


@pytest.mark.parametrize("keys", [{}, {"chains": 2}, {"chains": 8}, {"chains": 5, "hops": 2}])
def test_routes_lead_every_stream_to_its_port(keys: dict[str, Any]) -> None:
    """Route by the longest prefix that contains the destination, hop by hop, with the standard library's prefixes."""
    built_plan = plan(sut="vnf-l3", networks="ports", **keys)
    ports = {port.interface: (port, forwarder) for forwarder in built_plan.lab.forwarders for port in forwarder.ports}
    pairs = [(link.near.interface, link.far.interface) for link in built_plan.lab.links]
    links = {near: far for pair in pairs for near, far in (pair, pair[::-1])}
    for stream in built_plan.traffic.streams:
        here = f"sut{stream.tx_port}"
        for _ in range(built_plan.lab.hop_count):
            assert stream.ip
            _, forwarder = ports[links.get(here, here)]
            leading = [
                (port.interface, route)
                for port in forwarder.ports
                for route in port.routes
                if ip_address(stream.ip.dst) in ip_network(route.prefix)
            ]
            ((here, _),) = leading
        assert here == f"sut{stream.rx_port}"


def test_networks_for_benchmarks_are_used_and_nothing_else() -> None:
    """RFC 2544 appendix C.2.2 and RFC 5180 section 8."""
    for chains in (1, 3, 8):
        for forwarder in plan(sut="router", chains=chains).lab.forwarders:
            for network in (ip_network(route.prefix) for port in forwarder.ports for route in port.routes):
                assert network.subnet_of(ip_network("198.18.0.0/15" if network.version == 4 else "2001:2::/48"))


def test_vnfs_that_share_a_cpu_are_warned_of() -> None:
    (warning,) = plan(cpus=(0, 1), chains=2, networks="ports").warnings
    assert warning.startswith("2 VNFs share CPU 1")
    (warning,) = plan(cpus=(0, 1), chains=2, frame_bytes=68).warnings
    assert warning.startswith("2 VNFs and 2 edge switches share CPU 1")
    assert plan(cpus=(0, 1, 2), chains=2, networks="ports").warnings == plan(cpus=(0, 1)).warnings == ()


@pytest.mark.parametrize("sut", ["router", "xdp", "ovs"])
def test_only_what_can_stand_in_line_is_put_in_line(sut: str) -> None:
    with pytest.raises(ConfigError, match=rf"hops: {sut} does not form chains \(2\)"):
        plan(sut=sut, hops=2)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"vnf.table": "1TiB"}, r"vnf\.table: tables of 1 VNF exceed .* \(1 TiB each, .* in total\); write"),
        ({"vnf.table": "1MiB", "sut": "bridge"}, r"vnf\.table: not applicable to bridge \(1048576\)"),
        ({"vnf.softirq_core": 0, "sut": "ovs"}, r"vnf\.softirq_core: not applicable to ovs \(0\)"),
        ({"antagonist.kind": "cpu", "antagonist.cores": [1, 1]}, r"antagonist\.cores: duplicate CPU \(1, 1\)"),
        ({"antagonist.kind": "cpu", "antagonist.cores": [9]}, r"antagonist\.cores: CPU not available to nodrop \(9,"),
        ({"antagonist.kind": "cpu", "vnf.core": "none"}, r"antagonist\.cores: vnf-l2 is bound to no CPU \(auto\)"),
        ({"antagonist.kind": "cpu", "sut": "ext", "ports": ["a", "b"]}, r"external or remote"),
    ],
)
def test_memory_and_neighbors_that_cannot_be_had_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_plan(build_config((), keys), Resolvers(inspect_ports=lambda names: names), cpus=(0, 1, 2))


def test_a_noisy_neighbor_is_on_the_suts_cpus_unless_told() -> None:
    keys = {"antagonist.kind": "memory"}
    assert [(one.kind, one.core) for one in build_plan(build_config((), keys), cpus=(0, 1, 2)).lab.antagonists] == [
        ("memory", 2)
    ]
    two = build_plan(build_config((), {**keys, "antagonist.cores": [0, 1]}), cpus=(0, 1, 2)).lab.antagonists
    assert [one.core for one in two] == [0, 1]
