"""Published releases of MLRsearch, side by side: `load("0.4.0").MultipleLossRatioSearch.MultipleLossRatioSearch`.

All releases share one package name, so `scripts/install --dev` installs each release of peers.txt in a separate folder,
and each is imported under a separate name, which works because they import themselves only relatively.
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
    """Return the package MLRsearch of a release, all of its modules imported."""
    folder = PEERS / version / "MLRsearch"
    if not folder.is_dir():
        raise FileNotFoundError(f"MLRsearch {version}: {folder} does not exist; run scripts/install --dev")
    name = f"MLRsearch_{version.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec
    assert spec.loader
    package = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    for each in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(each.name)
    return package


@contextlib.contextmanager
def virtual_clock(peer: ModuleType, now_s: Callable[[], float]) -> Iterator[None]:
    """Let a peer read `now_s` instead of the clock with which it checks its time limit."""
    clock = SimpleNamespace(time=now_s, monotonic=now_s)
    readers = [m for m in vars(peer).values() if isinstance(m, ModuleType) and hasattr(m, "time")]
    stored = [(module, module.time) for module in readers]
    for module in readers:
        module.time = clock
    try:
        yield
    finally:
        for module, original in stored:
            module.time = original
