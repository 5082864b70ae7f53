"""Directories for results that cannot be stored where the user wanted: no measurement is lost for lack of space."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from nodrop.errors import ConfigError


def get_state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return nodrop's directory for data that outlives runs: `$XDG_STATE_HOME/nodrop`."""
    home = environment.get("HOME") or "/nonexistent"
    return Path(environment.get("XDG_STATE_HOME") or Path(home, ".local/state"), "nodrop")


def save_elsewhere(save: Callable[[Path], Path]) -> Path | None:
    """Save to the first fallback directory that takes it, and return the path; None if none does.

    Args:
        save: saves to a results directory. Raises ConfigError if it cannot.
    """
    for directory in _list_directories():
        try:
            return save(directory)
        except ConfigError:
            continue
    return None


def _list_directories() -> Iterator[Path]:
    yield get_state_directory() / "results"
    yield Path(tempfile.gettempdir(), f"nodrop-results-{os.geteuid()}")
