"""The tables of keys in docs/, of configuration and of descriptors, written from the schemas (`scripts/schema`)."""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from scripts import descriptor_pages

from nodrop.config.key_help import becomes, comes_from, default_text, instead, range_text
from nodrop.config.keys import SHARED, field_of, fields, is_section, leaves, section
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.untranslated import ACTS
from nodrop.config.outputs import FluentdConfig
from nodrop.config.schema import Config, GoalConfig
from nodrop.config.traffic import RangeConfig
from nodrop.system.yaml_reader import Key

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (
    *(DOCS / "reference" / name for name in ("configuration.md", "chd.md", "vmd.md")),
    DOCS / "how-to" / "switch-from-nfvbench.md",
)
LISTED = {("goals",): GoalConfig, ("traffic", "ranges"): RangeConfig, ("ship", "fluentd"): FluentdConfig}
"""Keys whose items have keys of their own."""


def pages() -> dict[Path, str]:
    """By file: what it is to be, its tables written anew between the comments that mark them."""
    tables = {"keys": "\n".join(_own(Config, ())), "nfvbench": "\n".join(_theirs())} | descriptor_pages.tables()
    written = {}
    for file in PAGES:
        text = file.read_text(encoding="utf-8")
        for name, table in tables.items():
            begin, end = f"<!-- {name}: written by scripts/schema -->\n", f"<!-- end of {name} -->\n"
            text = re.sub(
                f"{re.escape(begin)}.*?{re.escape(end)}",
                lambda _, whole=f"{begin}\n{table}\n{end}": whole,
                text,
                flags=re.DOTALL,
            )
        written[file] = text
    return written


def _own(root: type[BaseModel], above: Key) -> Iterator[str]:
    """A table for a section, and one for each section in it."""
    room = section(root, above) or root
    head = f"`{'.'.join(above)}`" if above else "At the top"
    yield f"### {head}\n\n| key | default | values | meaning | NFVbench's |\n|---|---|---|---|---|"
    for name, field in fields(room).items():
        if not is_section(field):
            yield _row(root, (*above, name))
    yield ""
    for name, field in fields(room).items():
        key = (*above, name)
        if is_section(field):
            yield from _own(root, key)
        elif root is Config and key in LISTED:
            yield from _items(key, LISTED[key])


def _items(key: Key, model: type[BaseModel]) -> Iterator[str]:
    """A table for the keys that each item of a list or mapping has."""
    yield f"### each of `{'.'.join(key)}`\n\n| key | default | values | meaning |\n|---|---|---|---|"
    for name, field in fields(model).items():
        default = "" if field.is_required() else f"`{default_text_of(field.default)}`"
        yield f"| `{name}` | {default} | {_cell(range_text(model, (name,)))} | {_cell(_meaning(field.description))} |"
    yield ""


def default_text_of(value: object) -> str:
    """A default as YAML in one line."""
    from nodrop.config.yaml_writer import plain  # noqa: PLC0415
    from nodrop.system.yaml_reader import dumped  # noqa: PLC0415

    return dumped(plain(value))


def _row(root: type[BaseModel], key: Key) -> str:
    field = field_of(root, key)
    assert field is not None
    theirs = "the same" if key[0] in SHARED else ", ".join(f"`{name}`" for name in comes_from(key))
    cells = (
        f"`{key[-1]}`",
        f"`{default_text(root, key)}`",
        range_text(root, key),
        _meaning(field.description),
        theirs,
    )
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _theirs() -> Iterator[str]:
    """One row for each of NFVbench's keys."""
    yield "| NFVbench's key | its default | what it is here |\n|---|---|---|"
    for leaf in leaves(NfvbenchConfig):
        default = default_text(NfvbenchConfig, leaf.key)
        shown = f"`{default}`" if len(default) <= 60 else "as NFVbench's"
        yield f"| `{'.'.join(leaf.key)}` | {_cell(shown)} | {_cell(_here(leaf.key))} |"


def _here(key: Key) -> str:
    if key[0] in SHARED:
        return "the same"
    if writes := becomes(key):
        return f"acts: {', '.join(f'`{name}`' for name in writes)}"
    if acts := ACTS.get(".".join(key)):
        return f"acts: {acts}"
    return f"kept: {instead(key)}" if instead(key) else "kept: has no effect here, and hardly any in NFVbench"


def _meaning(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
