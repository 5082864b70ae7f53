"""What every hop of every chain counted in a trial. Pure."""

from collections.abc import Iterator, Mapping

from nodrop.model.hop_counts import ChainHops, HopCount
from nodrop.model.lab_plan import LabPlan
from nodrop.model.trial import StreamCounts, TrialResult
from nodrop.observe.counter_delta import Difference
from nodrop.observe.devices import devices
from nodrop.observe.path_hops import interface_of

WHO = {"edge": "edge switch", "router": "router", "forwarder": "VNF"}


def chain_hops(
    result: TrialResult, lab: LabPlan, chains: Mapping[int, int], grown: Difference | None
) -> tuple[ChainHops, ...]:
    """All chains and directions that had traffic.

    Args:
        result: the trial.
        lab: what it ran in.
        chains: the chain of every stream, by its number.
        grown: what the host counted meanwhile; None: not known.
    """
    ways: dict[tuple[int, int, int], list[StreamCounts]] = {}
    for stream in result.streams:
        ways.setdefault((chains.get(stream.stream_id, 0), stream.tx_port, stream.rx_port), []).append(stream)
    return tuple(
        ChainHops(chain=chain, tx_port=tx_port, rx_port=rx_port, hops=tuple(_hops(way, streams, lab, grown)))
        for way, streams in ways.items()
        for chain, tx_port, rx_port in (way,)
    )


def _hops(
    way: tuple[int, int, int], streams: list[StreamCounts], lab: LabPlan, grown: Difference | None
) -> Iterator[HopCount]:
    chain, tx_port, rx_port = way
    sender, receiver = (lab.tester_interfaces[port] for port in (tx_port, rx_port))
    yield _end(sender, "sends", sum(stream.offered_count for stream in streams))
    for device in devices(lab, chain, 0 if lab.port(chain, 0) == tx_port else 1):
        for place, shared, verb, counter in (
            (device.entry, device.shared[0], "receives", "rx_packets"),
            (device.leave, device.shared[1], "sends", "tx_packets"),
        ):
            known = grown is not None and not shared
            yield HopCount(
                name=f"{WHO[device.what]} {interface_of(place)} {verb}",
                interface=interface_of(place),
                frame_count=grown.count(f"{place}/{counter}") if grown is not None and known else None,
            )
    yield _end(receiver, "receives", sum(stream.received_count for stream in streams))


def _end(interface: str, verb: str, count: int) -> HopCount:
    return HopCount(name=f"tester {interface} {verb}", interface=interface, frame_count=count)
