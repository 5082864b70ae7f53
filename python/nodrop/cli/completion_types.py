"""Values that a shell can complete: files, labs, results, configuration keys. Any text will do for each of them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

Items = list[CompletionItem[str]]


class Text(click.types.StringParamType):
    """A text of which some values are known; its name stands for it in the help."""

    def __init__(self, name: str, known: Callable[[click.Context, str], Items]) -> None:
        self.name = name
        self._known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """What may be meant by what is written so far."""
        return self._known(ctx, incomplete)


def _results(context: click.Context, incomplete: str) -> Items:
    """`latest` and the runs there are, the latest first; where none begins like that, any file."""
    stored = Path(context.params.get("results_dir") or "results")
    runs = sorted({path.parent.name for path in stored.glob("*/*.json")}, reverse=True)
    return _beginning(["latest", *runs], incomplete) or [CompletionItem(incomplete, type="file")]


def _labs(_context: click.Context, incomplete: str) -> Items:
    from nodrop.stage import registry

    return _beginning(registry.names(), incomplete)


def _settings(_context: click.Context, incomplete: str) -> Items:
    return _beginning((f"{key}=" for key in _keys()), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _keys() -> Iterator[str]:
    """Every key of the configuration, dotted."""
    from pydantic import BaseModel

    from nodrop.config.schema import Config

    def below(section: type[BaseModel], above: str) -> Iterator[str]:
        for name, field in section.model_fields.items():
            kind = field.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from below(kind, f"{above}{name}.")
            else:
                yield f"{above}{name}"

    return below(Config, "")


FILE = Text("FILE", lambda _, incomplete: [CompletionItem(incomplete, type="file")])
DIR = Text("DIR", lambda _, incomplete: [CompletionItem(incomplete, type="dir")])
RESULT = Text("RESULT", _results)
LAB = Text("NAME", _labs)
SETTING = Text("KEY=VALUE", _settings)
SERVICE_CHAIN = Text("[PVP|PVVP|EXT]", lambda _, incomplete: _beginning(["PVP", "PVVP", "EXT"], incomplete.upper()))
