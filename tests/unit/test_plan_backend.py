"""Which back end a plan has, and what follows for CPUs and the lab."""

from typing import Any

import pytest
from tests.running import no_lab

from nodrop.config.load import load
from nodrop.model.plan import Plan
from nodrop.plan import build


def plan(**keys: Any) -> Plan:
    return build(load((), {key.replace("__", "."): value for key, value in keys.items()}), no_lab, (2, 3))


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


def test_the_ends_of_the_sut_take_frames_that_were_never_socket_buffers_only_where_some_come() -> None:
    assert plan(sut="router", engine__backend="xdp_live").lab.sut_takes_xdp
    assert not plan(sut="wire", engine__backend="xdp_live").lab.sut_takes_xdp
    assert not plan(sut="router").lab.sut_takes_xdp
