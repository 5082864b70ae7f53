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
            yield f"{' and '.join(concerned)} upper bound, trial #{index}, by chain: {_losses_text(trials[index])}"


def _losses_text(trial: TrialResult) -> str:
    """A chain has two ports of the tester's, an even one and the next."""
    offered, received = collections.Counter[int](), collections.Counter[int]()
    for stream in trial.streams:
        offered[stream.tx_port // 2] += stream.offered_count
        received[stream.tx_port // 2] += stream.received_count
    return ", ".join(
        f"{chain} lost {format_count(offered[chain] - received[chain])} of {format_count(offered[chain])}"
        for chain in sorted(offered)
    )
