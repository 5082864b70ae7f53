"""The releases in tests/lowest.txt are the lower ends that pyproject.toml declares."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WITHOUT_WHEEL = "libvirt-python"
"""It needs libvirt's headers to build, so it is not among the locked releases."""


def find_lower_end(requirement: str) -> tuple[str, str]:
    """Return the name and the lower end of a requirement of the wheel."""
    found = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement)
    assert found, f"{requirement}: declare a lower end and nothing else"
    return found[1], found[2]


def list_lower_ends() -> list[tuple[str, str]]:
    optional = PROJECT["optional-dependencies"].values()
    requirements = (*PROJECT["dependencies"], *(each for extra in optional for each in extra))
    return [end for end in map(find_lower_end, requirements) if end[0] != WITHOUT_WHEEL]


@pytest.mark.parametrize(("name", "lower_end"), list_lower_ends())
def test_the_lowest_release_of_a_requirement_is_its_lower_end(name: str, lower_end: str) -> None:
    (release,) = re.findall(rf"^{name}(?:\[\w+\])?==(\S+)", (ROOT / "tests" / "lowest.txt").read_text(), re.MULTILINE)
    assert re.fullmatch(rf"{re.escape(lower_end)}(\.0)*", release), "run scripts/lowest --update"
