"""What runs of the server left behind, read from the results directory when somebody asks."""

import contextlib
import functools
from collections.abc import Iterable
from pathlib import Path

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.chain_counts import ChainCounts, chain_counts
from nodrop.model.latency import LatencyFigures
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.server.rest.problem import Problem
from nodrop.server.rest.schemas import Entry


class WayCounts(Value):
    """Frames of one chain in one trial, one way."""

    chain: int
    """From 0."""
    tx_port: int
    """The tester's port they left by."""
    rx_port: int
    """And came back to."""
    intended_count: int
    """Frames that the load and the duration ask for."""
    offered_count: int
    """Frames that left the tester."""
    received_count: int
    """Distinct frames that came back."""
    lost_count: int
    """Those that did not."""
    latency: LatencyFigures | None
    """Null where nothing arrived, or only that of several chains together is known."""


class TrialChains(Value):
    """A trial, chain by chain."""

    run_id: str
    frame_size: str
    trial_index: int
    phase: str
    """What the trial was for."""
    intended_load_pps: float
    """Aggregate over all chains and directions."""
    duration_s: float
    chains: tuple[WayCounts, ...]


class Chains(Value):
    """Per-chain counts of every trial of a run."""

    trials: tuple[TrialChains, ...]


def load_results(entry: Entry, results_dir: str) -> tuple[RunResult, ...]:
    """Everything a run has stored. Raises Problem when there is nothing, or it cannot be read."""
    if not entry.run_ids:
        why = (
            f"it has none: {entry.error or entry.state}"
            if entry.state.is_over
            else "it has none yet; follow its events"
        )
        raise Problem(409, f"the result of run {entry.id} asked, {why}")
    try:
        return _load(results_dir, entry.run_ids)
    except ConfigError as error:
        raise Problem(410, str(error)) from None


@functools.lru_cache(maxsize=2)
def _load(results_dir: str, run_ids: tuple[str, ...]) -> tuple[RunResult, ...]:
    """Kept, as results never change: who asks again and again shall not take CPU time from a measurement."""
    return tuple(store.load(Path(results_dir) / run_id) for run_id in run_ids)


def last_results(entries: Iterable[Entry], results_dir: str) -> tuple[RunResult, ...]:
    """What the last run left that left anything that can be read; nothing when there is none."""
    for entry in entries:
        if entry.state.is_over and entry.run_ids:
            with contextlib.suppress(Problem):
                return load_results(entry, results_dir)
    return ()


def result_file(entry: Entry, results_dir: str, frame_size: str | None, repeat: int | None = None) -> Path:
    """The file of one result. Raises Problem when there is none, or several and nothing says which."""
    results = load_results(entry, results_dir)
    chosen = [
        result
        for result in results
        if frame_size in (None, result.plan.frame_size) and repeat in (None, result.plan.repeat)
    ]
    if len(chosen) != 1:
        several = any(result.plan.repeat_count > 1 for result in results)
        each = "frame size and repeat" if several else "frame size"
        asked = ", ".join(
            f"frame_size={result.plan.frame_size}{f'&repeat={result.plan.repeat}' if several else ''}"
            for result in results
        )
        raise Problem(422, f"the result of run {entry.id} asked, it has one for each {each}; ask for one of {asked}")
    return Path(results_dir) / chosen[0].run_id / store.RESULT_FILE


def chains_of(results: Iterable[RunResult]) -> Chains:
    """Per-chain counts of every trial."""
    return Chains(trials=tuple(_trial(result, trial) for result in results for trial in result.trials))


def _trial(result: RunResult, trial: TrialResult) -> TrialChains:
    plan = result.plan
    return TrialChains(
        run_id=result.run_id,
        frame_size=plan.frame_size,
        trial_index=trial.index,
        phase=trial.phase,
        intended_load_pps=trial.trial.intended_load_pps,
        duration_s=trial.duration_s,
        chains=tuple(_way(counts) for counts in chain_counts(plan.traffic, trial, plan.percentiles)),
    )


def _way(counts: ChainCounts) -> WayCounts:
    return WayCounts(
        chain=counts.chain,
        tx_port=counts.tx_port,
        rx_port=counts.rx_port,
        intended_count=counts.intended_count,
        offered_count=counts.offered_count,
        received_count=counts.received_count,
        lost_count=counts.lost_count,
        latency=counts.latency,
    )
