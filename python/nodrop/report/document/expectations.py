"""The thresholds that the user expects, each with the figure found."""

from collections.abc import Iterator

from nodrop.analysis.expectations import Verdict, judge_expectations
from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Bullets


def build_expectation_blocks(result: RunResult) -> Iterator[Bullets]:
    """Yield the expectations that are met, then the others; nothing without any."""
    judgments = judge_expectations(result)
    for is_met in (True, False):
        texts = tuple(
            f"expected {each.expectation.text}: {each.verdict.value}, {each.found}"
            for each in judgments
            if (each.verdict is Verdict.MET) == is_met
        )
        if texts:
            yield Bullets(items=texts, tone="good" if is_met else "caution")
