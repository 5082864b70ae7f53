"""Results in NFVbench's JSON: the same nesting, names and units, with corrected numbers.

Differences from NFVbench's own numbers are documented in docs/reference/nfvbench-results.md.
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
