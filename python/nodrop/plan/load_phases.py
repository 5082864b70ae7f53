"""Load of each stream by time, as events of a trial at a fixed rate change it."""

import itertools
from collections.abc import Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.pattern import FlatLoad
from nodrop.model.traffic import Traffic
from nodrop.model.trial import LoadPhase
from nodrop.model.trial_event import PlannedEvent, parse_event
from nodrop.rates import FixedRate, compute_fixed_load_pps, parse_rate


def plan_load_phases(config: Config, traffic: Traffic, load_pps: float, link_speed_bps: int) -> tuple[LoadPhase, ...]:
    """Return the loads from the begin of the trial; none if no event changes them.

    Args:
        config: the configuration, at a fixed rate.
        traffic: its streams.
        load_pps: load of all streams before the first change, in frames per second.
        link_speed_bps: speed of each direction.

    Raises: ConfigError for a load above the links' capacity, and for streams that do not exist or never send.
    """
    events = sorted((event for event in map(parse_event, config.trial_events) if event.changes_load), key=_get_time_s)
    if not events:
        return ()
    if not isinstance(traffic.pattern, FlatLoad):
        raise ConfigError(
            f"trial_events: '{_describe(events[0])}' changes the load, which varies already "
            f"(pattern.kind: {traffic.pattern.kind}); write pattern.kind: flat"
        )
    numbers = _number_streams(traffic)
    per_direction = max(numbers) + 1
    stream_count, phases = per_direction, {0.0: _divide(traffic, numbers, load_pps, per_direction)}
    for event in events:
        if event.stream_count is not None:
            stream_count = event.stream_count
            if stream_count > per_direction:
                raise ConfigError(
                    f"trial_events: '{_describe(event)}': each direction has {per_direction}; write a smaller number, "
                    "or more traffic.streams"
                )
        else:
            load_pps = _compute_load_pps(event, traffic, link_speed_bps)
        phases[event.at_s] = _divide(traffic, numbers, load_pps, stream_count)
    highest = max(number for loads in phases.values() for number, load in zip(numbers, loads, strict=True) if load)
    if highest + 1 < per_direction:
        raise ConfigError(
            f"trial_events: stream {highest + 2} of each direction never sends; write traffic.streams: {highest + 1}, "
            f"or an event such as '3s streams {per_direction}'"
        )
    return tuple(LoadPhase(begin_s=begin_s, loads_pps=loads) for begin_s, loads in phases.items())


def _get_time_s(event: PlannedEvent) -> float:
    return event.at_s


def _describe(event: PlannedEvent) -> str:
    return f"{event.at_s:g}s {event.name}"


def _number_streams(traffic: Traffic) -> list[int]:
    """Return the number of each stream among those of its chain and direction, from 0."""
    counters: dict[tuple[int, int], itertools.count[int]] = {}
    return [next(counters.setdefault((each.chain, each.tx_port), itertools.count())) for each in traffic.streams]


def _divide(traffic: Traffic, numbers: Sequence[int], load_pps: float, stream_count: int) -> tuple[float, ...]:
    """Return the load of each stream; those from `stream_count` on do not send."""
    pairs = zip(traffic.load_ratios, numbers, strict=True)
    return tuple(load_pps * ratio if number < stream_count else 0.0 for ratio, number in pairs)


def _compute_load_pps(event: PlannedEvent, traffic: Traffic, link_speed_bps: int) -> float:
    rate = parse_rate(event.rate)
    assert isinstance(rate, FixedRate)
    try:
        return compute_fixed_load_pps(
            rate, traffic.largest_frame_bytes, traffic.direction_ratios.values(), link_speed_bps
        )
    except ConfigError as error:
        raise ConfigError(f"trial_events: '{_describe(event)}': {str(error).removeprefix('rate: ')}") from None
