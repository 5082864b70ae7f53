"""Captures and replays: planned, passed to the engine, and reported."""

from pathlib import Path
from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.formatting import describe_traffic
from nodrop.generator.engine import capture_file, capture_request
from nodrop.model.plan import Plan
from nodrop.model.traffic import ReplayContents, ReplaySource, SizeShare
from nodrop.plan import addressing, build_plan
from nodrop.plan.resolvers import Resolvers

FOUND = ReplayContents(
    frame_count=10,
    template_count=4,
    grown_count=3,
    sizes=(SizeShare(frame_bytes=76, weight=9), SizeShare(frame_bytes=1600, weight=1)),
    signature_offsets=(42, 54),
)


def plan_keys(**keys: Any) -> Plan:
    """Build a plan; two underscores stand for two dots. Every file contains FOUND, every filter passes."""
    requested = {key.replace("__", "."): value for key, value in keys.items()}
    return build_plan(build_config((), requested), Resolvers(inspect_replay=lambda _source: FOUND))


def refusal(**keys: Any) -> str:
    with pytest.raises(ConfigError) as error:
        plan_keys(**keys)
    return str(error.value)


def test_a_capture_is_of_the_latency_trials_and_of_both_ways_unless_said_otherwise() -> None:
    assert plan_keys().capture is None
    capture = plan_keys(capture__file="seen.pcapng").capture
    assert capture
    assert (capture.file, capture.trials, capture.way) == (str(Path("seen.pcapng").absolute()), "latency", "both")
    live = plan_keys(sut="xdp", capture__file="seen.pcapng").capture
    assert live
    assert live.way == "received"


def test_each_captured_trial_has_its_own_file() -> None:
    plan = plan_keys(capture__file="/tmp/seen", capture__trials="latency").capture
    assert capture_request(plan, 3, "search") is None
    assert capture_request(None, 3, "latency NDR") is None
    requested = capture_request(plan, 12, "latency NDR")
    assert requested
    assert requested["file"] == "/tmp/seen-12.pcapng"
    assert capture_file("/tmp/a.b.pcap", 7) == "/tmp/a.b-7.pcap"
    every = plan_keys(capture__file="/tmp/seen", capture__trials="all").capture
    assert capture_request(every, 0, "search")


def test_what_cannot_be_captured_is_refused_by_its_key() -> None:
    file: dict[str, Any] = {"capture__file": "seen.pcapng"}
    assert refusal(**file, sut="xdp", capture__way="both").startswith(
        "capture.way: xdp_live creates frames in the kernel"
    )
    assert refusal(**file, capture__ports=[2]).startswith("capture.ports: no such port (2); write numbers from 0 to 1")
    assert refusal(**file, latency__enabled=False).startswith(
        "capture.trials: no latency trials to capture (latency.enabled is false)"
    )

    def no_filter(text: str, section: str) -> None:
        raise ConfigError(f"{section}.filter: {text}")

    with pytest.raises(ConfigError, match=r"capture.filter: udp prt"):
        build_plan(
            build_config((), {"capture.file": "x", "capture.filter": "udp prt"}), Resolvers(check_filter=no_filter)
        )


def test_replayed_frames_get_the_addresses_of_the_port_and_the_lab_their_size() -> None:
    plan = plan_keys(traffic__replay__file="dns.pcap", traffic__rx_shift=[4])
    forth, back = plan.traffic.streams
    assert (forth.ethernet.src, forth.ethernet.dst) == (addressing.build_tester_mac(0), addressing.build_sut_mac(0))
    assert (forth.sizes, forth.rx_offsets, forth.flow_count) == (FOUND.sizes, (46, 58), 4)
    assert forth.replay
    assert forth.replay.file == str(Path("dns.pcap").absolute())
    assert (back.tx_port, back.replay) == (1, forth.replay)
    assert plan.lab.mtu_bytes == 1600 - 18
    assert plan.traffic.frame_bytes == pytest.approx((9 * 76 + 1600) / 10)
    assert (
        describe_traffic(plan.traffic)
        == "10 frames of dns.pcap (76 to 1600 bytes, 3 grown for the signature) both ways"
    )


def test_frames_that_a_file_does_not_yield_are_named() -> None:
    found = FOUND.model_copy(update={"other_link_count": 2, "cut_off_after": 12})
    keys = {"traffic.replay.file": "dns.pcap", "bidirectional": False}
    plan = build_plan(build_config((), keys), Resolvers(inspect_replay=lambda _source: found))
    assert describe_traffic(plan.traffic) == (
        "10 frames of dns.pcap (76 to 1600 bytes, 3 grown for the signature; 2 of other links skipped; "
        "the file is cut off after frame 12) one way"
    )


def test_the_file_is_asked_for_with_filter_and_limit() -> None:
    requested: list[ReplaySource] = []

    def inspect(source: ReplaySource) -> ReplayContents:
        requested.append(source)
        return FOUND

    keys = {"traffic.replay.file": "/a/b", "traffic.replay.filter": "udp", "traffic.replay.frames": 7}
    build_plan(build_config((), keys), Resolvers(inspect_replay=inspect))
    assert requested == [ReplaySource(file="/a/b", filter="udp", frame_count_max=7)]


def test_a_file_has_its_own_headers_and_sizes() -> None:
    created = {
        "frame_bytes": 128,
        "flow_count": 2,
        "tunnel__kind": "vxlan",
        "traffic__vlan": 100,
        "traffic__imix": "64:1",
    }
    for key, named in created.items():
        message = refusal(traffic__replay__file="x", **{key: named})
        assert message.startswith(
            f"traffic.replay.file and {key.replace('__', '.')}: frames of a file are sent unchanged"
        ), message
    assert "flows: frames of a file are sent unchanged" in refusal(traffic__replay__file="x", flows__udp_source=53)
    assert refusal(traffic__replay__filter="udp").startswith("traffic.replay.filter: set without a file")
    assert (
        not plan_keys(traffic__replay__file="x", traffic__forward="80%", bidirectional=True).traffic.streams[0].ranges
    )


def test_nothing_is_looked_into_unless_somebody_can() -> None:
    with pytest.raises(ConfigError, match=r"traffic.replay.file: files cannot be read here \(.*x\)"):
        build_plan(build_config((), {"traffic.replay.file": "x"}))
