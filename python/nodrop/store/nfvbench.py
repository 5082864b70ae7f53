"""Stored files in NFVbench's form, of NFVbench or nodrop."""

from pathlib import Path
from typing import Any, NamedTuple

from nodrop import store


class StoredNfvbench(NamedTuple):
    """A file in NFVbench's form."""

    path: Path
    result: dict[str, Any]

    @property
    def writer(self) -> str:
        """The writer: `NFVbench 5.0.3`, `nodrop 0.1.0`."""
        version = str(self.result.get("nfvbench_version") or "of an unknown release")
        return version if version.startswith("nodrop ") else f"NFVbench {version}"


def find(name: str | Path, results_dir: str | Path = "results") -> StoredNfvbench | None:
    """Return a file in NFVbench's form; None for other files.

    Raises: ConfigError where the file does not exist or is not JSON.
    """
    path, content = store.read(name, results_dir)
    is_nfvbench = isinstance(content, dict) and "benchmarks" in content and "schema_version" not in content
    return StoredNfvbench(path, content) if is_nfvbench else None
