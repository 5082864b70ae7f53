"""Sentences about values that pydantic rejects."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from nodrop.system.yaml_reader import preview_value


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
    value, kind = preview_value(detail["input"]), detail["type"]
    if kind == "missing":
        return f"missing and has no default; add it{example and f', e.g. {example}'}"
    if kind == "extra_forbidden":
        return f"unknown key ({value}); {unknown_key_fix}"
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind == "too_short":
        return f"too few values ({value}); write at least {detail['ctx']['min_length']}"
    if kind in ("model_type", "dict_type"):
        return f"not a mapping ({value}); write keys with values below it, indented"
    return f"{detail['msg'].replace('Input should', 'should', 1)} ({value})"


def _describe_located(detail: ErrorDetails, source: str) -> str:
    key = ".".join(str(part) for part in detail["loc"])
    return ": ".join(part for part in (source, key, describe_problem(detail)) if part)
