"""The tables of configuration and descriptor keys in docs/, generated from the schemas (`scripts/schema`)."""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from scripts import descriptor_pages

from nodrop.config.key_help import (
    find_nfvbench_keys,
    find_replacement_note,
    find_translations,
    format_default,
    format_range,
)
from nodrop.config.keys import SHARED, find_field, find_section, is_section, iter_leaves, list_user_fields
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.untranslated import OUTPUT_KEYS
from nodrop.config.outputs import FluentdConfig
from nodrop.config.schema import Config, GoalConfig
from nodrop.config.traffic import RangeConfig
from nodrop.config.yaml_writer import to_plain
from nodrop.system.yaml_reader import Key, to_yaml_line

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (
    *(DOCS / "reference" / name for name in ("configuration.md", "chd.md", "vmd.md")),
    DOCS / "how-to" / "switch-from-nfvbench.md",
)
ITEM_MODELS = {("goals",): GoalConfig, ("traffic", "ranges"): RangeConfig, ("ship", "fluentd"): FluentdConfig}
"""Keys whose items have keys of their own."""


def pages() -> dict[Path, str]:
    """Return the text of each page, with new tables between the comments that mark them."""
    tables = {"keys": "\n".join(_key_tables(Config, ())), "nfvbench": "\n".join(_nfvbench_table())}
    tables |= descriptor_pages.tables()
    texts = {}
    for file in PAGES:
        text = file.read_text(encoding="utf-8")
        for name, table in tables.items():
            begin, end = f"<!-- {name}: written by scripts/schema -->\n", f"<!-- end of {name} -->\n"
            text = re.sub(
                f"{re.escape(begin)}.*?{re.escape(end)}",
                lambda _, block=f"{begin}\n{table}\n{end}": block,
                text,
                flags=re.DOTALL,
            )
        texts[file] = text
    return texts


def _key_tables(root: type[BaseModel], above: Key) -> Iterator[str]:
    """Yield a table for a section, and one for each section below it."""
    section = find_section(root, above) or root
    heading = f"`{'.'.join(above)}`" if above else "Top level"
    yield f"### {heading}\n\n| key | default | values | meaning | NFVbench's key |\n|---|---|---|---|---|"
    for name, field in list_user_fields(section).items():
        if not is_section(field):
            yield _row(root, (*above, name))
    yield ""
    for name, field in list_user_fields(section).items():
        key = (*above, name)
        if is_section(field):
            yield from _key_tables(root, key)
        elif root is Config and key in ITEM_MODELS:
            yield from _item_table(key, ITEM_MODELS[key])


def _item_table(key: Key, model: type[BaseModel]) -> Iterator[str]:
    """Yield a table for the keys of each item of a list or mapping."""
    yield f"### Each item of `{'.'.join(key)}`\n\n| key | default | values | meaning |\n|---|---|---|---|"
    for name, field in list_user_fields(model).items():
        default = "" if field.is_required() else f"`{to_yaml_line(to_plain(field.default))}`"
        yield f"| `{name}` | {default} | {_cell(format_range(model, (name,)))} | {_cell(_meaning(field.description))} |"
    yield ""


def _row(root: type[BaseModel], key: Key) -> str:
    field = find_field(root, key)
    assert field is not None
    nfvbench = "same" if key[0] in SHARED else ", ".join(f"`{name}`" for name in find_nfvbench_keys(key))
    cells = (
        f"`{key[-1]}`",
        f"`{format_default(root, key)}`",
        format_range(root, key),
        _meaning(field.description),
        nfvbench,
    )
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _nfvbench_table() -> Iterator[str]:
    """Yield a row for each of NFVbench's keys."""
    yield "| NFVbench's key | NFVbench's default | in nodrop |\n|---|---|---|"
    for leaf in iter_leaves(NfvbenchConfig):
        default = format_default(NfvbenchConfig, leaf.key)
        text = f"`{default}`" if len(default) <= 60 else "see NFVbench"
        yield f"| `{'.'.join(leaf.key)}` | {_cell(text)} | {_cell(_counterpart(leaf.key))} |"


def _counterpart(key: Key) -> str:
    if key[0] in SHARED:
        return "same"
    if names := find_translations(key):
        return ", ".join(f"`{name}`" for name in names)
    if effect := OUTPUT_KEYS.get(".".join(key)):
        return effect
    note = find_replacement_note(key)
    return f"no effect: {note}" if note else "no effect, and little or none in NFVbench"


def _meaning(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
