"""What a run is to measure: the goals a rate asks for, or the one load it stands for; and how fast the links are."""

from collections.abc import Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.plan import FixedRatePlan
from nodrop.model.traffic import Traffic
from nodrop.plan.tester_ports import TesterPorts
from nodrop.rates import LINK_SPEED_BPS, SEARCH_GOALS, FixedRate, fixed_load_pps, parse_rate
from nodrop.units import format_bps, parse_bps


def plan_fixed(config: Config, traffic: Traffic, link_speed_bps: int) -> FixedRatePlan | None:
    """The trial at a fixed rate; None where the rate asks for a search.

    Raises: ConfigError for a rate that the links cannot carry.
    """
    rate = parse_rate(config.rate)
    if not isinstance(rate, FixedRate):
        return None
    load_pps = fixed_load_pps(rate, traffic.frame_bytes, traffic.direction_ratios.values(), link_speed_bps)
    return FixedRatePlan(load_pps=load_pps, duration_s=config.duration, asked=config.rate.strip())


def select_goals(config: Config) -> Config:
    """The same with only the goals that its rate asks for: NDR or PDR alone, or all there are.

    Raises: ConfigError where there is no goal of that label.
    """
    rate = parse_rate(config.rate)
    if isinstance(rate, FixedRate) or set(rate.labels) == set(SEARCH_GOALS):
        return config
    wanted = {label: goal for label, goal in config.goals.items() if label.upper() in rate.labels}
    if not wanted:
        raise ConfigError(
            f"rate: {config.rate} asked, goals are {', '.join(config.goals)}; write ndr_pdr for all of them, or name "
            f"one {rate.labels[0]}"
        )
    return config.model_copy(update={"goals": wanted})


def plan_link_speed(config: Config, tester: TesterPorts) -> tuple[int, Sequence[str]]:
    """What 100 % stands for, in bits per second each way; and what to know of it.

    Raises: ConfigError for what is no speed.
    """
    asked_bps = _asked_bps(config.link_speed)
    told = dict(zip(tester.names, tester.speeds_bps, strict=False))
    known = {name: speed_bps for name, speed_bps in told.items() if speed_bps}
    lowest_bps = min(known.values(), default=None)
    if asked_bps is None:
        taken_bps = lowest_bps or LINK_SPEED_BPS
        return taken_bps, [
            f"{name} does not say how fast it is; {format_bps(taken_bps)} is taken; say it (link_speed)"
            for name in told
            if name not in known
        ]
    return asked_bps, [
        f"link_speed: {format_bps(asked_bps)} asked, {name} says {format_bps(speed_bps)}; percentages are of what was "
        "asked"
        for name, speed_bps in known.items()
        if speed_bps != asked_bps
    ]


def _asked_bps(written: str | None) -> int | None:
    if written is None or written.strip().lower() == "auto":
        return None
    try:
        speed_bps = round(parse_bps(written))
    except ValueError as error:
        raise ConfigError(f"link_speed: {error}") from None
    if speed_bps <= 0:
        raise ConfigError(f"link_speed: {written} asked, a link carries more than nothing; write for example 10Gbps")
    return speed_bps
