"""Ratios and requirements of the engine's benchmark, from synthetic measurements."""

from benchmarks.engine.groups import GROUPS
from benchmarks.engine.measure import RateMeasurement
from benchmarks.engine.ratio import PAIRS, compute_ratios
from benchmarks.engine.requirements import format_requirements
from benchmarks.memory import Half


def measurement(
    group: str, generator: str, mpps: float, number: int = 0, cpu_cores: float | None = 1.0
) -> RateMeasurement:
    return RateMeasurement(
        group=group,
        generator=generator,
        frame_bytes=64,
        round=number,
        window_s=1.0,
        sent_pps=mpps * 1e6,
        received_pps=mpps * 1e6,
        cpu_cores=cpu_cores,
        softirq_cores=0.0,
        busy_cores=1.0,
        steal_cores=0.0,
        account={},
    )


def requirement_lines(*measurements: RateMeasurement) -> list[str]:
    return list(format_requirements(measurements, compute_ratios(measurements)))


def test_every_pair_is_of_contestants_that_its_group_has() -> None:
    for pair in PAIRS:
        names = [generator.name for generator in GROUPS[pair.group].generators]
        assert {pair.generator, pair.baseline} <= set(names), pair
        assert len(names) == len(set(names))


def test_a_ratio_is_of_figures_of_the_same_round_and_its_median_decides() -> None:
    rounds = [(1.0, 1.0), (3.0, 1.0), (4.0, 2.0)]
    both = [
        measurement("veth", name, mpps, number)
        for number, pair in enumerate(rounds)
        for name, mpps in zip(("nodrop send+receive", "testpmd send+receive"), pair, strict=True)
    ]
    (line,) = requirement_lines(*both, measurement("veth", "nodrop send+receive", 9.0, 3))
    assert line.startswith("met     veth") and "2.00 (1.00 to 3.00), required: at least 1.5" in line


def test_a_ratio_below_what_is_demanded_is_not_met() -> None:
    (line,) = requirement_lines(
        measurement("dpdk", "nodrop dpdk null", 1.0), measurement("dpdk", "testpmd flowgen null", 1.25)
    )
    assert line.startswith("NOT MET dpdk") and ": 0.80 " in line


def test_senders_are_also_compared_by_cpu_time() -> None:
    own = measurement("dpdk", "nodrop dpdk null", 1.0, cpu_cores=0.5)
    (line,) = requirement_lines(own, measurement("dpdk", "testpmd flowgen null", 1.0))
    assert "per CPU time 2.00" in line


def test_the_zero_loss_rate_is_demanded_in_proportion_where_trafgen_is_slow() -> None:
    def verdict(zero_loss_mpps: float, trafgen_mpps: float) -> str:
        name = "nodrop zero loss through xdp"
        own = measurement("zero-loss", name, zero_loss_mpps, cpu_cores=None)
        return requirement_lines(own, measurement("zero-loss", "trafgen send", trafgen_mpps))[0]

    assert verdict(1.5, 0.9).startswith("met ") and "at least 1.5 Mpps" in verdict(1.5, 0.9)
    assert verdict(1.4, 1.2).startswith("NOT MET")
    assert verdict(0.8, 0.4).startswith("met ") and "in proportion" in verdict(0.8, 0.4)


def test_a_fall_and_a_cost_are_said_as_such() -> None:
    many = [measurement("many", "af_packet 1 stream", 1.0), measurement("many", "af_packet 1 M flows", 0.85)]
    assert "falls by 15.0%" in requirement_lines(*many)[0]
    cost = [measurement("cost", f"in memory, {how}", mpps) for how, mpps in (("counting", 10.0), ("latency", 5.0))]
    assert (
        "sent and received: 100 (100 to 100) ns if frames are only counted, 200 (200 to 200) ns"
        in requirement_lines(*cost)[-1]
    )


def test_memory_that_grows_steadily_is_not_flat_and_what_comes_first_does_not_count() -> None:
    def half(resident_kib: list[int]) -> Half:
        at_s = tuple(float(second) for second in range(len(resident_kib)))
        return Half("trials", at_s, tuple(resident_kib), trial_count=1, offered_count=1, lost_count=0)

    assert not half([8000 + 20 * second for second in range(100)]).is_flat
    assert half([1000] * 5 + [9000] * 95).is_flat
