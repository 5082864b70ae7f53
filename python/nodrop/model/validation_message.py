"""Sentences about values that pydantic rejects."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from nodrop.system.yaml_reader import preview_value

PROBLEMS = {
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
    "dict_type": "not a mapping",
    "extra_forbidden": "unknown key",
    "finite_number": "should be a finite number",
    "float_parsing": "should be a number",
    "float_type": "should be a number",
    "greater_than": "should be greater than {gt}",
    "greater_than_equal": "should be greater than or equal to {ge}",
    "int_from_float": "should be an integer",
    "int_parsing": "should be an integer",
    "int_parsing_size": "too many digits for an integer",
    "int_type": "should be an integer",
    "invalid_key": "keys should be text",
    "json_invalid": "invalid JSON, {error}",
    "less_than": "should be less than {lt}",
    "less_than_equal": "should be less than or equal to {le}",
    "list_type": "should be a list",
    "literal_error": "should be {expected}",
    "model_type": "not a mapping",
    "string_pattern_mismatch": "should match {pattern}",
    "string_too_long": "should have {max_length} or fewer characters",
    "string_too_short": "should have {min_length} or more characters",
    "string_type": "should be text",
    "too_long": "should have {max_length} or fewer values",
    "too_short": "too few values",
    "tuple_type": "should be a list",
}
"""Problems by pydantic's error type, with the names of its context. Pydantic's own messages differ between releases;
they appear only for types that are not listed."""


def format_validation_error(error: ValidationError, source: str = "") -> str:
    """Return one line for each rejected value.

    Args:
        error: the error that pydantic raised.
        source: where the values come from, e.g. `params`.
    """
    return "\n".join(_describe_located(detail, source) for detail in error.errors())


def describe_problem(detail: ErrorDetails, unknown_key_fix: str = "remove it", example: str = "") -> str:
    """Return the problem with a value and its fix, without the value's location.

    Args:
        detail: one error of pydantic's.
        unknown_key_fix: what to do about a key that does not exist.
        example: an example of a required key.
    """
    problem, kind = state_problem(detail), detail["type"]
    if kind == "missing":
        return f"{problem} and has no default; add it{example and f', e.g. {example}'}"
    if kind == "extra_forbidden":
        return f"{problem}; {unknown_key_fix}"
    if kind == "too_short":
        return f"{problem}; write at least {detail['ctx']['min_length']}"
    if kind in ("model_type", "dict_type"):
        return f"{problem}; write keys with values below it, indented"
    return problem


def state_problem(detail: ErrorDetails) -> str:
    """Return the problem with a value, without the value's location and without a fix."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return "missing"
    if kind == "value_error":
        return str(context["error"])
    problem = PROBLEMS[kind].format_map(_format_numbers(context)) if kind in PROBLEMS else detail["msg"]
    return f"{problem} ({preview_value(detail['input'])})"


def format_location(detail: ErrorDetails) -> str:
    """Return the key of a rejected value, e.g. `traffic.vlans.0`."""
    return ".".join(str(part) for part in detail["loc"])


def _format_numbers(context: Mapping[str, Any]) -> dict[str, str]:
    """Return the limits that a value violates as text, a whole number without a decimal point."""
    return {
        name: str(int(value) if isinstance(value, float) and value.is_integer() else value)
        for name, value in context.items()
    }


def _describe_located(detail: ErrorDetails, source: str) -> str:
    return ": ".join(part for part in (source, format_location(detail), describe_problem(detail)) if part)
