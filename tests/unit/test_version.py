"""A release has one version, in every file that states it."""

import tomllib
from pathlib import Path
from typing import Any

import nodrop

ROOT = Path(__file__).parents[2]


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text())


def test_wheel_crates_and_package_are_of_the_same_version() -> None:
    wheel = read("pyproject.toml")["project"]["version"]
    crates = read("Cargo.toml")["workspace"]["package"]["version"]
    assert wheel == crates == nodrop.__version__


def test_no_crate_has_a_version_of_its_own() -> None:
    manifests = sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))
    own = [name for name in manifests if read(f"crates/{name}/Cargo.toml")["package"]["version"] != {"workspace": True}]
    assert manifests
    assert own == []
