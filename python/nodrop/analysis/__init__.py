"""What several runs say of each other: better, worse, the same, or not known; and where a series changes.

Pure: numbers in, numbers out. `compare` judges two sides, `differences` says in what their set-ups differ.
"""

from nodrop.analysis.comparison import compare
from nodrop.analysis.setup_diff import differences, outward_differences
from nodrop.analysis.types import (
    Comparison,
    Difference,
    Margins,
    MetricVerdict,
    Point,
    Series,
    Side,
    Verdict,
)

__all__ = [
    "Comparison",
    "Difference",
    "Margins",
    "MetricVerdict",
    "Point",
    "Series",
    "Side",
    "Verdict",
    "compare",
    "differences",
    "outward_differences",
]
