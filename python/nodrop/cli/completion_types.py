"""Parameter types with shell completion: files, labs, results, configuration keys. All of them accept any text."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

Items = list[CompletionItem[str]]


class CompletableText(click.types.StringParamType):
    """A text with completions; its name is the metavar."""

    def __init__(self, name: str, complete: Callable[[click.Context, str], Items]) -> None:
        self.name = name
        self._complete = complete

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:  # noqa: ARG002
        """Return the completions of an incomplete text."""
        return self._complete(ctx, incomplete)


def _complete_results(context: click.Context, incomplete: str) -> Items:
    """Complete `latest` and run ids, newest first; if none matches, files."""
    stored = Path(context.params.get("results_dir") or "results")
    runs = sorted({path.parent.name for path in stored.glob("*/*.json")}, reverse=True)
    return _filter_by_prefix(["latest", *runs], incomplete) or [CompletionItem(incomplete, type="file")]


def _complete_labs(_context: click.Context, incomplete: str) -> Items:
    from nodrop.stage import registry

    return _filter_by_prefix(registry.list_names(), incomplete)


def _complete_settings(_context: click.Context, incomplete: str) -> Items:
    return _filter_by_prefix((f"{key}=" for key in _iter_keys()), incomplete)


def _filter_by_prefix(names: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _iter_keys() -> Iterator[str]:
    """Yield every configuration key in dotted form."""
    from pydantic import BaseModel

    from nodrop.config.schema import Config

    def keys_of(section: type[BaseModel], prefix: str) -> Iterator[str]:
        for name, field in section.model_fields.items():
            kind = field.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from keys_of(kind, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}"

    return keys_of(Config, "")


FILE = CompletableText("FILE", lambda _, incomplete: [CompletionItem(incomplete, type="file")])
DIR = CompletableText("DIR", lambda _, incomplete: [CompletionItem(incomplete, type="dir")])
RESULT = CompletableText("RESULT", _complete_results)
LAB = CompletableText("NAME", _complete_labs)
SETTING = CompletableText("KEY=VALUE", _complete_settings)
SERVICE_CHAIN = CompletableText(
    "[PVP|PVVP|EXT]", lambda _, incomplete: _filter_by_prefix(["PVP", "PVVP", "EXT"], incomplete.upper())
)
