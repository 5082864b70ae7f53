"""Plans: nothing is left open, and what does not go together is refused."""

from typing import Any

import pytest
from tests.running import no_lab

from nodrop.config.load import load
from nodrop.errors import ConfigError
from nodrop.model.plan import Plan
from nodrop.plan import build, line_rate_pps


def plan(cpus: tuple[int, ...] = (0, 1), **overrides: Any) -> Plan:
    keys = {key.replace("__", "."): value for key, value in overrides.items()}
    return build(load((), keys), no_lab, cpus)


@pytest.mark.parametrize(
    ("frame_bytes", "frames_per_second"),
    [(64, 14_880_952), (128, 8_445_945), (512, 2_349_624), (1518, 812_743)],
)
def test_line_rates_are_those_of_the_standard(frame_bytes: int, frames_per_second: int) -> None:
    """Source: RFC 5180 appendix A.1, 10 Gb/s, fractions of a frame cut off."""
    assert int(line_rate_pps(frame_bytes)) == frames_per_second


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


def test_frames_are_never_addressed_to_an_interface_of_the_labs() -> None:
    """All addresses are locally administered (the second bit of the first byte) and unicast (the first)."""
    for sut in ("vnf-l2", "bridge"):
        for stream in plan(sut=sut).traffic.streams:
            for mac in (stream.src_mac, stream.dst_mac):
                assert int(mac[:2], 16) & 0b11 == 0b10


def test_the_vnf_sends_on_to_the_testers_addresses() -> None:
    made = plan()
    forth, back = made.traffic.streams
    assert made.lab.peer_macs == (forth.src_mac, back.src_mac)
    assert {forth.dst_mac, back.dst_mac}.isdisjoint(made.lab.peer_macs)


def test_through_a_bridge_frames_are_addressed_to_the_other_tester_port() -> None:
    forth, back = plan(sut="bridge").traffic.streams
    assert (forth.dst_mac, back.dst_mac) == (back.src_mac, forth.src_mac)


def test_with_several_cpus_tester_and_vnf_take_one_each() -> None:
    made = plan(cpus=(2, 3, 5))
    assert (made.engine.cores, made.lab.sut_core) == ((2,), 5)


def test_with_one_cpu_nothing_is_bound() -> None:
    made = plan(cpus=(0,))
    assert (made.engine.cores, made.lab.sut_core) == ((), None)


def test_cores_that_were_asked_for_are_taken() -> None:
    made = plan(engine__cores=[1, 0], vnf__core="none")
    assert (made.engine.cores, made.lab.sut_core) == ((1, 0), None)


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
    standing = plan(sut="bridge").lab
    made = build(load((), {"lab": "mine"}), lambda name: standing if name == "mine" else no_lab(name), (0, 1))
    assert (made.standing_lab, made.lab) == ("mine", standing)
    assert made.traffic.streams[0].dst_mac == made.traffic.streams[1].src_mac


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"search.initial_trial_duration": "10s"},
            r"search\.initial_trial_duration: 10 s asked, search\.final_trial_duration is 5 s; make the final",
        ),
        (
            {"search.min_load": "2M", "search.max_load": "1M"},
            r"search\.max_load: 1\.000 Mpps asked, search\.min_load is 2\.000 Mpps; make the highest",
        ),
        ({"engine.cores": [7]}, r"engine\.cores: CPU 7 asked, nodrop may use CPUs 0, 1; name one of these"),
        ({"vnf.core": 2}, r"vnf\.core: CPU 2 asked"),
        ({"lab": "mine", "sut": "bridge"}, r"sut: bridge asked, lab mine holds vnf-l2; leave sut out"),
        ({"lab": "mine", "frame_bytes": 9000}, r"frame_bytes: 9000 asked, lab mine takes up to 1518 bytes"),
    ],
)
def test_what_does_not_go_together_is_refused(keys: dict[str, Any], sentence: str) -> None:
    standing = plan().lab
    with pytest.raises(ConfigError, match=sentence):
        build(load((), keys), lambda _: standing, (0, 1))
