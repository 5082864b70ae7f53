"""What a key is: what it means, what it may be, what it is when nobody writes it, and what the other form calls it."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from nodrop.config.keys import SHARED, find_field, find_section, is_nfvbench_key, is_section, suggest_key, user_fields
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.untranslated import OUTPUT_KEYS, iter_unused_keys
from nodrop.config.schema import Config
from nodrop.config.yaml_writer import to_plain
from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import Key, to_yaml_line

LIMITS = (
    ("minimum", "from {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "up to {}"),
    ("exclusiveMaximum", "below {}"),
)


def explain_key(written: str) -> str:
    """Everything there is to say of a key, dotted. Raises ConfigError naming the nearest when there is no such key."""
    key = tuple(written.strip().split("."))
    roots = [root for root in (Config, NfvbenchConfig) if find_field(root, key) is not None]
    if not roots:
        raise ConfigError(f"{written}: asked, there is no such key; {suggest_key(key)}")
    theirs = roots == [NfvbenchConfig] or is_nfvbench_key(key)
    root = NfvbenchConfig if theirs else Config
    lines = [f"{'.'.join(key)} ({_whose(key, theirs)})", *_meaning(root, key)]
    field = find_field(root, key)
    if field is not None and is_section(field):
        lines += ["  keys:", *_below(root, key)]
        if not theirs and find_section(NfvbenchConfig, key):
            lines += ["  keys of NFVbench's:", *_below(NfvbenchConfig, key)]
    else:
        lines += [f"  default: {format_default(root, key)}", *_range(root, key)]
    return "\n".join([*lines, *_other_form(key, theirs)])


def format_default(root: type[BaseModel], key: Key) -> str:
    """What a key is when nobody writes it, as YAML in one line."""
    value: Any = root()
    for part in key:
        if not isinstance(value, BaseModel):
            return "none, it has to be written"
        names = {field.alias or name: name for name, field in type(value).model_fields.items()}
        value = getattr(value, names.get(part, part), None)
    return to_yaml_line(to_plain(value))


def format_range(root: type[BaseModel], key: Key) -> str:
    """What a key may be: kinds, choices and limits."""
    above = find_section(root, key[:-1])
    if above is None:
        return ""
    schema = above.model_json_schema()
    kinds = _kinds(schema["properties"].get(key[-1], {}), schema.get("$defs", {}))
    return " or ".join(dict.fromkeys(kinds))


def find_translations(key: Key) -> tuple[str, ...]:
    """nodrop's keys that a key of NFVbench's is translated to."""
    return tuple(dict.fromkeys(write for rule in RULES if rule.is_of(key) for write in rule.writes))


def find_nfvbench_keys(key: Key) -> tuple[str, ...]:
    """NFVbench's keys that are translated to a key of nodrop's."""
    name = ".".join(key)
    return tuple(dict.fromkeys(read for rule in RULES if name in rule.writes for read in rule.reads))


def find_replacement_note(key: Key) -> str:
    """What happens instead of what a key of NFVbench's names; empty where there is nothing to say."""
    return dict(iter_unused_keys()).get(key, "")


def _whose(key: Key, theirs: bool) -> str:
    if theirs:
        return "NFVbench's key"
    return "nodrop's key, and NFVbench's" if key[0] in SHARED else "nodrop's key"


def _meaning(root: type[BaseModel], key: Key) -> list[str]:
    field = find_field(root, key)
    return [f"  {' '.join((field.description or '').split())}"] if field is not None else []


def _below(root: type[BaseModel], key: Key) -> Iterator[str]:
    room = find_section(root, key)
    for name, field in user_fields(room).items() if room else ():
        yield f"    {name}: {' '.join((field.description or '').split())}"


def _range(root: type[BaseModel], key: Key) -> list[str]:
    text = format_range(root, key)
    return [f"  values: {text}"] if text else []


def _other_form(key: Key, theirs: bool) -> Iterator[str]:
    if not theirs:
        if sources := find_nfvbench_keys(key):
            yield f"  NFVbench: {', '.join(sources)}"
        return
    if writes := find_translations(key):
        yield f"  becomes: {', '.join(writes)}"
    elif text := OUTPUT_KEYS.get(".".join(key)):
        yield f"  acts: {text}"
    elif text := find_replacement_note(key):
        yield f"  kept as written: {text}"
    elif find_section(NfvbenchConfig, key) is None:
        yield "  kept as written: has no effect here"


def _kinds(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    """In words, of a JSON Schema."""
    if "$ref" in schema:
        yield from _kinds(definitions.get(schema["$ref"].rsplit("/", 1)[-1], {}), definitions)
    for form in schema.get("anyOf", ()) or schema.get("oneOf", ()):
        yield from _kinds({**{name: schema[name] for name, _ in LIMITS if name in schema}, **form}, definitions)
    if "enum" in schema:
        yield " or ".join(map(str, schema["enum"]))
    elif "const" in schema:
        yield str(schema["const"])
    elif "type" in schema:
        yield _kind(schema, definitions)


def _kind(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    kind = {"string": "text", "integer": "whole number", "array": "list", "object": "keys", "boolean": "true or false"}
    name = kind.get(schema["type"], schema["type"])
    limits = [text.format(schema[limit]) for limit, text in LIMITS if limit in schema]
    items = schema.get("items")
    inner = " or ".join(dict.fromkeys(_kinds(items, definitions))) if isinstance(items, Mapping) else ""
    return " ".join([name, *([f"of {inner}"] if inner else []), *([", ".join(limits)] if limits else [])])
