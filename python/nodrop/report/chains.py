"""What each chain of forwarders contributed, where there are several."""

import collections
from collections.abc import Iterator

from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult
from nodrop.units import format_count


def chain_lines(result: RunResult) -> Iterator[str]:
    """What each chain lost in the trials that decided the upper bounds, once for goals that share the trial."""
    if result.plan.lab.chain_count == 1:
        return
    labels: dict[int, list[str]] = {}
    for found in result.goals:
        if found.upper:
            labels.setdefault(found.upper.trial_index, []).append(found.goal.label)
    trials = {trial.index: trial for trial in result.trials}
    for index, concerned in sorted(labels.items()):
        if index in trials:
            chains = {stream.stream_id: stream.chain for stream in result.plan.traffic.streams}
            text = _losses_text(trials[index], chains)
            yield f"{' and '.join(concerned)} upper bound, trial #{index}, by chain: {text}"


def _losses_text(trial: TrialResult, chains: dict[int, int]) -> str:
    """What each chain lost, by the chain of each stream."""
    offered, received = collections.Counter[int](), collections.Counter[int]()
    for stream in trial.streams:
        offered[chains[stream.stream_id]] += stream.offered_count
        received[chains[stream.stream_id]] += stream.received_count
    return ", ".join(
        f"{chain} lost {format_count(offered[chain] - received[chain])} of {format_count(offered[chain])}"
        for chain in sorted(offered)
    )
