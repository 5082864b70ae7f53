"""Published releases of MLRsearch, side by side: `load("0.4.0").MultipleLossRatioSearch.MultipleLossRatioSearch`.

All releases share one package name, so `scripts/install --dev` gives each of those listed in peers.txt a folder of its
own, and each is imported here under a name of its own. They only import from themselves relatively, so that works.
"""

import contextlib
import functools
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

PEERS = Path(__file__).parents[1] / ".venv" / "peers"


@functools.cache
def load(version: str) -> Any:
    """The package MLRsearch as of a release, all of its modules imported."""
    folder = PEERS / version / "MLRsearch"
    if not folder.is_dir():
        raise FileNotFoundError(f"MLRsearch {version} asked, {folder} is not there; set it up: scripts/install --dev")
    name = f"MLRsearch_{version.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec
    assert spec.loader
    package = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    for found in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(found.name)
    return package


@contextlib.contextmanager
def virtual_clock(peer: ModuleType, now_s: Callable[[], float]) -> Iterator[None]:
    """Let a peer read `now_s` where it reads a clock to see whether its time is up."""
    clock = SimpleNamespace(time=now_s, monotonic=now_s)
    readers = [m for m in vars(peer).values() if isinstance(m, ModuleType) and hasattr(m, "time")]
    kept = [(module, module.time) for module in readers]
    for module in readers:
        module.time = clock
    try:
        yield
    finally:
        for module, clock_before in kept:
            module.time = clock_before
