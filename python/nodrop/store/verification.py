"""Whether results are what was written."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nodrop.store import RESULT_FILES, checksums, suites
from nodrop.store.checksums import ChecksumResult
from nodrop.store.index import open_index
from nodrop.store.selection import select_results


def verify_results(
    wanted: Sequence[str], results_dir: str | Path, index_url: str | None = None
) -> Iterator[ChecksumResult]:
    """What became of each result that is meant by words; without words, of all there are or were known to be.

    Raises: ConfigError for a word that means nothing that is there.
    """
    if wanted:
        files = dict.fromkeys(selected.path for selected in select_results(wanted, results_dir, index_url))
        yield from map(checksums.check_file, files)
        return
    directory = Path(results_dir)
    there = [file for each in sorted(directory.glob("*")) if (file := _result_in(each))]
    yield from map(checksums.check_file, there)
    names = {file.parent.name for file in there}
    for name, who in sorted(_expected(directory, index_url).items()):
        if name not in names:
            yield ChecksumResult("missing", f"{directory / name} is missing: {who} has it")


def _result_in(directory: Path) -> Path | None:
    """A result, also one of which only the hash is left."""
    for name in RESULT_FILES:
        file = directory / name
        if file.exists() or checksums.checksum_path(file).exists():
            return file
    return None


def _expected(directory: Path, index_url: str | None) -> dict[str, str]:
    """Results that should be there, and who says so."""
    with open_index(directory, index_url, refresh=False) as index:
        expected = dict.fromkeys(index.missing, "the index")
    for file in directory.glob(f"*/{suites.SUITE_FILE}"):
        found = suites.locate(file)
        if found:
            expected |= {run.run_id: str(file) for run in found.suite.runs if not run.removed}
    return expected
