"""A body over the server's own configuration, to what will be done: the server checks, the worker does it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop import store
from nodrop.config.load import Written, load
from nodrop.generator import inspection
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.plan import build_each
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


def make_base(config: Sequence[str], results_dir: str | None) -> Base:
    """What a server is started with, looked through. Raises ConfigError."""
    loaded = load(config, {"results_dir": results_dir} if results_dir else {})
    sources = tuple(str(Path(source).absolute()) if os.path.isfile(source) else source for source in config)  # noqa: PTH113
    return Base(config=sources, results_dir=str(Path(loaded.results_dir).absolute()))


def plans_of(base: Base, body: Mapping[str, Any]) -> tuple[Plan, ...]:
    """Everything that a body asks to be run, decided: a plan for each frame size. Raises ConfigError."""
    config = load([*base.config, Written(BODY, body)], {"results_dir": base.results_dir})
    plans = build_each(
        config,
        find_lab=lambda name: standing.find(name).plan,
        find_result=lambda wanted: store.load(wanted, config.results_dir),
        inspect=inspection.inspect,
        check_filter=inspection.check_filter,
    )
    host = read_host()
    return tuple(
        plan.model_copy(update={"calibration": calibration.find(calibration.key_of(plan, host))}) for plan in plans
    )
