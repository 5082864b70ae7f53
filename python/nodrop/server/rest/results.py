"""Results of the server's runs, read from the results directory on request."""

import contextlib
import functools
from collections.abc import Iterable
from pathlib import Path

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.chain_counts import ChainCounts, count_by_chain
from nodrop.model.latency import LatencyFigures
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.schemas import RunEntry


class ChainDirectionCounts(Value):
    """Frames of one direction of one chain in one trial."""

    chain: int
    """From 0."""
    tx_port: int
    """Transmitting tester port."""
    rx_port: int
    """Receiving tester port."""
    intended_count: int
    """Frames for the intended load and duration."""
    offered_count: int
    """Frames sent by the tester."""
    received_count: int
    """Distinct frames received."""
    lost_count: int
    """Frames not received."""
    latency: LatencyFigures | None
    """Null if nothing arrived, or if latency is known only for several chains together."""


class TrialChains(Value):
    """A trial, chain by chain."""

    run_id: str
    frame_size: str
    trial_index: int
    phase: str
    """Purpose of the trial."""
    intended_load_pps: float
    """Frames per second, aggregate over all chains and directions."""
    duration_s: float
    chains: tuple[ChainDirectionCounts, ...]


class Chains(Value):
    """Per-chain counts of every trial of a run."""

    trials: tuple[TrialChains, ...]


def load_results(entry: RunEntry, results_dir: str) -> tuple[RunResult, ...]:
    """Load all results of a run. Raises Problem if it has none, or one is unreadable."""
    if not entry.run_ids:
        reason = entry.error or entry.state
        problem = f"has no result: {reason}" if entry.state.is_over else "has no result yet; follow its events"
        raise Problem(409, f"run {entry.id} {problem}")
    try:
        return _load(results_dir, entry.run_ids)
    except ConfigError as error:
        raise Problem(410, str(error)) from None


@functools.lru_cache(maxsize=2)
def _load(results_dir: str, run_ids: tuple[str, ...]) -> tuple[RunResult, ...]:
    """Load results, cached since they never change: repeated requests must not take CPU time from a measurement."""
    return tuple(store.load(Path(results_dir) / run_id) for run_id in run_ids)


def find_last_results(entries: Iterable[RunEntry], results_dir: str) -> tuple[RunResult, ...]:
    """Return the results of the last run with readable results, if any."""
    for entry in entries:
        if entry.state.is_over and entry.run_ids:
            with contextlib.suppress(Problem):
                return load_results(entry, results_dir)
    return ()


def find_result_file(entry: RunEntry, results_dir: str, frame_size: str | None, repeat: int | None = None) -> Path:
    """Return the file of one result. Raises Problem if none or several match."""
    results = load_results(entry, results_dir)
    matches = [
        result
        for result in results
        if frame_size in (None, result.plan.frame_size) and repeat in (None, result.plan.repeat)
    ]
    if len(matches) != 1:
        several = any(result.plan.repeat_count > 1 for result in results)
        each = "frame size and repeat" if several else "frame size"
        choices = ", ".join(
            f"frame_size={result.plan.frame_size}{f'&repeat={result.plan.repeat}' if several else ''}"
            for result in results
        )
        raise Problem(422, f"run {entry.id} has one result per {each}; select one of {choices}")
    return Path(results_dir) / matches[0].run_id / store.RESULT_FILE


def collect_chains(results: Iterable[RunResult]) -> Chains:
    """Collect the per-chain counts of every trial."""
    return Chains(trials=tuple(_build_trial(result, trial) for result in results for trial in result.trials))


def _build_trial(result: RunResult, trial: TrialResult) -> TrialChains:
    plan = result.plan
    return TrialChains(
        run_id=result.run_id,
        frame_size=plan.frame_size,
        trial_index=trial.index,
        phase=trial.phase,
        intended_load_pps=trial.trial.intended_load_pps,
        duration_s=trial.duration_s,
        chains=tuple(_build_direction(counts) for counts in count_by_chain(plan.traffic, trial, plan.percentiles)),
    )


def _build_direction(counts: ChainCounts) -> ChainDirectionCounts:
    return ChainDirectionCounts(
        chain=counts.chain,
        tx_port=counts.tx_port,
        rx_port=counts.rx_port,
        intended_count=counts.intended_count,
        offered_count=counts.offered_count,
        received_count=counts.received_count,
        lost_count=counts.lost_count,
        latency=counts.latency,
    )
