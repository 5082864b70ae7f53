"""Test procedures from a configuration, and the plans of their runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nodrop.config.load import Source, build_config, load_with_sources
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.plan import Plan
from nodrop.plan.procedures import (
    plan_failover,
    plan_instances,
    plan_migration,
    plan_patterns,
    plan_rfc2544,
    plan_scale_out,
)
from nodrop.plan.y1564 import plan_y1564
from nodrop.procedure.base import Procedure, RunRequest
from nodrop.procedure.failover import FailoverProcedure
from nodrop.procedure.instances import InstancesProcedure
from nodrop.procedure.migration import MigrationProcedure
from nodrop.procedure.patterns import PatternsProcedure
from nodrop.procedure.rfc2544 import Rfc2544Procedure
from nodrop.procedure.scale_out import ScaleOutProcedure
from nodrop.procedure.y1564 import Y1564Procedure
from nodrop.run.local_planning import make_plans
from nodrop.system.yaml_reader import Key

POOL = "pool"
EXPECT: Key = ("expect",)


class ProcedureKind(NamedTuple):
    """A procedure of `nodrop test`."""

    make: Callable[[Config], Procedure]
    """Raises ConfigError for values that contradict each other."""
    defaults: Mapping[str, Any]
    """Configuration defaults, by dotted key."""
    pool_defaults: Mapping[str, Any]
    """Further ones of nodrop's pool."""
    substitutes: Mapping[Key, str]
    """Keys that the procedure sets itself, and those to use instead; NFVbench's are ignored."""


KINDS: Mapping[str, ProcedureKind] = {
    "failover": ProcedureKind(
        make=lambda config: FailoverProcedure(plan_failover(config)),
        defaults={"sut": POOL, "bidirectional": False, "repeat": 5},
        pool_defaults={"pool.selection": "standby"},
        substitutes={
            ("rate",): "failover.streams and failover.stream_rate",
            ("duration",): "failover.steady and failover.settle",
            ("trial_events",): "failover.trigger and failover.revert",
            ("traffic", "streams"): "failover.streams",
            ("flow_count",): "failover.streams",
        },
    ),
    "scale-out": ProcedureKind(
        make=lambda config: ScaleOutProcedure(plan_scale_out(config)),
        defaults={"sut": POOL, "bidirectional": False},
        pool_defaults={
            "pool.instances": 1,
            "pool.spares": 2,
            "pool.probe_interval": 1,
            "pool.scale_out_loss": 0.01,
            "vnf.capacity": 10000,
            "vnf.buffer": 256,
        },
        substitutes={
            ("rate",): "scale_out.users and scale_out.user_rate",
            ("duration",): "scale_out.settle, scale_out.hold and scale_out.return_time",
            ("trial_events",): "scale_out.growth",
            ("traffic", "streams"): "scale_out.users",
            ("flow_count",): "scale_out.users",
            ("goals",): "scale_out.loss",
            ("search", "final_trial_duration"): "scale_out.settle",
            ("repeat",): "scale_out.growth, whose every value is a run",
        },
    ),
    "instances": ProcedureKind(
        make=lambda config: InstancesProcedure(plan_instances(config)),
        defaults={"networks": "vlan", "vnf.backend": "af_packet"},
        pool_defaults={},
        substitutes={
            ("rate",): "instances.rate, for each instance",
            ("duration",): "instances.duration and instances.confirmation",
            ("chains",): "instances.max",
            ("repeat",): "instances.confirmation",
            ("trial_events",): "instances.rate, which does not change in a trial",
        },
    ),
    "patterns": ProcedureKind(
        make=lambda config: PatternsProcedure(plan_patterns(config)),
        defaults={},
        pool_defaults={},
        substitutes={
            ("pattern", "kind"): "patterns.kinds",
            ("trial_events",): "'nodrop run --at' for one trial with events",
        },
    ),
    "migration": ProcedureKind(
        make=lambda config: MigrationProcedure(plan_migration(config)),
        defaults={"sut": POOL, "repeat": 5},
        pool_defaults={
            "pool.selection": "standby",
            "pool.move_delay": 0.35,
            "migration.rate": 2000,
            "migration.compare": False,
        },
        substitutes={
            ("duration",): "migration.steady and migration.settle",
            ("trial_events",): "migration.migrate and migration.back",
        },
    ),
    "rfc2544": ProcedureKind(
        make=lambda config: Rfc2544Procedure(plan_rfc2544(config)),
        defaults={"frame_sizes": [64, 128, 256, 512, 1024, 1280, 1518]},
        pool_defaults={},
        substitutes={
            ("frame_bytes",): "frame_sizes",
            ("duration",): "rfc2544.trial",
            ("goals",): "'nodrop run' to search for a rate with loss",
            ("search", "final_trial_duration"): "rfc2544.trial",
            ("search", "max_load"): "link_speed, to which the loads of the tests refer",
            ("search", "burst_repeats"): "rfc2544.bursts",
            ("search", "burst_rest"): "rfc2544.rest",
            ("latency", "enabled"): "rfc2544.tests",
            ("latency", "trial_duration"): "rfc2544.latency_trial",
            ("repeat",): "rfc2544.latency_repeats and rfc2544.bursts",
            ("trial_events",): "'nodrop run --at' for one trial with events",
        },
    ),
    "y1564": ProcedureKind(
        make=lambda config: Y1564Procedure(plan_y1564(config)),
        defaults={"frame_bytes": 512},
        pool_defaults={},
        substitutes={
            ("rate",): "y1564.cir and y1564.eir",
            ("duration",): "y1564.step and y1564.duration",
            ("goals",): "y1564.flr",
            ("burst",): "y1564.bursts",
            ("repeat",): "y1564.duration",
            ("pattern", "kind"): "'nodrop test patterns'",
            ("trial_events",): "'nodrop run --at' for one trial with events",
        },
    ),
}
"""Procedures by name."""


class ProcedureSources(NamedTuple):
    """The procedure and its configuration, as the user wrote it."""

    name: str
    files: Sequence[Source] = ()
    overrides: Mapping[str, Any] = {}

    def list_defaults(self) -> Mapping[str, Any]:
        """Return the defaults for the SUT of the configuration. Raises ConfigError."""
        kind = KINDS[self.name]
        sut = build_config(self.files, self.overrides, kind.defaults).sut
        return {**kind.defaults, **kind.pool_defaults} if sut == POOL else kind.defaults


def plan_procedure(sources: ProcedureSources) -> Procedure:
    """Return the procedure. Raises ConfigError for values that contradict each other."""
    kind = KINDS[sources.name]
    loaded = load_with_sources(sources.files, sources.overrides, sources.list_defaults())
    if loaded.config.expect:
        raise ConfigError(
            f"{loaded.keys[EXPECT].locate(EXPECT)}: 'nodrop test {sources.name}' has a verdict of its own; remove it"
        )
    for key, substitutes in kind.substitutes.items():
        value = loaded.keys.get(key)
        if value and value.source_key == key and ".".join(key) not in kind.defaults:
            raise ConfigError(
                f"{value.locate(key)}: 'nodrop test {sources.name}' sets it; remove it and use {substitutes}"
            )
    return kind.make(loaded.config)


def plan_run(sources: ProcedureSources, run: RunRequest, cpus: Sequence[int] | None = None) -> Plan:
    """Return the plan of a run of a procedure. Raises ConfigError; StageError for an interface that does not exist."""
    overrides = {**sources.overrides, **run.settings, "repeat": 1}
    plan, *_ = make_plans(build_config(sources.files, overrides, sources.list_defaults()), cpus)
    return plan.replace(variant=run.variant, repeat=run.repeat, repeat_count=run.repeat_count)
