"""Files in NFVbench's form, whoever wrote them."""

from pathlib import Path
from typing import Any, NamedTuple

from nodrop import store


class StoredNfvbench(NamedTuple):
    """What such a file holds."""

    path: Path
    result: dict[str, Any]

    @property
    def writer(self) -> str:
        """Who wrote it: `NFVbench 5.0.3`, `nodrop 0.1.0`."""
        version = str(self.result.get("nfvbench_version") or "of an unknown release")
        return version if version.startswith("nodrop ") else f"NFVbench {version}"


def find(wanted: str | Path, results_dir: str | Path = "results") -> StoredNfvbench | None:
    """A file in NFVbench's form; None where the file is another one.

    Raises: ConfigError when there is no such file, or it is not JSON.
    """
    path, content = store.read(wanted, results_dir)
    is_theirs = isinstance(content, dict) and "benchmarks" in content and "schema_version" not in content
    return StoredNfvbench(path, content) if is_theirs else None
