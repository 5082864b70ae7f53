"""The target of a run: goals to search for, or one load; and the speed of the links."""

from collections.abc import Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.plan import FixedRatePlan
from nodrop.model.traffic import Traffic
from nodrop.model.trial_event import PlannedEvent, parse_event
from nodrop.plan.load_phases import plan_load_phases
from nodrop.plan.resolvers import TesterPorts
from nodrop.rates import LINK_SPEED_BPS, SEARCH_GOALS, FixedRate, compute_fixed_load_pps, parse_rate
from nodrop.units import format_bps, parse_bps


def plan_fixed(config: Config, traffic: Traffic, link_speed_bps: int) -> FixedRatePlan | None:
    """Return the trial at a fixed rate; None for a search. Raises: ConfigError for a rate above the links' capacity."""
    rate = parse_rate(config.rate)
    if not isinstance(rate, FixedRate):
        if config.burst is not None:
            raise ConfigError(
                f"burst: a search does not send one burst ({config.burst}); write a fixed rate, e.g. rate: 100%, or "
                "search.algorithm: back-to-back without burst"
            )
        return None
    if config.burst is not None and config.trial_events:
        raise ConfigError(f"trial_events: a burst ({config.burst} frames) has no events; remove one of them")
    load_pps = compute_fixed_load_pps(
        rate, traffic.largest_frame_bytes, traffic.direction_ratios.values(), link_speed_bps
    )
    direction_pps = load_pps * max(traffic.direction_ratios.values())
    return FixedRatePlan(
        load_pps=load_pps,
        duration_s=config.duration if config.burst is None else config.burst / direction_pps,
        asked=config.rate.strip(),
        is_burst=config.burst is not None,
        rest_s=config.rest,
        load_phases=plan_load_phases(config, traffic, load_pps, link_speed_bps),
    )


def plan_events(config: Config, fixed: FixedRatePlan | None) -> tuple[PlannedEvent, ...]:
    """Return the events of the trial. Raises ConfigError for events that it cannot have."""
    events = tuple(map(parse_event, config.trial_events))
    for event in events:
        _check_trial(event, config, fixed)
        check_instance(event, config, "trial_events")
    return events


def _check_trial(event: PlannedEvent, config: Config, fixed: FixedRatePlan | None) -> None:
    text = event.write(event.at_s)
    if fixed is None:
        raise ConfigError(f"trial_events: a search has no events ({text}); write a fixed rate, e.g. rate: 2kpps")
    if config.generator != "engine":
        raise ConfigError(
            f"trial_events: only nodrop's engine times losses ({config.generator}); write generator: engine"
        )
    if event.at_s >= fixed.duration_s:
        raise ConfigError(f"trial_events: '{text}' is after the trial; write a longer duration ({fixed.duration_s:g}s)")


def check_instance(event: PlannedEvent, config: Config, key: str) -> None:
    """Check that the pool has the instance of an event; `key` names the event's key. Raises ConfigError."""
    text = event.write(event.at_s)
    if event.instance is None:
        return
    if config.sut != "pool" or config.lab:
        raise ConfigError(
            f"{key}: '{text}' changes an instance of a pool; write sut: pool, in a private lab, or "
            f"'{event.at_s:g}s command PROGRAM ...'"
        )
    count = config.pool.instances + config.pool.spares
    if event.instance >= count:
        raise ConfigError(f"{key}: '{text}': the pool has instances 0 to {count - 1}; write one, or more pool.spares")


def select_goals(config: Config) -> Config:
    """Return the configuration with the goals that its rate names: NDR or PDR alone, or all.

    Raises: ConfigError if no goal has the label.
    """
    rate = parse_rate(config.rate)
    if isinstance(rate, FixedRate) or set(rate.labels) == set(SEARCH_GOALS):
        return config
    goals = {label: goal for label, goal in config.goals.items() if label.upper() in rate.labels}
    if not goals:
        raise ConfigError(
            f"rate: no goal is named {' or '.join(rate.labels)} ({config.rate}), goals are {', '.join(config.goals)}; "
            f"write ndr_pdr for all goals, or name one {rate.labels[0]}"
        )
    return config.replace(goals=goals)


def plan_link_speed(config: Config, tester: TesterPorts) -> tuple[int, Sequence[str]]:
    """Return the line rate in bits per second of each direction, and warnings.

    Raises: ConfigError for an invalid speed.
    """
    configured_bps = _parse_link_speed(config.link_speed)
    speeds_bps = dict(zip(tester.names, tester.speeds_bps, strict=False))
    known_speeds_bps = {name: speed_bps for name, speed_bps in speeds_bps.items() if speed_bps}
    lowest_bps = min(known_speeds_bps.values(), default=None)
    if configured_bps is None:
        assumed_bps = lowest_bps or LINK_SPEED_BPS
        return assumed_bps, [
            f"{name} does not report its speed; {format_bps(assumed_bps)} is assumed, set link_speed to change it"
            for name in speeds_bps
            if name not in known_speeds_bps
        ]
    return configured_bps, [
        f"link_speed: {format_bps(configured_bps)} differs from the speed that {name} reports, "
        f"{format_bps(speed_bps)}; percentages refer to link_speed"
        for name, speed_bps in known_speeds_bps.items()
        if speed_bps != configured_bps
    ]


def _parse_link_speed(value: str | None) -> int | None:
    if value is None or value.strip().lower() == "auto":
        return None
    try:
        speed_bps = round(parse_bps(value))
    except ValueError as error:
        raise ConfigError(f"link_speed: {error}") from None
    if speed_bps <= 0:
        raise ConfigError(f"link_speed: not above 0 ({value}); write for example 10Gbps")
    return speed_bps
