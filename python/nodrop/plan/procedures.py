"""Settings of a test procedure from the configuration."""

from collections.abc import Sequence
from typing import Literal

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.procedure import FailoverPlan, ScaleOutPlan
from nodrop.model.trial_event import PlannedEvent, parse_event
from nodrop.plan.fixed_rate import check_instance
from nodrop.plan.frame_sizes import require_one_size


def plan_failover(config: Config) -> FailoverPlan:
    """Return the settings of the failover procedure. Raises ConfigError if values contradict each other."""
    failover = config.failover
    _check_path(config)
    stream_count_max = failover.streams if failover.max_streams is None else failover.max_streams
    if stream_count_max < failover.streams:
        raise ConfigError(
            f"failover.max_streams: {stream_count_max} is below failover.streams ({failover.streams}); write a higher "
            "number"
        )
    if failover.refine and stream_count_max == failover.streams:
        raise ConfigError("failover.refine: bisects between two rounds; write failover.max_streams, or remove it")
    return FailoverPlan(
        stream_count=failover.streams,
        stream_count_max=stream_count_max,
        growth_ratio=failover.growth,
        refine=failover.refine,
        direction_count=_count_directions(config),
        stream_rate_pps=failover.stream_rate,
        sla_s=failover.sla,
        repeat_count=config.repeat,
        steady_s=failover.steady,
        settle_s=failover.settle,
        trigger=_parse_events(config, "trigger", failover.trigger),
        revert=_parse_events(config, "revert", failover.revert),
    )


def plan_scale_out(config: Config) -> ScaleOutPlan:
    """Return the settings of the scale-out procedure. Raises ConfigError if values contradict each other."""
    scale_out = config.scale_out
    _check_path(config)
    if not scale_out.growth:
        raise ConfigError("scale_out.growth: empty, so that no users join; write for example [5%, 10%]")
    return ScaleOutPlan(
        user_count=scale_out.users,
        user_rate_pps=scale_out.user_rate,
        growth_ratios=tuple(dict.fromkeys(scale_out.growth)),
        direction_count=_count_directions(config),
        loss_ratio_max=scale_out.loss,
        settle_s=scale_out.settle,
        hold_s=scale_out.hold,
        return_s=scale_out.return_time,
        scales_in_pool=config.sut == "pool"
        and config.pool.scale_out_loss is not None
        and config.pool.scale_in_rate is None,
    )


def _check_path(config: Config) -> None:
    if config.chains > 1:
        raise ConfigError(f"chains: a test procedure measures one chain ({config.chains}); write chains: 1")
    require_one_size(config)


def _count_directions(config: Config) -> Literal[1, 2]:
    return 2 if config.bidirectional else 1


def _parse_events(config: Config, name: str, texts: Sequence[str]) -> tuple[PlannedEvent, ...]:
    """Return events in the order of their times. Raises ConfigError for those that are no trigger or way back."""
    key, before = f"failover.{name}", {"trigger": "failover.steady", "revert": "failover.settle"}[name]
    events = sorted((parse_event(text) for text in texts), key=lambda event: event.at_s)
    if name == "trigger" and not events:
        raise ConfigError(f"{key}: empty, so that nothing fails; write for example ['0s kill 0']")
    if events and events[0].at_s:
        raise ConfigError(
            f"{key}: the first event is at {events[0].at_s:g} s, not at 0 s; write '{events[0].write(0)}', and set "
            f"{before} for the time before it"
        )
    for event in events:
        if event.changes_load:
            raise ConfigError(
                f"{key}: '{event.name}' changes the load, not the path; write for example '0s kill 0' or "
                "'0s command PROGRAM ...'"
            )
        check_instance(event, config, key)
    return tuple(events)
