"""The key of a setup: the same for runs that differ in nothing but chance."""

import hashlib
import json
from typing import Any

from nodrop.model.result import RunResult

EXCLUDED_KEYS: Any = {  # as Pydantic excludes them
    **dict.fromkeys(("asked", "nfvbench", "user_info", "interval_s", "percentiles", "expect", "capture"), True),
    **dict.fromkeys(("variant", "repeat", "repeat_count", "calibration", "warnings"), True),
    **dict.fromkeys(("results_dir", "results_index", "ship"), True),
    "lab": {"forwarders": True, "sut_softirq_core": True},
    "engine": {"cores": True},
    "search": {"earlier": True},
}
"""Keys of the plan that do not affect figures, or name the CPUs that were idle."""


def compute_setup_key(result: RunResult) -> str:
    """Return the key of the plan, the SUT, the host and the version of a run; empty if the lab did not come up."""
    facts = result.facts
    if facts is None:
        return ""
    host = facts.host
    measured = (facts.stage.sut, host.name, host.kernel, host.cpu_model, host.core_count, facts.versions.nodrop)
    plan = result.plan.model_dump(mode="json", exclude=EXCLUDED_KEYS)
    return hashlib.sha256(json.dumps([plan, measured], sort_keys=True).encode()).hexdigest()[:16]
