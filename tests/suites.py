"""The suites of tests: read from tests/suites.toml, and selected by the paths that a change touches."""

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
GATE = "gate"


@dataclass(frozen=True)
class Suite:
    """Tests with the same meaning of a failure; tests/suites.toml explains the fields."""

    name: str
    failure: str
    covers: tuple[str, ...]
    workers: int
    distribution: str = "worksteal"
    alone: bool = False
    steps: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)

    def covers_path(self, path: str) -> bool:
        """Return whether a change of this file, relative to the project, can make the suite fail."""
        return any(matches(path, pattern) for pattern in self.covers)

    def list_test_files(self) -> list[str]:
        """Return the files with tests of this suite, relative to the project; those of `gate` are all."""
        files = sorted((ROOT / "tests").rglob("test_*.py"))
        mark = re.compile(rf"pytest\.mark\.{self.name}\b")
        return [str(file.relative_to(ROOT)) for file in files if self.name == GATE or mark.search(file.read_text())]


def matches(path: str, pattern: str) -> bool:
    """Return whether a glob matches a path: `**` matches any number of directories, `*` no slash."""
    if pattern.endswith("/**"):
        return path.startswith(pattern.removesuffix("**"))
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)


def load_suites() -> dict[str, Suite]:
    """Return the suites by name, in the order of the file."""
    table = tomllib.loads((ROOT / "tests" / "suites.toml").read_text())
    return {name: Suite(name, **{key: freeze(value) for key, value in row.items()}) for name, row in table.items()}


def freeze(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def select_suites(changed: Iterable[str]) -> list[Suite]:
    """Return `gate`, and each suite that covers one of these paths."""
    paths = list(changed)
    return [each for each in load_suites().values() if each.name == GATE or any(map(each.covers_path, paths))]
