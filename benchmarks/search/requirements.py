"""Requirements on nodrop's own search compared with the published releases, met or not."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from benchmarks.search.goals import DETERMINISTIC, LONG, OWN, RELEASE_040, RELEASE_121, SHORT, STOCHASTIC

from nodrop.simulation.benchmark import EntryScore

Scores = Sequence[EntryScore]
DETERMINISTIC_TRAFFIC_S = 70.0
"""At least 60 s are necessary: two deciding trials of 30 s."""


def format_requirements(scores: Mapping[str, Scores]) -> Iterator[str]:
    """Yield a line for each requirement: met or not, the measured and the required value."""
    if LONG in scores:
        yield from _format_long(scores[LONG])
    if SHORT in scores:
        yield from _format_short(scores[SHORT])


def _format_long(scores: Scores) -> Iterator[str]:
    own, older, newer = (_select_search(scores, name) for name in (OWN, RELEASE_040, RELEASE_121))
    own_s, older_s, newer_s = (fmean(score.traffic_s for score in each.values()) for each in (own, older, newer))
    yield _format_line(own_s / older_s, 0.5, f"{LONG} goals: traffic time relative to {RELEASE_040}")
    yield _format_line(own_s / newer_s, 2 / 3, f"{LONG} goals: traffic time relative to {RELEASE_121}")
    deterministic = [own[sut].traffic_s for sut in DETERMINISTIC if sut in own]
    if deterministic:
        title = f"{LONG} goals: longest traffic time on deterministic SUTs, s"
        yield _format_line(max(deterministic), DETERMINISTIC_TRAFFIC_S, title)
    time_ratios = {sut: own[sut].traffic_s / older[sut].traffic_s for sut in own}
    worst = max(time_ratios, key=lambda sut: time_ratios[sut])
    yield _format_line(
        time_ratios[worst], 1.0, f"{LONG} goals: traffic time relative to {RELEASE_040}, highest of all SUTs ({worst})"
    )
    stochastic = [sut for sut in own if sut in STOCHASTIC]
    if stochastic:
        off = [fmean(each[sut].goals[0].off_ratio for sut in stochastic) for each in (own, older)]
        yield _format_line(off[0], off[1] / 2, f"{LONG} goals: share of NDRs more than 1 % off, stochastic SUTs")
    errors = [fmean(abs(_clamp(s.goals[0].error_ratio)) for s in each.values()) for each in (own, older)]
    yield _format_line(
        errors[0], errors[1], f"{LONG} goals: median error of the NDR, limited to 100 %, mean of the SUTs"
    )


def _format_short(scores: Scores) -> Iterator[str]:
    own, newer = _select_search(scores, OWN), _select_search(scores, RELEASE_121)
    wall_s = [fmean(score.wall_s for score in each.values()) for each in (own, newer)]
    yield _format_line(wall_s[0] / wall_s[1], 0.6, f"{SHORT} goals: wall time relative to {RELEASE_121}")
    for position, label in enumerate(("NDR", "PDR")):
        spreads = [fmean(_compute_spread(s, position) for s in each.values()) for each in (own, newer)]
        yield _format_line(spreads[0], spreads[1], f"{SHORT} goals: spread of the {label}, mean of the SUTs")


def _select_search(scores: Scores, search: str) -> dict[str, EntryScore]:
    return {score.sut: score for score in scores if score.search == search}


def _clamp(error_ratio: float) -> float:
    return max(-1.0, min(1.0, error_ratio))


def _compute_spread(score: EntryScore, position: int) -> float:
    return min(1.0, score.goals[position].high_ratio - score.goals[position].low_ratio)


def _format_line(value: float, maximum: float, title: str) -> str:
    outcome = "met    " if value <= maximum else "NOT MET"
    return f"{outcome} {title}: {value:.3g}, required: at most {maximum:.3g}"
