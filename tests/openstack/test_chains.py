"""Chains in a real cloud: what is asked for stands, is read back, and is gone afterwards."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.openstack.services.layout import Layout
from tests.openstack.staging import plan, staged

pytestmark = pytest.mark.usefixtures("nothing_left")
Figure = Callable[[str], None]


@pytest.mark.parametrize("chains", [1, 10])
def test_chains_stand_and_go(services: Layout, image: Path, figure: Figure, chains: int) -> None:
    asked = plan(services, image, chains=chains)
    begun_s = time.monotonic()
    with staged(services, asked) as there:
        up_s = time.monotonic() - begun_s
        facts = there.stage.facts
        assert facts.cloud
        assert len(facts.cloud.servers) == len(facts.chains) == chains
        calls = facts.cloud.api_call_counts
        begun_s = time.monotonic()
    down_s = time.monotonic() - begun_s
    total = sum(calls.values())
    figure(
        f"{chains} PVP chain{'s' if chains > 1 else ''}: staged in {up_s:.1f} s, taken away in {down_s:.1f} s, "
        f"{total} requests to stage ({total / chains:.1f} per chain): {calls}"
    )
