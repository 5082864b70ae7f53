"""NFVbench's result JSON of runs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from nodrop import __version__
from nodrop.errors import ConfigError
from nodrop.export.nfvbench.config import build_config, find_profile_name
from nodrop.export.nfvbench.fixed import build_fixed_result
from nodrop.export.nfvbench.schema import (
    Benchmarks,
    ChainMeasurement,
    FixedResult,
    NetworkBenchmark,
    NfvbenchResult,
    SearchedResult,
    ServiceChain,
)
from nodrop.export.nfvbench.search_result import build_search_result, format_missing_load
from nodrop.formatting.messages import format_message
from nodrop.model.hostcheck import HOST_FINDING
from nodrop.model.plan import Plan, count_flows, is_bidirectional, name_frame_size, name_path
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import FIXED

ENCAPSULATIONS = {"vlan": "VLAN", "vxlan": "VxLAN", "mpls": "MPLS", "flat": "BASIC", "any": "BASIC"}


def build_nfvbench_result(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Build NFVbench's result JSON of the runs of a suite, one for each frame size, including failed runs.

    Args:
        runs: at least one run; all with the same plan except for the frame size; the median of repeats is used.

    Raises: ConfigError for runs of two setups, which the format does not support.
    """
    require_one_setup([run.plan for run in runs])
    runs = pick_median_runs(runs)
    first = runs[0]
    chains = {} if first.plan.no_traffic else {name_path(first.plan): ServiceChain(result=_build_measurement(runs))}
    cloud = {"openstack_spec": build_openstack_spec(first.plan)} if first.plan.cloud else {}
    content = NfvbenchResult(
        **cloud,
        date=f"{datetime.fromisoformat(first.started_at).astimezone():%Y-%m-%d %H:%M:%S}",
        nfvbench_version=f"nodrop {_collect_versions(first)['version']}",
        config=build_config(runs),
        benchmarks=Benchmarks(
            network=NetworkBenchmark(versions={"Traffic_Generator": _collect_versions(first)}, service_chain=chains)
        ),
    )
    return content.model_dump(mode="json", exclude_unset=True)


def build_openstack_spec(plan: Plan) -> dict[str, str]:
    """Build the cloud section; `BASIC` is NFVbench's name for an unknown virtual switch."""
    return {"vswitch": "BASIC", "encaps": ENCAPSULATIONS[plan.cloud.networks[0].kind] if plan.cloud else "BASIC"}


def require_one_setup(plans: Iterable[Plan]) -> None:
    """Check that all runs are of one setup. Raises ConfigError."""
    if len({plan.variant for plan in plans}) > 1:
        raise ConfigError("NFVbench's format holds one setup, but the runs are of several; export one of the runs")


def format_nfvbench_json(result: Mapping[str, Any]) -> str:
    """Format the JSON of a file. Raises ValueError for numbers that JSON cannot represent."""
    return json.dumps(result, indent=4, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def build_standard_name(runs: Sequence[RunResult]) -> str:
    """Build NFVbench's file name of a result for `--std-json`: `PVP-1-10000-64-1518.json`."""
    plan = runs[0].plan
    sizes = "-".join(dict.fromkeys(name_frame_size(run.plan) for run in runs))
    return f"{name_path(plan)}-{plan.lab.chain_count}-{count_flows(plan)}-{sizes}.json"


def _build_measurement(runs: Sequence[RunResult]) -> ChainMeasurement:
    plan = runs[0].plan
    sizes: dict[str, FixedResult | SearchedResult | str] = {
        name_frame_size(run.plan): size_result for run in runs if (size_result := _build_size_result(run))
    }
    # At a fixed rate, NFVbench's own reader takes every key here for a frame size.
    unsized = [run for run in runs if not (plan.fixed and name_frame_size(run.plan) in sizes)]
    if warnings := list(dict.fromkeys(text for run in unsized for text in _iter_warnings(run))):
        sizes["warning"] = "\n".join(warnings)
    return ChainMeasurement(
        flow_count=count_flows(plan),
        service_chain_count=plan.lab.chain_count,
        bidirectional=is_bidirectional(plan),
        profile=find_profile_name(runs),
        compute_nodes={node: {} for run in runs for node in _compute_nodes(run)},
        result=sizes,
    )


def _compute_nodes(run: RunResult) -> Iterator[str]:
    """Yield `zone:host` of the VMs, where known."""
    cloud = run.facts.stage.cloud if run.facts else None
    for server in cloud.servers if cloud else ():
        if server.host:
            yield f"{server.availability_zone}:{server.host}" if server.availability_zone else server.host


def _build_size_result(run: RunResult) -> FixedResult | SearchedResult | None:
    """Build the result of one frame size; None where the run ended without trials."""
    if run.plan.fixed:
        trials = [trial for trial in run.trials if trial.phase == FIXED]
        return build_fixed_result(run.plan, run.plan.fixed, trials[-1], _iter_warnings(run)) if trials else None
    return build_search_result(run, name_frame_size(run.plan)) if run.trials else None


def _iter_warnings(run: RunResult) -> Iterator[str]:
    """Yield the error of a run, goals without a result, and notes on the setup."""
    size = name_frame_size(run.plan)
    if run.status is not Status.COMPLETE:
        yield f"{size}: {run.status.replace('_', ' ')}: {run.error or 'the run ended before it was complete'}"
    yield from (f"{size}: {format_missing_load(goal)}" for goal in run.goals if not goal.lower)
    yield from run.plan.warnings
    yield from (format_message(finding) for finding in run.findings if finding.code == HOST_FINDING)


def _collect_versions(run: RunResult) -> dict[str, str]:
    if not run.facts:
        return {"name": "nodrop", "version": __version__}
    versions, host = run.facts.versions, run.facts.host
    return {
        "name": "nodrop",
        "version": versions.nodrop,
        "engine": versions.engine,
        "commit": versions.commit,
        "python": versions.python,
        "kernel": host.kernel,
    }


def pick_median_runs(runs: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """Return one run for each frame size, in order: the median of repeats by resulting load or received rate."""
    sizes: dict[str, list[RunResult]] = {}
    for run in runs:
        sizes.setdefault(run.plan.frame_size, []).append(run)
    return tuple(_pick_middle(repeats) for repeats in sizes.values())


def _pick_middle(repeats: Sequence[RunResult]) -> RunResult:
    measured = [run for run in repeats if run.trials] or list(repeats)
    ordered = sorted(measured, key=_list_rates)
    return ordered[(len(ordered) - 1) // 2]


def _list_rates(run: RunResult) -> tuple[float, ...]:
    """Return the rates that order repeats: the loads found by goal, or the rate received at a fixed rate."""
    if run.plan.fixed:
        return tuple(trial.forwarding_rate_pps for trial in run.trials if trial.phase == FIXED)
    return tuple(goal_result.lower.load_pps if goal_result.lower else 0.0 for goal_result in run.goals)
