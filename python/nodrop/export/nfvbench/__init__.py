"""Results for programs that read NFVbench's JSON: the same nesting, names and units, and the right numbers.

Where a number differs from what NFVbench would have written, docs/reference/nfvbench-results.md says so.
"""

from nodrop.export.nfvbench.result import nfvbench_result, nfvbench_text, require_one_setup, standard_name
from nodrop.export.nfvbench.schema import NfvbenchResult

__all__ = ["NfvbenchResult", "nfvbench_result", "nfvbench_text", "require_one_setup", "standard_name"]
