"""TRex's NDR results (its `ndr` tool, stateless) as summaries.

Mapping of the values: docs/reference/imported-results.md.
"""

import ast
import json
import statistics
from datetime import datetime
from itertools import takewhile
from typing import Any

from nodrop.formatting import format_surplus
from nodrop.model.goal import Goal, Limit
from nodrop.model.nfvbench import get_list, get_number, get_section, get_text, get_value
from nodrop.model.summary import Measure, MissingGoal, Summary
from nodrop.store.metrics import build_goal_measure, build_latency_measures, name_goal
from nodrop.units import format_pps

IMIX_BYTES = (28 * 64 + 20 * 594 + 4 * 1518) / 52
"""Mean frame size of the tool's IMIX."""
LITERAL_STARTS = ("'{", '"{', "('{", '("{')
FULL_PERCENT = 100
GOAL_KEY = "pdr"
LOSS_KEY = "drop_rate_percentage"
STATEFUL = "high_mult"
"""A key of the tool for stateful traffic only, which searches connections instead of frames."""


def is_trex_result(content: object) -> bool:
    """Return whether JSON was written by the tool."""
    return isinstance(get_value(content, "results"), dict) and isinstance(get_value(content, "config"), dict)


def extract_json(output: str) -> Any:
    """Extract the JSON from the output of `ndr --output json`: a Python string literal over several lines.

    Returns: None without such a literal.
    """
    lines = output.splitlines()
    for start, line in enumerate(lines):
        if line.lstrip().startswith(LITERAL_STARTS):
            return _parse_literal(lines[start:])
    return None


def find_missing_key(content: dict[str, Any]) -> str:
    """Return the first missing or invalid key with the problem; empty for a complete result."""
    if STATEFUL in content["config"]:
        return f"config.{STATEFUL}: a stateful NDR, which counts connections instead of frames per second"
    for part, key in (("results", "tx_pps"), ("results", LOSS_KEY), ("config", GOAL_KEY)):
        number = get_number(content, part, key)
        if number is None or (number < 0 and key != LOSS_KEY):
            least = "" if key == LOSS_KEY else " of at least 0"
            return f"{part}.{key}: not a number{least} ({json.dumps(get_value(content, part, key))})"
    return ""


def build_summary(content: dict[str, Any], run_id: str, began: datetime) -> Summary:
    """Build the summary of a result of the tool.

    Args:
        content: what `find_missing_key` has nothing to say of.
        run_id: id of the file.
        began: start of the measurement, which the file does not state.
    """
    results, config = get_section(content, "results"), get_section(content, "config")
    goal = _build_goal(config)
    why_not = _explain_missed_goal(results, config)
    surplus_percent = max(-(get_number(results, LOSS_KEY) or 0), 0)
    size = get_text(config, "pkt_size") or get_text(config, "tunables", "size") or "unknown"
    iterations = get_number(results, "total_iterations") or get_number(results, "iteration") or 0
    return Summary(
        run_id=run_id,
        source="trex",
        started_at=began.isoformat(),
        wall_s=float(get_number(results, "Elapsed Time") or 0),
        status="complete",
        error=f"{name_goal(goal)[1]}: {why_not}" if why_not else None,
        label=_format_title(results),
        sut="unknown",
        path="EXT",
        chain_count=max(1, len(get_list(config, "ports")) // 2),
        flow_count=0,
        frame_size="IMIX" if size == "imix" else size,
        frame_bytes=IMIX_BYTES if size == "imix" else float(size) if size.isdecimal() else 0.0,
        bidirectional=get_value(config, "bi_dir") is True,
        asked=name_goal(goal)[0],
        algorithm="trex_optimized" if get_value(config, "opt_binary_search") is True else "trex_binary",
        host="",
        kernel="",
        cpu_model="",
        backend="trex",
        version="",
        trial_count=int(iterations) + 1,
        measures=() if why_not else tuple(_list_measures(results, goal)),
        missing_goals=(MissingGoal(text=name_goal(goal)[1], reason=why_not),) if why_not else (),
        doubts=(format_surplus(name_goal(goal)[1], surplus_percent / 100) + ".",) if surplus_percent else (),
    )


def _build_goal(config: dict[str, Any]) -> Goal:
    ratio = (get_number(config, GOAL_KEY) or 0) / 100
    return Goal(label="PDR" if ratio else "NDR", loss_ratio=min(max(ratio, 0.0), 0.99))


def _explain_missed_goal(results: dict[str, Any], config: dict[str, Any]) -> str:
    """Return why the last trial in the file misses the goal; the tool reports such trials as well."""
    at = format_pps(get_number(results, "tx_pps") or 0)
    lost, allowed = get_number(results, LOSS_KEY) or 0, get_number(config, GOAL_KEY) or 0
    full = get_number(results, "queue_full_percentage") or 0
    limit = get_number(config, "q_full_resolution") or get_number(config, "q_ful_resolution") or FULL_PERCENT
    if get_number(results, "rate_p") == 0:
        return "no load met the goal."
    if lost > allowed:
        return f"no load met the goal; at {at} {lost:g} % were dropped."
    if full > limit:
        return f"no load met the goal; at {at} TRex could not queue {full:g} %."
    return "no load met the goal; latency was too high." if get_value(results, "valid_latency") is False else ""


def _list_measures(results: dict[str, Any], goal: Goal) -> list[Measure]:
    at_most = (get_number(results, "rate_p") or 0) >= FULL_PERCENT
    is_loss_known = (get_number(results, LOSS_KEY) or 0) >= 0
    limit = Limit.MAX_LOAD if at_most else Limit.SUT if is_loss_known else Limit.UNKNOWN
    load = build_goal_measure(goal, float(get_number(results, "tx_pps") or 0), None, limit)
    streams = [get_section(each) for each in get_section(results, "latency").values()]
    means = [mean for each in streams if (mean := get_number(each, "average")) is not None and mean >= 0]
    longest = [most for each in streams if (most := get_number(each, "total_max")) is not None and most >= 0]
    usec = {"mean": statistics.fmean(means) if means else None, "max": max(longest, default=None)}
    return [load, *build_latency_measures(usec, *name_goal(goal))]


def _format_title(results: dict[str, Any]) -> str | None:
    title = get_text(results, "title")
    return title if title not in ("", "Title", "Default Title") else None


def _parse_literal(lines: list[str]) -> Any:
    """Parse the JSON in a Python string literal; each continuation line begins with a quote."""
    rest = takewhile(lambda line: line.lstrip().startswith(("'", '"')), lines[1:])
    try:
        return json.loads(ast.literal_eval("\n".join([lines[0].strip(), *rest])))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
