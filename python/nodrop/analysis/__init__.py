"""Statistical comparison of runs: two setups (better, worse, equivalent, undecided), and trends over time.

Pure: numbers in, numbers out. `compare` compares the metrics of two sides, `diff_setups` lists how their setups differ.
"""

from nodrop.analysis.comparison import compare
from nodrop.analysis.setup_diff import diff_setups, diff_summaries
from nodrop.analysis.types import (
    Comparison,
    ComparisonOutcome,
    Margins,
    MetricComparison,
    MetricPoint,
    MetricSeries,
    SetupDifference,
    Side,
)

__all__ = [
    "Comparison",
    "ComparisonOutcome",
    "Margins",
    "MetricComparison",
    "MetricPoint",
    "MetricSeries",
    "SetupDifference",
    "Side",
    "compare",
    "diff_setups",
    "diff_summaries",
]
