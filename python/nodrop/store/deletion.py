"""Deletion of results: their directories, and their entries in suites."""

import secrets
import shutil
from collections.abc import Collection
from pathlib import Path

from nodrop.errors import ConfigError
from nodrop.store import suites


def delete_results(names: Collection[str], results_dir: Path) -> None:
    """Delete the directories of results. Raises ConfigError.

    Suites keep their entries and mark them as removed; a suite without remaining runs is deleted.
    """
    for name in names:
        _remove(results_dir / name)
    for file in results_dir.glob(f"*/{suites.SUITE_FILE}"):
        _mark_removed(file, names)


def _mark_removed(file: Path, names: Collection[str]) -> None:
    """Mark deleted runs in a suite."""
    located = suites.locate(file)
    if located is None or not any(run.run_id in names and not run.removed for run in located.suite.runs):
        return
    runs = tuple(run.replace(removed=True) if run.run_id in names else run for run in located.suite.runs)
    if all(run.removed for run in runs):
        _remove(file.parent)
    else:
        suites.save(located.suite.replace(runs=runs), located.results_dir)


def _remove(directory: Path) -> None:
    """Delete a directory after renaming it, so that readers never see it partially, even after a crash."""
    aside = directory.with_name(f".removed-{directory.name}-{secrets.token_hex(3)}")
    try:
        directory.rename(aside)
        shutil.rmtree(aside)
    except OSError as error:
        raise ConfigError(
            f"{directory}: cannot be removed ({error.strerror}); remove it as a user with write permission"
        ) from None
