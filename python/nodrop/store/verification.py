"""Verification of stored results against their checksums."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nodrop.store import RESULT_FILES, checksums, suites
from nodrop.store.checksums import ChecksumResult
from nodrop.store.index import open_index
from nodrop.store.selection import select_results


def verify_results(
    selected_names: Sequence[str], results_dir: str | Path, index_url: str | None = None
) -> Iterator[ChecksumResult]:
    """Check the named results; without names, all stored or expected results.

    Raises: ConfigError for a name without results.
    """
    if selected_names:
        files = dict.fromkeys(selected.path for selected in select_results(selected_names, results_dir, index_url))
        yield from map(checksums.check_file, files)
        return
    directory = Path(results_dir)
    files_on_disk = [file for each in sorted(directory.glob("*")) if (file := _find_result(each))]
    yield from map(checksums.check_file, files_on_disk)
    names = {file.parent.name for file in files_on_disk}
    for name, source in sorted(_list_expected(directory, index_url).items()):
        if name not in names:
            yield ChecksumResult("missing", f"{directory / name} is missing, but listed in {source}")


def _find_result(directory: Path) -> Path | None:
    """Return the result file in a directory, also where only its checksum file exists."""
    for name in RESULT_FILES:
        file = directory / name
        if file.exists() or checksums.get_checksum_path(file).exists():
            return file
    return None


def _list_expected(directory: Path, index_url: str | None) -> dict[str, str]:
    """Return the expected results, with the source of the expectation."""
    with open_index(directory, index_url, refresh=False) as index:
        expected = dict.fromkeys(index.missing, "the index")
    for file in directory.glob(f"*/{suites.SUITE_FILE}"):
        stored = suites.locate(file)
        if stored:
            expected |= {run.run_id: str(file) for run in stored.suite.runs if not run.removed}
    return expected
