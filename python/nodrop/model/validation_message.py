"""What is wrong with values that came from outside, as sentences."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails


def format_validation_error(error: ValidationError, where: str = "") -> str:
    """What was asked and what should have been, a sentence for every value that cannot be used.

    Args:
        error: what pydantic found.
        where: who wrote the values, as `params`.
    """
    return "\n".join(_sentence(detail, where) for detail in error.errors())


def _sentence(detail: ErrorDetails, where: str) -> str:
    key = ".".join(str(part) for part in detail["loc"])
    place = ": ".join(part for part in (where, key) if part)
    if detail["type"] == "missing":
        return f"{place}: a value asked, none found; add it"
    if detail["type"] == "extra_forbidden":
        return f"{place}: {detail['input']!r} asked, there is no such key; leave it out"
    if detail["type"] == "value_error":
        return f"{place}: {detail['ctx']['error']}"
    return f"{place}: {detail['input']!r} asked, it {detail['msg'].replace('Input should', 'should', 1)}"
