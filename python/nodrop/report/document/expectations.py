"""The thresholds that the user expects, each with the figure found."""

from collections.abc import Iterator

from nodrop.analysis.expectations import Verdict, judge_expectations
from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Bullets


def build_expectation_blocks(result: RunResult) -> Iterator[Bullets]:
    """Yield the expectations that are met, then the others; nothing without any."""
    met, missed = (tuple(_list_expectations(result, is_met=is_met)) for is_met in (True, False))
    if met:
        yield Bullets(items=met, tone="good")
    if missed:
        yield Bullets(items=missed, tone="caution")


def list_missed_expectations(result: RunResult) -> Iterator[str]:
    """Yield the expectations that are missed or undecided."""
    return _list_expectations(result, is_met=False)


def _list_expectations(result: RunResult, *, is_met: bool) -> Iterator[str]:
    for each in judge_expectations(result):
        if (each.verdict is Verdict.MET) == is_met:
            yield f"expected {each.expectation.text}: {each.verdict.value}, {each.found}"
