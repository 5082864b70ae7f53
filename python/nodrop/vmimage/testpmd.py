"""DPDK's testpmd from Debian packages, with the libraries and drivers it needs in a guest.

The dependencies of a package provide the libraries that its files need, so each library is searched there, and only
the needed files are taken.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from nodrop.errors import ImageError
from nodrop.vmimage.initrd import InitrdEntry, link_entry, list_needed, make_executable_entry
from nodrop.vmimage.packages import Deb, Packages

PACKAGE = "dpdk-dev"
PROGRAM = "usr/bin/dpdk-testpmd"
DRIVERS = ("net-virtio", "net-iavf", "net-vmxnet3-", "mempool-ring", "bus-pci", "bus-vdev")
"""Drivers that DPDK loads dynamically at start."""
LIBRARIES = ("lib", "zlib", "ibverbs")
"""Name prefixes of packages that may contain libraries."""
LIBRARY = "usr/lib/x86_64-linux-gnu"
PLACES = ("lib/x86_64-linux-gnu", LIBRARY)
PLUGINS = "/dpdk/pmds-"
"""In the path of the links through which DPDK finds drivers. A copy there would be loaded twice."""
MODULES = ("uio_pci_generic", "vfio_pci")
"""Kernel modules through which DPDK accesses a NIC."""


def collect_testpmd(packages: Packages) -> tuple[dict[str, InitrdEntry], tuple[Deb, ...]]:
    """Return testpmd's files for a guest, and their packages.

    Raises: ImageError if a package or a library is not available.
    """
    collector = _FileCollector(packages)
    root = packages.find(PACKAGE)
    collector.add(root, {PROGRAM: root.file(PROGRAM)})
    abi = re.search(r"librte-eal(\d+)", root.fields["Depends"])
    if abi is None:
        raise ImageError(f"{root.path.name}: cannot determine the DPDK version: no dependency on librte-eal")
    for name in DRIVERS:
        driver = packages.find(f"librte-{name}{abi[1]}")
        files = driver.files(lambda path: "librte_" in path and path.endswith(f".so.{abi[1]}"))
        collector.add(driver, {path: content for path, content in files.items() if PLUGINS not in path})
        collector.entries |= {
            path.removesuffix(f".{abi[1]}"): link_entry(f"/{LIBRARY}/{PurePosixPath(path).name}")
            for path in files
            if PLUGINS in path
        }
    return collector.entries, tuple(collector.debs.values())


class _FileCollector:
    """Collects files with their dependencies."""

    def __init__(self, packages: Packages) -> None:
        self._packages = packages
        self.entries: dict[str, InitrdEntry] = {}
        self.debs: dict[str, Deb] = {}
        self._libraries: set[str] = set()
        self._providers: dict[str, Deb] = {}

    def add(self, deb: Deb, files: dict[str, bytes]) -> None:
        """Add files of a package, and their dependencies."""
        self.debs[deb.name] = deb
        for path, content in files.items():
            self.entries[path] = make_executable_entry(content)
            for name in list_needed(content):
                if name not in self._libraries and name not in {PurePosixPath(each).name for each in files}:
                    self._libraries.add(name)
                    self.add(*self._provider(deb, name))

    def _provider(self, deb: Deb, library: str) -> tuple[Deb, dict[str, bytes]]:
        """Return the package that provides a library, and the library."""
        for candidate in self._candidates(deb, library):
            if files := candidate.files({f"{place}/{library}" for place in PLACES}.__contains__):
                return candidate, files
        raise ImageError(f"{library}, needed by package {deb.name}, is in none of its dependencies")

    def _candidates(self, deb: Deb, library: str) -> Iterator[Deb]:
        """Yield the dependencies of a package, likely providers first: named like the library, then libc."""
        stem = library.split(".so", maxsplit=1)[0].replace("_", "-")
        names = [deb.name, *self._packages.dependencies(deb)]
        libraries = [name for name in names if name.startswith(LIBRARIES) and not name.endswith("-dev")]
        self._packages.prepare(name for name in libraries if name not in self._providers)
        for name in sorted(libraries, key=lambda name: (not name.startswith(stem), name != "libc6")):
            if name not in self._providers:
                self._providers[name] = self._packages.find(name)
            yield self._providers[name]
