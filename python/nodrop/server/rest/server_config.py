"""The server's configuration, and the plans of a request body on top of it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop.config.load import NamedMapping, build_config
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.run.local_planning import make_plans

BODY = "request body"
"""Name of the source in errors."""


class ServerConfig(Value):
    """The settings that all runs of a server share."""

    sources: tuple[str, ...] = ()
    """Configuration files or texts; later ones take precedence, a request body over all of them."""
    results_dir: str
    """Absolute path."""
    results_index: str | None = None
    """URL of the database of the results index; None: a file in the results directory."""


def make_server_config(config: Sequence[str], results_dir: str | None) -> ServerConfig:
    """Validate the server's configuration. Raises ConfigError."""
    loaded = build_config(config, {"results_dir": results_dir} if results_dir else {})
    sources = tuple(str(Path(source).absolute()) if os.path.isfile(source) else source for source in config)  # noqa: PTH113
    directory = str(Path(loaded.results_dir).absolute())
    return ServerConfig(sources=sources, results_dir=directory, results_index=loaded.results_index)


def make_request_plans(
    server: ServerConfig, body: Mapping[str, Any], cpus: Sequence[int] | None = None, *, query_trex: bool = False
) -> tuple[Plan, ...]:
    """Make the plans of a request's body, one for each frame size; see `make_plans`. Raises ConfigError."""
    config = build_config([*server.sources, NamedMapping(BODY, body)], {"results_dir": server.results_dir})
    return make_plans(config, cpus, query_trex=query_trex)
