"""Settings of a test procedure from the configuration."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, get_args

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import PatternKind, Rfc2544Test
from nodrop.model.procedure import FailoverPlan, InstancesPlan, MigrationPlan, PatternsPlan, Rfc2544Plan, ScaleOutPlan
from nodrop.model.trial_event import PlannedEvent, parse_event
from nodrop.plan.fixed_rate import check_instance
from nodrop.plan.frame_sizes import require_one_size
from nodrop.rates import FixedRate, parse_rate
from nodrop.units import format_count, format_ratio

QUICK_BUDGET_S = 30.0
"""Time limit of each search for throughput of the quick tests of RFC 2544."""
LATENCY_REPEATS = 20
"""Latency trials of each frame size. Source: RFC 2544 section 26.2."""


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
        trigger=_parse_events(config, "failover.trigger", failover.trigger, "failover.steady", is_required=True),
        revert=_parse_events(config, "failover.revert", failover.revert, "failover.settle"),
    )


def plan_scale_out(config: Config) -> ScaleOutPlan:
    """Return the settings of the scale-out procedure. Raises ConfigError if values contradict each other."""
    scale_out = config.scale_out
    _check_path(config)
    if not scale_out.growth:
        raise ConfigError("scale_out.growth: empty, so that no users join; write for example [5%, 10%]")
    plan = ScaleOutPlan(
        user_count=scale_out.users,
        user_rate_pps=scale_out.user_rate,
        growth_ratios=tuple(sorted(scale_out.growth)),
        direction_count=_count_directions(config),
        loss_ratio_max=scale_out.loss,
        settle_s=scale_out.settle,
        hold_s=scale_out.hold,
        return_s=scale_out.return_time,
        scales_in_pool=config.sut == "pool"
        and config.pool.scale_out_loss is not None
        and config.pool.scale_in_rate is None,
    )
    for ratio, following in pairwise(plan.growth_ratios):
        if (count := plan.count_new_users(ratio)) == plan.count_new_users(following):
            raise ConfigError(
                f"scale_out.growth: {format_ratio(ratio)} and {format_ratio(following)} add "
                f"{format_count(count, 'user')} each; write values that differ, or more scale_out.users"
            )
    return plan


def plan_instances(config: Config) -> InstancesPlan:
    """Return the settings of the procedure of instances. Raises ConfigError if values contradict each other."""
    instances = config.instances
    require_one_size(config)
    if config.sut == "pool":
        raise ConfigError("sut: a pool is one chain, whose instances share the load; write sut: vnf-l2")
    if instances.confirmation < instances.duration:
        raise ConfigError(
            f"instances.confirmation: {instances.confirmation:g} s is shorter than instances.duration "
            f"({instances.duration:g} s); write at least as much"
        )
    return InstancesPlan(
        instance_count_max=instances.max,
        load_pps=instances.rate,
        direction_count=_count_directions(config),
        loss_ratio_max=instances.loss,
        latency_max_s=instances.latency,
        duration_s=instances.duration,
        confirmation_s=instances.confirmation,
    )


def plan_patterns(config: Config) -> PatternsPlan:
    """Return the settings of the procedure of load patterns. Raises ConfigError without a pattern."""
    require_one_size(config)
    kinds: tuple[PatternKind, ...] = tuple(dict.fromkeys(("flat", *config.patterns.kinds)))
    if len(kinds) == 1:
        raise ConfigError("patterns.kinds: nothing to compare with flat load; write for example [burst, poisson]")
    if isinstance(parse_rate(config.rate), FixedRate):
        raise ConfigError(f"rate: a load pattern is compared by a search, not at {config.rate}; write rate: ndr_pdr")
    return PatternsPlan(kinds=kinds, repeat_count=config.repeat)


def plan_migration(config: Config) -> MigrationPlan:
    """Return the settings of the migration procedure. Raises ConfigError if values contradict each other."""
    migration = config.migration
    _check_path(config)
    if isinstance(parse_rate(config.rate), FixedRate):
        raise ConfigError(f"rate: the searches of a migration do not use {config.rate}; write migration.rate")
    return MigrationPlan(
        migrate=_parse_events(config, "migration.migrate", migration.migrate, "migration.steady", is_required=True),
        back=_parse_events(config, "migration.back", migration.back, "migration.settle"),
        load_pps=migration.rate,
        load_ratio=migration.share,
        compares=migration.compare,
        repeat_count=config.repeat,
        steady_s=migration.steady,
        settle_s=migration.settle,
    )


def plan_rfc2544(config: Config) -> Rfc2544Plan:
    """Return the settings of the tests of RFC 2544. Raises ConfigError if values contradict each other."""
    keys = config.rfc2544
    if config.chains > 1:
        raise ConfigError(f"chains: RFC 2544 tests one path ({config.chains}); write chains: 1")
    if isinstance(parse_rate(config.rate), FixedRate):
        raise ConfigError(f"rate: throughput is found by a search, not given ({config.rate}); write rate: ndr_pdr")
    mixes = [str(size) for size in config.frame_sizes if not isinstance(size, int)]
    if mixes or not config.frame_sizes:
        raise ConfigError(
            f"frame_sizes: RFC 2544 tests frames of one size at a time ({', '.join(mixes) or 'none given'}); write "
            "sizes, e.g. [64, 512, 1518]"
        )
    if not keys.tests:
        raise ConfigError("rfc2544.tests: empty, so that nothing is tested; write for example [throughput]")
    trial_s, latency_s, burst_count, rest_s = (2.0, 2.0, 5, 0.2) if keys.quick else (60.0, 120.0, 50, 2.0)
    budget_s = config.search.budget
    if keys.quick and budget_s is None and config.search.max_duration is None:
        budget_s = QUICK_BUDGET_S
    return Rfc2544Plan(
        tests=tuple(test for test in get_args(Rfc2544Test) if test in keys.tests),
        frame_bytes=tuple(sorted({size for size in config.frame_sizes if isinstance(size, int)})),
        direction_count=_count_directions(config),
        is_quick=keys.quick,
        trial_s=keys.trial or trial_s,
        latency_trial_s=keys.latency_trial or latency_s,
        latency_repeat_count=1 if keys.quick else keys.latency_repeats or LATENCY_REPEATS,
        burst_repeat_count=keys.bursts or burst_count,
        burst_rest_s=rest_s if keys.rest is None else keys.rest,
        search_budget_s=budget_s,
    )


def _check_path(config: Config) -> None:
    if config.chains > 1:
        raise ConfigError(f"chains: a test procedure measures one chain ({config.chains}); write chains: 1")
    require_one_size(config)


def _count_directions(config: Config) -> Literal[1, 2]:
    return 2 if config.bidirectional else 1


def _parse_events(
    config: Config, key: str, texts: Sequence[str], key_before: str, *, is_required: bool = False
) -> tuple[PlannedEvent, ...]:
    """Return events in the order of their times. Raises ConfigError for those that do not change the path.

    Args:
        config: the configuration.
        key: that of the events.
        texts: its value.
        key_before: that of the time before the first event.
        is_required: whether there is at least one.
    """
    events = sorted((parse_event(text) for text in texts), key=lambda event: event.at_s)
    if is_required and not events:
        raise ConfigError(f"{key}: empty, so that nothing happens; write for example ['0s withdraw 0']")
    if events and events[0].at_s:
        raise ConfigError(
            f"{key}: the first event is at {events[0].at_s:g} s, not at 0 s; write '{events[0].write(0)}', and set "
            f"{key_before} for the time before it"
        )
    for event in events:
        if event.changes_load:
            raise ConfigError(
                f"{key}: '{event.name}' changes the load, not the path; write for example '0s kill 0' or "
                "'0s command PROGRAM ...'"
            )
        check_instance(event, config, key)
    return tuple(events)
