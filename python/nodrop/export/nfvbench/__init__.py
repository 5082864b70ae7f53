"""Results for programs that read NFVbench's JSON: the same nesting, names and units, and the right numbers.

Where a number differs from what NFVbench would have written, docs/reference/nfvbench-results.md says so.
"""

from nodrop.export.nfvbench.result import (
    build_nfvbench_result,
    build_standard_name,
    format_nfvbench_json,
    require_one_setup,
)
from nodrop.export.nfvbench.schema import NfvbenchResult

__all__ = [
    "NfvbenchResult",
    "build_nfvbench_result",
    "build_standard_name",
    "format_nfvbench_json",
    "require_one_setup",
]
