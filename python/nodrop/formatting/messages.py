"""Sentences of messages: the one place where codes and parameters become words.

A template is a format string whose fields name parameters; the format specifications below add units to them. A code
may have several templates: the first whose parameters are all present applies.
"""

import string
from collections.abc import Callable, Mapping
from typing import Any

from nodrop.formatting.bound_changes import describe_bound_changes
from nodrop.formatting.doubts import DOUBTS
from nodrop.formatting.explanations import EXPLANATIONS
from nodrop.formatting.flags import DISTURBANCES, FLAGS
from nodrop.formatting.reasons import REASONS
from nodrop.model.goal import Flag
from nodrop.model.message import RENDER, TEXT, Message, replace_params
from nodrop.model.result import TrialEffect
from nodrop.model.trial import Doubt
from nodrop.units import format_count, format_pps, format_ratio, format_seconds

Templates = tuple[str, ...]
TEMPLATES: Mapping[str, Templates] = {**FLAGS, **DOUBTS, **REASONS, **EXPLANATIONS}


def format_load(load_pps: float) -> str:
    """Return a load with five significant digits, enough to tell neighboring loads of a search apart."""
    for unit, scale in (("Gpps", 1e9), ("Mpps", 1e6), ("kpps", 1e3)):
        if load_pps >= scale:
            return f"{load_pps / scale:.5g} {unit}"
    return f"{load_pps:.5g} pps"


def format_relative_width(width_ratio: float) -> str:
    """Return a relative width in percent."""
    return f"{width_ratio * 100:.3g} %"


SPECIFICATIONS: Mapping[str, Callable[[Any], str]] = {
    "load": format_load,
    "width": format_relative_width,
    "pps": format_pps,
    "ratio": format_ratio,
    "duration": format_seconds,
    "seconds": lambda value: f"{value:.4g} s",
    "ms": lambda value: f"{value * 1e3:.3g} ms",
    "count": format_count,
    "frames": lambda value: f"{value:,.0f}",
    "frame_count": lambda value: format_count(value, "frame"),
    "time_count": lambda value: format_count(value, "time"),
    "percent": lambda value: f"{value:.0%}",
    "change": lambda value: f"{value:+.2%}",
    "direction": lambda value: "rose" if value > 0 else "fell",
    "disturbance": lambda code: DISTURBANCES.get(code, code),
}
"""Format specifications of templates; all others are Python's."""


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        specification = SPECIFICATIONS.get(format_spec)
        return specification(value) if specification else format(value, format_spec)


def format_message(message: Message) -> str:
    """Return the sentence of a message; code and parameters if nothing is known about the code."""
    if message.is_sentence:
        return str(message.params[TEXT])
    if isinstance(message, TrialEffect) and message:
        return _format_effect(message)
    for template in TEMPLATES.get(message.code, ()):
        if _field_names(template) <= message.params.keys():
            return _Formatter().vformat(template, (), message.params)
    values = ", ".join(f"{name} {value}" for name, value in message.params.items())
    return f"{message.code}{values and f' ({values})'}"


def _format_effect(effect: TrialEffect) -> str:
    changes = describe_bound_changes(effect.before, effect.after)
    if effect.next_load_pps is None or effect.next_duration_s is None:
        return f"{changes}; the search ends"
    return f"{changes}; next {format_pps(effect.next_load_pps)} for {format_seconds(effect.next_duration_s)}"


def _field_names(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def _add_sentence(message: Message, fields: dict[str, Any]) -> dict[str, Any]:
    if message.is_sentence:
        return replace_params(fields, format_message(message))
    return fields | {TEXT: format_message(message)} if message else fields


def _as_sentence(message: Message, fields: dict[str, Any]) -> Any:
    text = format_message(message)
    return replace_params(fields, text) if isinstance(message, Flag | Doubt) else text


WITH_SENTENCES: dict[str, Any] = {RENDER: _add_sentence}
"""Serialization context of stored results: codes, parameters and sentences."""
AS_SENTENCES: dict[str, Any] = {RENDER: _as_sentence}
"""Serialization context of events and other messages to programs: sentences, of flags and doubts with their codes."""
