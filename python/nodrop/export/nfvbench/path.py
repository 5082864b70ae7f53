"""Every chain each way: what each hop counted, and the latency."""

from collections.abc import Iterator, Sequence

from nodrop.export.nfvbench.counts import is_forward
from nodrop.export.nfvbench.form import ChainPath, Path, Paths
from nodrop.export.nfvbench.latency import latency_usec
from nodrop.model.plan import Plan
from nodrop.model.traffic import Stream
from nodrop.model.trial import DirectionTimes, TrialResult

DEVICE = "nodrop"
"""What the tester's own counters are called."""


def paths(plan: Plan, trial: TrialResult) -> Paths:
    """Both directions, or the one that has traffic."""
    found = {
        name: _path(plan, trial, streams)
        for name, forward in (("forward", True), ("reverse", False))
        if (streams := [stream for stream in plan.traffic.streams if is_forward(stream) is forward])
    }
    return Paths(**found)


def _path(plan: Plan, trial: TrialResult, streams: Sequence[Stream]) -> Path:
    chains: dict[int, list[Stream]] = {}
    for stream in streams:
        chains.setdefault(stream.chain, []).append(stream)
    counters = {chain: _ends(trial, {stream.stream_id for stream in own}) for chain, own in sorted(chains.items())}
    rows = {
        str(chain): _row(plan, counted, tuple(_times_of(plan, trial, chains[chain])))
        for chain, counted in counters.items()
    }
    if len(chains) > 1:
        total = [sum(column) for column in zip(*counters.values(), strict=True)]
        every = [times for times in trial.directions if is_forward(times) is is_forward(streams[0])]
        rows["total"] = _row(plan, total, every)
    left = 0 if is_forward(streams[0]) else 1
    return Path(interfaces=(f"{DEVICE}.TX.p{left}", f"{DEVICE}.RX.p{1 - left}"), chains=rows)


def _row(plan: Plan, packets: Sequence[int | str | None], times: Sequence[DirectionTimes]) -> ChainPath:
    latency = latency_usec(times, plan.percentiles)
    histogram = {} if latency.hdrh is None else {"hdrh": latency.hdrh, "lat_percentile": latency.percentiles}
    return ChainPath(
        packets=tuple(packets),
        lat_min_usec=latency.smallest,
        lat_max_usec=latency.largest,
        lat_avg_usec=latency.mean,
        **histogram,
    )


def _ends(trial: TrialResult, ids: set[int]) -> list[int]:
    """What the tester sent and received of these streams."""
    counted = [counts for counts in trial.streams if counts.stream_id in ids]
    return [sum(counts.offered_count for counts in counted), sum(counts.received_count for counts in counted)]


def _times_of(plan: Plan, trial: TrialResult, streams: Sequence[Stream]) -> Iterator[DirectionTimes]:
    """The latencies that are of these streams alone."""
    ids = {stream.stream_id for stream in streams}
    for times in trial.directions:
        concerned = {
            stream.stream_id
            for stream in plan.traffic.streams
            if (stream.tx_port, stream.rx_port) == (times.tx_port, times.rx_port)
            and times.stream_id in (None, stream.stream_id)
        }
        if concerned and concerned <= ids:
            yield times
