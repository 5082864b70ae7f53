"""A body over the server's own configuration, to what will be done: the server checks, the worker does it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop.config.load import Written, load
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.run.local_planning import plans_here

BODY = "request body"
"""What errors call it."""


class Base(Value):
    """What every run of a server has in common."""

    config: tuple[str, ...] = ()
    """Configuration files or texts, later ones win; a body wins over all."""
    results_dir: str
    """Absolute."""
    results_index: str | None = None
    """Database that holds the index of results; None: a file beside them."""


def make_base(config: Sequence[str], results_dir: str | None) -> Base:
    """What a server is started with, looked through. Raises ConfigError."""
    loaded = load(config, {"results_dir": results_dir} if results_dir else {})
    sources = tuple(str(Path(source).absolute()) if os.path.isfile(source) else source for source in config)  # noqa: PTH113
    directory = str(Path(loaded.results_dir).absolute())
    return Base(config=sources, results_dir=directory, results_index=loaded.results_index)


def plans_of(base: Base, body: Mapping[str, Any], *, asks_trex: bool = False) -> tuple[Plan, ...]:
    """Everything that a body asks to be run, decided: a plan for each frame size; complete once a TRex server was
    asked, where there is one. Raises ConfigError.
    """
    config = load([*base.config, Written(BODY, body)], {"results_dir": base.results_dir})
    return plans_here(config, asks_trex=asks_trex)
