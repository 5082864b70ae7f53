"""Test procedures from a configuration, and the plans of their runs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nodrop.config.load import Source, build_config, load_with_sources
from nodrop.errors import ConfigError
from nodrop.model.plan import Plan
from nodrop.plan.procedures import plan_failover
from nodrop.procedure.base import Procedure, RunRequest
from nodrop.procedure.failover import FailoverProcedure
from nodrop.run.local_planning import make_plans

DEFAULTS: Mapping[str, Any] = {
    "sut": "pool",
    "pool.selection": "standby",
    "bidirectional": False,
    "repeat": 5,
}
"""Configuration defaults of a failover procedure: one pool, whose flows all use the first instance."""


CONTRADICTIONS = {
    ("rate",): "failover.streams and failover.stream_rate",
    ("duration",): "failover.steady and failover.settle",
    ("trial_events",): "failover.trigger and failover.revert",
    ("traffic", "streams"): "failover.streams",
}
"""Keys that a failover procedure sets itself, and those to use instead; NFVbench's are ignored."""


class ProcedureSources(NamedTuple):
    """The configuration of a procedure, as the user wrote it."""

    files: Sequence[Source] = ()
    overrides: Mapping[str, Any] = {}


def plan_procedure(sources: ProcedureSources) -> Procedure:
    """Return the failover procedure. Raises ConfigError for values that contradict each other."""
    loaded = load_with_sources(sources.files, sources.overrides, DEFAULTS)
    for key, substitutes in CONTRADICTIONS.items():
        if (value := loaded.keys.get(key)) and value.source_key == key:
            raise ConfigError(f"{value.locate(key)}: 'nodrop test failover' sets it; remove it and use {substitutes}")
    return FailoverProcedure(plan_failover(loaded.config))


def plan_run(sources: ProcedureSources, run: RunRequest, cpus: Sequence[int] | None = None) -> Plan:
    """Return the plan of a run of a procedure. Raises ConfigError; StageError for an interface that does not exist."""
    config = build_config(sources.files, {**sources.overrides, **run.settings, "repeat": 1}, DEFAULTS)
    plan, *_ = make_plans(config, cpus)
    return plan.replace(variant=run.variant, repeat=run.repeat, repeat_count=run.repeat_count)
