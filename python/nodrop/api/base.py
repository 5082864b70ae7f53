"""A body over the server's own configuration, to what will be done: the server checks, the worker does it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop import store
from nodrop.config.load import load
from nodrop.config.schema import Config
from nodrop.generator import inspection
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.plan import build
from nodrop.stage import standing
from nodrop.stage.host import read_host
from nodrop.store import calibration

BODY = "request body"
"""What errors call it."""


class Base(Value):
    """What every run of a server has in common."""

    config: tuple[str, ...] = ()
    """Configuration files or texts, later ones win; a body wins over all."""
    results_dir: str
    """Absolute."""


def config_of(base: Base, body: Mapping[str, Any]) -> Config:
    """What a body asks for. Raises ConfigError."""
    return load(base.config, dict(_dotted(body, "")) | {"results_dir": base.results_dir})


def _dotted(content: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, Mapping) and f"{above}{key}" not in ("goals", "traffic.imix", "user_info"):
            yield from _dotted(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def plans_of(base: Base, body: Mapping[str, Any]) -> tuple[Plan, ...]:
    """Everything that a body asks to be run, decided. Raises ConfigError."""
    config = config_of(base, body)
    plan = build(
        config,
        find_lab=lambda name: standing.find(name).plan,
        find_result=lambda wanted: store.load(wanted, config.results_dir),
        inspect=inspection.inspect,
        check_filter=inspection.check_filter,
    )
    return (plan.model_copy(update={"calibration": calibration.find(calibration.key_of(plan, read_host()))}),)


def make_base(config: Sequence[str], results_dir: str | None) -> Base:
    """What a server is started with, looked through. Raises ConfigError."""
    loaded = load(config, {"results_dir": results_dir} if results_dir else {})
    files = tuple(str(Path(source).absolute()) if Path(source).is_file() else source for source in config)
    return Base(config=files, results_dir=str(Path(loaded.results_dir).absolute()))
