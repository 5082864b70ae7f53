"""What is demanded of nodrop's own search beside the published ones, and whether it is met."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from benchmarks.search.goals import CLEAN, ERRATIC, LONG, OWN, RELEASE_040, RELEASE_121, SHORT

from nodrop.simulation.benchmark import EntryScore

Scores = Sequence[EntryScore]
CLEAN_TRAFFIC_S = 70.0
"""Two proofs of 30 s are the floor."""


def demands(scores: Mapping[str, Scores]) -> Iterator[str]:
    """A line for each demand: met or not, the figure found and the one demanded."""
    if LONG in scores:
        yield from _long(scores[LONG])
    if SHORT in scores:
        yield from _short(scores[SHORT])


def _long(scores: Scores) -> Iterator[str]:
    own, older, newer = (_of(scores, name) for name in (OWN, RELEASE_040, RELEASE_121))
    own_s, older_s, newer_s = (fmean(score.traffic_s for score in found.values()) for found in (own, older, newer))
    yield _line(own_s / older_s, 0.5, f"{LONG} goals: traffic time to {RELEASE_040}'s")
    yield _line(own_s / newer_s, 2 / 3, f"{LONG} goals: traffic time to {RELEASE_121}'s")
    clean = [own[sut].traffic_s for sut in CLEAN if sut in own]
    if clean:
        yield _line(max(clean), CLEAN_TRAFFIC_S, f"{LONG} goals: longest traffic time on clean SUTs, s")
    slower = {sut: own[sut].traffic_s / older[sut].traffic_s for sut in own}
    worst = max(slower, key=lambda sut: slower[sut])
    yield _line(slower[worst], 1.0, f"{LONG} goals: traffic time to {RELEASE_040}'s where that is worst, on {worst}")
    erratic = [sut for sut in own if sut in ERRATIC]
    if erratic:
        off = [fmean(found[sut].goals[0].off_ratio for sut in erratic) for found in (own, older)]
        yield _line(off[0], off[1] / 2, f"{LONG} goals: share of NDRs more than 1 % off, erratic SUTs")
    errors = [fmean(abs(_capped(s.goals[0].error_ratio)) for s in found.values()) for found in (own, older)]
    yield _line(errors[0], errors[1], f"{LONG} goals: median error of the NDR, at most 100 %, mean over the SUTs")


def _short(scores: Scores) -> Iterator[str]:
    own, newer = _of(scores, OWN), _of(scores, RELEASE_121)
    wall_s = [fmean(score.wall_s for score in found.values()) for found in (own, newer)]
    yield _line(wall_s[0] / wall_s[1], 0.6, f"{SHORT} goals: wall time to {RELEASE_121}'s")
    for position, label in enumerate(("NDR", "PDR")):
        spreads = [fmean(_spread(s, position) for s in found.values()) for found in (own, newer)]
        yield _line(spreads[0], spreads[1], f"{SHORT} goals: spread of the {label}, mean over the SUTs")


def _of(scores: Scores, search: str) -> dict[str, EntryScore]:
    return {score.sut: score for score in scores if score.search == search}


def _capped(error_ratio: float) -> float:
    return max(-1.0, min(1.0, error_ratio))


def _spread(score: EntryScore, position: int) -> float:
    return min(1.0, score.goals[position].high_ratio - score.goals[position].low_ratio)


def _line(found: float, demanded: float, what: str) -> str:
    verdict = "met    " if found <= demanded else "NOT MET"
    return f"{verdict} {what}: {found:.3g}, demanded at most {demanded:.3g}"
