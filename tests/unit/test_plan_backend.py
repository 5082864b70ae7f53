"""The back end of a plan, and its consequences for CPUs and the lab."""

from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.plan import Plan
from nodrop.plan import build_each, build_plan
from nodrop.plan.resolvers import Resolvers


def plan(*, supports_xdp_live: bool = False, **keys: Any) -> Plan:
    config = build_config((), {key.replace("__", "."): value for key, value in keys.items()})
    return build_plan(config, Resolvers(supports_xdp_live=lambda: supports_xdp_live), cpus=(2, 3))


@pytest.mark.parametrize(
    ("keys", "backend", "cores"),
    [
        ({}, "af_packet", (2,)),
        ({"sut": "xdp"}, "xdp_live", (2, 3)),
        ({"sut": "xdp", "pattern__kind": "burst"}, "af_packet", (2,)),
        ({"sut": "bridge", "engine__backend": "xdp_live"}, "xdp_live", (2, 3)),
        ({"sut": "vnf-l2", "engine__backend": "xdp_live"}, "xdp_live", (2,)),
        ({"engine__backend": "af_xdp"}, "af_xdp", (2,)),
        ({"sut": "xdp", "engine__cores": [3]}, "xdp_live", (3,)),
    ],
)
def test_auto_takes_frames_of_a_program_where_the_sut_is_one_and_a_cpu_more_where_the_sut_needs_none(
    keys: dict[str, Any], backend: str, cores: tuple[int, ...]
) -> None:
    engine = plan(**keys).engine
    assert (engine.backend, engine.cores) == (backend, cores)


@pytest.mark.parametrize(
    ("keys", "backend", "sut_backend"),
    [
        ({}, "xdp_live", "af_xdp"),
        ({"sut": "vnf-l3", "frame_bytes": 1518}, "xdp_live", "af_xdp"),
        ({"vnf__backend": "af_xdp"}, "xdp_live", "af_xdp"),
        ({"vnf__backend": "af_packet"}, "af_packet", "af_packet"),
        ({"engine__backend": "af_packet"}, "af_packet", "af_packet"),
        ({"engine__backend": "af_packet", "vnf__backend": "af_xdp"}, "af_packet", "af_xdp"),
        ({"vnf__core": 2}, "af_packet", "af_packet"),
        ({"vnf__core": "none"}, "af_packet", "af_packet"),
        ({"vnf__softirq_core": 3}, "af_packet", "af_packet"),
        ({"chains": 2}, "af_packet", "af_packet"),
        ({"hops": 2}, "af_packet", "af_packet"),
        ({"frame_bytes": 9000}, "af_packet", "af_packet"),
        ({"frame_sizes": ["IMIX"]}, "af_packet", "af_packet"),
        ({"capture__file": "frames.pcapng"}, "af_packet", "af_packet"),
        ({"rate": "10kpps"}, "af_packet", "af_packet"),
        ({"rate": "11kpps"}, "xdp_live", "af_xdp"),
        ({"sut": "bridge"}, "af_packet", "af_packet"),
        ({"sut": "wire"}, "af_packet", "af_packet"),
    ],
)
def test_where_programs_can_send_auto_keeps_the_tester_from_being_the_limit_of_a_forwarder_with_its_own_cpu(
    keys: dict[str, Any], backend: str, sut_backend: str
) -> None:
    built = plan(supports_xdp_live=True, **keys)
    assert (built.engine.backend, built.lab.sut_backend) == (backend, sut_backend)


def test_sizes_that_are_compared_are_sent_by_one_back_end() -> None:
    resolvers = Resolvers(supports_xdp_live=lambda: True)
    for sizes, backend in ((["64", "1518"], "xdp_live"), (["64", "IMIX"], "af_packet")):
        plans = build_each(build_config((), {"frame_sizes": sizes}), resolvers, (2, 3))
        assert [each.engine.backend for each in plans] == [backend] * 2


def test_the_ends_of_the_sut_take_frames_that_were_never_socket_buffers_only_where_some_come() -> None:
    assert plan(sut="router", engine__backend="xdp_live").lab.sut_takes_xdp
    assert not plan(sut="wire", engine__backend="xdp_live").lab.sut_takes_xdp
    assert not plan(sut="router").lab.sut_takes_xdp


def test_dpdk_is_on_the_labs_interfaces_in_slots_that_frames_fit_in_and_on_a_cpu_more() -> None:
    built_plan = plan(sut="bridge", engine__backend="dpdk", frame_bytes=9000)
    assert built_plan.engine.devices == (
        "net_af_packet0,iface=tester0,framesz=16384,blocksz=16384,framecnt=8192,qdisc_bypass=1",
        "net_af_packet1,iface=tester1,framesz=16384,blocksz=16384,framecnt=8192,qdisc_bypass=1",
    )
    assert (built_plan.engine.cores, built_plan.engine.huge_pages, built_plan.sends_into_lab) == ((2, 3), True, True)
    other = plan(engine__backend="dpdk", engine__dpdk__driver="net_af_xdp", engine__dpdk__huge_pages="none").engine
    assert other.devices[1] == "net_af_xdp1,iface=tester1" and not other.huge_pages
    assert plan(sut="bridge").engine.devices == ()


def test_other_devices_need_one_for_each_port_and_nothing_of_the_lab_between_them() -> None:
    cards: dict[str, Any] = {"engine__backend": "dpdk", "engine__dpdk__devices": ["0000:03:00.0", "0000:03:00.1"]}
    wired = plan(sut="wire", **cards)
    assert wired.engine.devices == ("0000:03:00.0", "0000:03:00.1") and not wired.sends_into_lab
    with pytest.raises(ConfigError, match="not on tester0 and tester1, between which bridge is"):
        plan(sut="bridge", **cards)
    with pytest.raises(ConfigError, match="1 device for 2 tester ports"):
        plan(sut="wire", **{**cards, "engine__dpdk__devices": ["0000:03:00.0"]})
    named = ["net_af_packet0,iface=tester0", "net_af_packet1,iface=tester1"]
    assert plan(sut="bridge", engine__backend="dpdk", engine__dpdk__devices=named).sends_into_lab
