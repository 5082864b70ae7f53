"""Speed of the SUT's CPUs over a run."""

from collections.abc import Iterator

from nodrop.model.result import RunResult

FULL_SPEED_MIN_RATIO = 0.97
"""Mean speed, as a share of the fastest, below which a run says so."""


def describe_slow_cpus(result: RunResult) -> Iterator[str]:
    """Yield a line for each CPU of the SUT that was slower than it can be for a notable part of the trials."""
    weights: dict[int, float] = {}
    sums: dict[int, float] = {}
    for trial in result.trials:
        for speed in trial.cpu_speeds:
            weights[speed.cpu] = weights.get(speed.cpu, 0.0) + trial.duration_s
            sums[speed.cpu] = sums.get(speed.cpu, 0.0) + trial.duration_s * speed.mean_ratio
    for cpu, weight in sorted(weights.items()):
        ratio = sums[cpu] / weight if weight else 1.0
        if ratio < FULL_SPEED_MIN_RATIO:
            yield (
                f"the SUT's CPU {cpu} ran at {100 * ratio:.0f} % of its full speed on average: another hardware thread "
                "or guest shares its core, or its clock rate varies; expect figures to vary from run to run"
            )
