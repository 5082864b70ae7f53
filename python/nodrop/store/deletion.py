"""Results taken away for good: whole directories, and what lists of runs say of them."""

import secrets
import shutil
from collections.abc import Collection
from pathlib import Path

from nodrop.errors import ConfigError
from nodrop.store import suites


def delete_results(names: Collection[str], results_dir: Path) -> None:
    """Remove the results in these directories, with all that is beside them. Raises ConfigError.

    Lists of runs keep naming them, and say that they were removed; a list of which nothing is left goes too.
    """
    for name in names:
        _remove(results_dir / name)
    for file in results_dir.glob(f"*/{suites.SUITE_FILE}"):
        _mark(file, names)


def _mark(file: Path, names: Collection[str]) -> None:
    """Have a list say which of its runs are gone."""
    found = suites.locate(file)
    if found is None or not any(run.run_id in names and not run.removed for run in found.suite.runs):
        return
    runs = tuple(run.model_copy(update={"removed": True}) if run.run_id in names else run for run in found.suite.runs)
    if all(run.removed for run in runs):
        _remove(file.parent)
    else:
        suites.save(found.suite.model_copy(update={"runs": runs}), found.results_dir)


def _remove(directory: Path) -> None:
    """Under another name first: who looks meanwhile, or after a crash, sees all of it or nothing."""
    aside = directory.with_name(f".removed-{directory.name}-{secrets.token_hex(3)}")
    try:
        directory.rename(aside)
        shutil.rmtree(aside)
    except OSError as error:
        raise ConfigError(
            f"{directory}: asked to be removed, {error.strerror}; remove it as somebody who may write there"
        ) from None
