"""The assumed speed of links, and bursts at a fixed rate."""

from collections.abc import Sequence

import pytest

from nodrop.config.load import build_config
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.plan import build_plan
from nodrop.plan.fixed_rate import plan_link_speed
from nodrop.plan.resolvers import TesterPorts

GBPS = 1_000_000_000
SPEEDS = {"eth1": 25 * GBPS, "eth2": 10 * GBPS}


def link_speed(config: Config) -> tuple[int, Sequence[str]]:
    speeds = tuple(map(SPEEDS.get, config.ports))
    return plan_link_speed(config, TesterPorts("ports", config.ports, (), speeds))


def test_links_of_the_private_lab_are_those_of_veth() -> None:
    assert link_speed(Config()) == (10 * GBPS, [])


@pytest.mark.parametrize("text", [None, "auto"])
def test_the_slower_interface_says_what_a_full_link_is(text: str | None) -> None:
    config = Config(ports=("eth1", "eth2"), link_speed=text)
    assert link_speed(config) == (10 * GBPS, [])


def test_an_interface_that_does_not_say_is_warned_of() -> None:
    speed_bps, warnings = link_speed(Config(ports=("eth1", "tap0")))
    assert speed_bps == 25 * GBPS
    assert warnings == ["tap0 does not report its speed; 25.00 Gb/s is assumed, set link_speed to change it"]


def test_a_speed_that_is_not_the_interfaces_own_is_taken_and_warned_of() -> None:
    speed_bps, warnings = link_speed(Config(ports=("eth1", "eth2"), link_speed="16.72Gbps"))
    assert speed_bps == 16_720_000_000
    assert [warning.partition(";")[0] for warning in warnings] == [
        "link_speed: 16.72 Gb/s differs from the speed that eth1 reports, 25.00 Gb/s",
        "link_speed: 16.72 Gb/s differs from the speed that eth2 reports, 10.00 Gb/s",
    ]


@pytest.mark.parametrize("text", ["fast", "0bps", "-1Gbps"])
def test_what_is_no_speed_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"link_speed: .*write for example 10Gbps"):
        link_speed(Config(link_speed=text))


def test_a_burst_lasts_as_long_as_its_frames_in_each_direction() -> None:
    keys = {"rate": "100%", "burst": 25, "rest": "2s", "link_speed": "83.2Mbps", "frame_bytes": 500}
    for is_two_way in (True, False):
        plan = build_plan(build_config((), keys | {"bidirectional": is_two_way}))
        assert plan.fixed and plan.fixed.is_burst and plan.fixed.rest_s == 2.0
        assert plan.fixed.duration_s == pytest.approx(25 / 20_000) and plan.engine.backend == "af_packet"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"burst": 25}, "burst: a search does not send one burst (25)"),
        ({"burst": 25, "rate": "1kpps", "pattern.kind": "burst"}, "pattern.kind: burst does not fit burst"),
        ({"burst": 25, "rate": "1kpps", "trial_events": ["1s load 2kpps"]}, "trial_events: a burst (25 frames) has"),
    ],
)
def test_a_burst_that_does_not_fit_is_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_plan(build_config((), keys))
    assert message in str(caught.value)
