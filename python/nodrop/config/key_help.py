"""Help on a configuration key: meaning, allowed values, default, and its counterpart in the other key set."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from nodrop.config.keys import (
    SHARED,
    find_field,
    find_section,
    is_nfvbench_key,
    is_section,
    list_user_fields,
    suggest_key,
)
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.untranslated import OUTPUT_KEYS, list_unused_keys
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


def explain_key(name: str) -> str:
    """Return the help text of a dotted key. Raises ConfigError with a similar key if the key does not exist."""
    key = tuple(name.strip().split("."))
    roots = [root for root in (Config, NfvbenchConfig) if find_field(root, key) is not None]
    if not roots:
        raise ConfigError(f"{name}: unknown key; {suggest_key(key)}")
    of_nfvbench = roots == [NfvbenchConfig] or is_nfvbench_key(key)
    root = NfvbenchConfig if of_nfvbench else Config
    lines = [f"{'.'.join(key)} ({_describe_owner(key, of_nfvbench)})", *_describe_meaning(root, key)]
    field = find_field(root, key)
    if field is not None and is_section(field):
        lines += ["  keys:", *_list_keys(root, key)]
        if not of_nfvbench and find_section(NfvbenchConfig, key):
            lines += ["  NFVbench's keys:", *_list_keys(NfvbenchConfig, key)]
    else:
        lines += [f"  default: {format_default(root, key)}", *_describe_range(root, key)]
    return "\n".join([*lines, *_describe_counterpart(key, of_nfvbench)])


def format_default(root: type[BaseModel], key: Key) -> str:
    """Return the default of a key as YAML in one line."""
    value: Any = root()
    for part in key:
        if not isinstance(value, BaseModel):
            return "none, required"
        names = {field.alias or name: name for name, field in type(value).model_fields.items()}
        value = getattr(value, names.get(part, part), None)
    return to_yaml_line(to_plain(value))


def format_range(root: type[BaseModel], key: Key) -> str:
    """Return the types, choices and limits of a key."""
    parent = find_section(root, key[:-1])
    if parent is None:
        return ""
    schema = parent.model_json_schema()
    types = _describe_schema(schema["properties"].get(key[-1], {}), schema.get("$defs", {}))
    return " or ".join(dict.fromkeys(types))


def find_translations(key: Key) -> tuple[str, ...]:
    """Return nodrop's keys that one of NFVbench's keys is translated to."""
    return tuple(dict.fromkeys(name for rule in RULES if rule.translates_key(key) for name in rule.writes))


def find_nfvbench_keys(key: Key) -> tuple[str, ...]:
    """Return NFVbench's keys that are translated to one of nodrop's."""
    name = ".".join(key)
    return tuple(dict.fromkeys(read for rule in RULES if name in rule.writes for read in rule.reads))


def find_replacement_note(key: Key) -> str:
    """Return what nodrop does in place of an untranslated key of NFVbench's; empty if there is nothing to note."""
    return dict(list_unused_keys()).get(key, "")


def _describe_owner(key: Key, of_nfvbench: bool) -> str:
    if of_nfvbench:
        return "NFVbench's key"
    return "nodrop's and NFVbench's key" if key[0] in SHARED else "nodrop's key"


def _describe_meaning(root: type[BaseModel], key: Key) -> list[str]:
    field = find_field(root, key)
    return [f"  {' '.join((field.description or '').split())}"] if field is not None else []


def _list_keys(root: type[BaseModel], key: Key) -> Iterator[str]:
    section = find_section(root, key)
    for name, field in list_user_fields(section).items() if section else ():
        yield f"    {name}: {' '.join((field.description or '').split())}"


def _describe_range(root: type[BaseModel], key: Key) -> list[str]:
    text = format_range(root, key)
    return [f"  values: {text}"] if text else []


def _describe_counterpart(key: Key, of_nfvbench: bool) -> Iterator[str]:
    if not of_nfvbench:
        if sources := find_nfvbench_keys(key):
            yield f"  NFVbench: {', '.join(sources)}"
        return
    if names := find_translations(key):
        yield f"  translated to: {', '.join(names)}"
    elif text := OUTPUT_KEYS.get(".".join(key)):
        yield f"  effect: {text}"
    elif text := find_replacement_note(key):
        yield f"  no effect: {text}"
    elif find_section(NfvbenchConfig, key) is None:
        yield "  no effect in nodrop"


def _describe_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types that a JSON Schema allows, in words."""
    if "$ref" in schema:
        yield from _describe_schema(definitions.get(schema["$ref"].rsplit("/", 1)[-1], {}), definitions)
    for form in schema.get("anyOf", ()) or schema.get("oneOf", ()):
        limits = {name: schema[name] for name, _ in LIMITS if name in schema}
        yield from _describe_schema({**limits, **form}, definitions)
    if "enum" in schema:
        yield " or ".join(map(str, schema["enum"]))
    elif "const" in schema:
        yield str(schema["const"])
    elif "type" in schema:
        yield _describe_type(schema, definitions)


def _describe_type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    names = {"string": "text", "integer": "integer", "array": "list", "object": "keys", "boolean": "true or false"}
    name = names.get(schema["type"], schema["type"])
    limits = [text.format(schema[limit]) for limit, text in LIMITS if limit in schema]
    items = schema.get("items")
    inner = " or ".join(dict.fromkeys(_describe_schema(items, definitions))) if isinstance(items, Mapping) else ""
    return " ".join([name, *([f"of {inner}"] if inner else []), *([", ".join(limits)] if limits else [])])
