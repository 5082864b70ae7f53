"""Counts of each hop and latency, by chain and direction."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.export.nfvbench.counts import is_forward
from nodrop.export.nfvbench.latency import compute_latency_usec
from nodrop.export.nfvbench.schema import ChainPath, DirectionPath, Paths
from nodrop.model.ledger import HopCount
from nodrop.model.plan import Plan
from nodrop.model.traffic import Stream
from nodrop.model.trial import DirectionTimes, TrialResult


class _Hop(NamedTuple):
    """One counter of one chain."""

    device: str
    way: str
    interface: str
    frame_count: int | None


def build_paths(plan: Plan, trial: TrialResult) -> Paths:
    """Build the paths of both directions; a direction without traffic has zero counts."""
    forward = [stream for stream in plan.traffic.streams if is_forward(stream)]
    reverse = [stream for stream in plan.traffic.streams if not is_forward(stream)]
    return Paths(
        forward=_build_path(plan, trial, forward) if forward else _build_silent_path(plan, reverse, 0),
        reverse=_build_path(plan, trial, reverse) if reverse else _build_silent_path(plan, forward, 1),
    )


def name_generator(plan: Plan) -> str:
    """Return the name of the traffic generator, also that of the device of its counters."""
    return "TRex" if plan.trex else "nodrop"


def _build_silent_path(plan: Plan, streams: Sequence[Stream], side: int) -> DirectionPath:
    """Build the path of a direction without traffic from the other direction."""
    nothing = ChainPath(packets=(0, 0), lat_min_usec=None, lat_max_usec=None, lat_avg_usec=None)
    chains = [str(chain) for chain in sorted({stream.chain for stream in streams})]
    names = [*chains, "total"] if len(chains) > 1 else chains
    return DirectionPath(interfaces=_list_end_counters(plan, side), chains=dict.fromkeys(names, nothing))


def _list_end_counters(plan: Plan, side: int) -> tuple[str, str]:
    """Return the tester's counters for frames sent from a side."""
    device = name_generator(plan)
    return f"{device}.TX.p{side}", f"{device}.RX.p{1 - side}"


def _build_path(plan: Plan, trial: TrialResult, streams: Sequence[Stream]) -> DirectionPath:
    chains: dict[int, list[Stream]] = {}
    for stream in streams:
        chains.setdefault(stream.chain, []).append(stream)
    hops = [_list_hops(plan, trial, chain_streams) for _, chain_streams in sorted(chains.items())]
    columns = [column for column in zip(*hops, strict=True) if any(hop.frame_count is not None for hop in column)]
    counters = list(zip(*([hop.frame_count for hop in column] for column in columns), strict=True))
    times = _group_times_by_chain(streams, trial)
    rows = {
        str(chain): _build_row(plan, counters[place], times.get(chain, ()))
        for place, chain in enumerate(sorted(chains))
    }
    if len(chains) > 1:
        total = [_sum([hop.frame_count for hop in column]) for column in columns]
        every = [times for times in trial.directions if is_forward(times) is is_forward(streams[0])]
        rows["total"] = _build_row(plan, total, every)
    return DirectionPath(interfaces=tuple(_format_label(column) for column in columns), chains=rows)


def _list_hops(plan: Plan, trial: TrialResult, streams: Sequence[Stream]) -> list[_Hop]:
    """Return the counts along a chain: of the tester and of the hops in between."""
    stream, side = streams[0], 0 if is_forward(streams[0]) else 1
    ids = {each.stream_id for each in streams}
    counted = [counts for counts in trial.streams if counts.stream_id in ids]
    sent, received = sum(each.offered_count for each in counted), sum(each.received_count for each in counted)
    way = stream.chain, stream.tx_port, stream.rx_port
    device = name_generator(plan)
    between = next(
        (hops.hops[1:-1] for hops in trial.chain_hops if (hops.chain, hops.tx_port, hops.rx_port) == way), ()
    )
    return [
        _Hop(device, "TX", f"p{side}", sent),
        *(_Hop(*_parse_hop(hop), hop.interface, hop.frame_count) for hop in between),
        _Hop(device, "RX", f"p{1 - side}", received),
    ]


def _parse_hop(hop: HopCount) -> tuple[str, str]:
    """Parse device and direction: `edge switch sut0 receives` is `edge` and `RX`."""
    device, _, verb = hop.name.partition(f" {hop.interface} ")
    return device.partition(" ")[0].lower(), "RX" if verb == "receives" else "TX"


def _format_label(column: Sequence[_Hop]) -> str:
    """Format the label of a counter; a star replaces numbers that differ between chains."""
    names = {hop.interface for hop in column}
    interface = names.pop() if len(names) == 1 else re.sub(r"\d+", "*", column[0].interface)
    return f"{column[0].device}.{column[0].way}.{interface}"


def _sum(counts: Sequence[int | None]) -> int | None:
    values = [count for count in counts if count is not None]
    return sum(values) if len(values) == len(counts) else None


def _build_row(plan: Plan, packets: Sequence[int | str | None], times: Sequence[DirectionTimes]) -> ChainPath:
    latency = compute_latency_usec(times, plan.percentiles)
    return ChainPath(
        packets=tuple(packets),
        lat_min_usec=latency.smallest,
        lat_max_usec=latency.largest,
        lat_avg_usec=latency.mean,
        **latency.details,
    )


def _group_times_by_chain(streams: Sequence[Stream], trial: TrialResult) -> dict[int, list[DirectionTimes]]:
    """Return latencies that belong to a single chain."""
    chain_of = {stream.stream_id: stream.chain for stream in streams}
    sharing: dict[tuple[int, int], set[int]] = {}
    for stream in streams:
        sharing.setdefault((stream.tx_port, stream.rx_port), set()).add(stream.chain)
    times_by_chain: dict[int, list[DirectionTimes]] = {}
    for times in trial.directions:
        ways = sharing.get((times.tx_port, times.rx_port), set())
        chains = (
            ways if times.stream_id is None else {chain_of[times.stream_id]} if times.stream_id in chain_of else set()
        )
        if len(chains) == 1:
            times_by_chain.setdefault(next(iter(chains)), []).append(times)
    return times_by_chain
