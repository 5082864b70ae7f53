"""Counts per chain, from the counts of streams."""

from pathlib import Path

from tests.running import Listener, make_environment, make_plan
from tests.suts import Step

from nodrop.model.chain_counts import count_by_chain
from nodrop.model.trial import DirectionTimes, LatencySummary
from nodrop.run.execute import execute


def latency(mean_ns: float) -> LatencySummary:
    whole = round(mean_ns)
    return LatencySummary(
        count=10,
        min_ns=whole,
        mean_ns=mean_ns,
        p50_ns=whole,
        p90_ns=whole,
        p99_ns=whole,
        p999_ns=whole,
        max_ns=whole,
        pdv_ns=0,
    )


def test_chains_add_up_to_the_trial_and_each_has_the_latency_of_its_own_streams(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, chains=3, networks="ports", traffic__streams=2, rate="9kpps", duration="1s")
    trial = execute(plan, Listener(), make_environment(Step(8e3))).trials[0]
    streams = plan.traffic.streams
    directions = tuple(
        DirectionTimes(
            tx_port=each.tx_port,
            rx_port=each.rx_port,
            stream_id=each.stream_id,
            latency_every=1,
            latency=latency(1000.0 * (each.chain + 1)),
        )
        for each in streams
    )
    counts = count_by_chain(plan.traffic, trial.model_copy(update={"directions": directions}), (50.0,))
    assert [(each.chain, each.is_forward) for each in counts] == [
        (chain, forward) for chain in range(3) for forward in (True, False)
    ]
    assert sum(each.offered_count for each in counts) == trial.offered_count == 9000
    assert sum(each.lost_count for each in counts) == trial.lost_count == 1000
    assert [each.latency.mean_ns for each in counts if each.latency] == [1000.0, 1000.0, 2000.0, 2000.0, 3000.0, 3000.0]
    assert all(each.latency and each.latency.count == 20 for each in counts)


def test_latency_of_several_chains_together_is_no_chains_own(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, chains=2, networks="ports", rate="9kpps", duration="1s")
    shared = tuple(
        stream.model_copy(update={"tx_port": stream.tx_port % 2, "rx_port": stream.rx_port % 2})
        for stream in plan.traffic.streams
    )
    traffic = plan.traffic.model_copy(update={"streams": shared})
    trial = execute(plan, Listener(), make_environment(Step(1e6))).trials[0]
    together = tuple(
        DirectionTimes(tx_port=way[0], rx_port=way[1], latency_every=1, latency=latency(1e3))
        for way in ((0, 1), (1, 0))
    )
    counts = count_by_chain(traffic, trial.model_copy(update={"directions": together}))
    assert [(each.chain, each.tx_port, each.latency) for each in counts] == [
        (0, 0, None),
        (0, 1, None),
        (1, 0, None),
        (1, 1, None),
    ]
