"""Kernel modules of the guest, with the index files of modprobe.

Source: modinfo(8) for module metadata, modules.dep(5) for the files.
"""

import lzma
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from nodrop.errors import ImageError

GUEST_MODULES = (
    # what a NIC is: emulated ones, and virtual functions
    *("virtio_pci", "virtio_net", "vmxnet3", "e1000", "e1000e", "ixgbevf", "iavf", "mlx4_en", "mlx5_core", "bnxt_en"),
    # what a config drive comes by
    *("virtio_blk", "virtio_scsi", "sd_mod", "sr_mod", "ata_piix", "ata_generic", "ahci", "isofs", "vfat"),
    *("nls_cp437", "nls_ascii", "nls_iso8859_1", "nls_utf8"),
    # what frames are got by
    *("af_packet", "virtio_rng"),
)
"""Included if the kernel has them as modules; others may be built in."""
REQUIRED_MODULES = ("virtio_pci", "virtio_net")


class KernelModules:
    """All modules of a kernel."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Take their files, by path below lib/modules/VERSION/."""
        self._paths = {_get_module_name(path): path for path in files if ".ko" in PurePosixPath(path).name}
        self._files = files

    def select(self, requested: Iterable[str] = GUEST_MODULES) -> dict[str, bytes]:
        """Return these modules with their dependencies, and modules.dep and modules.alias."""
        names = self._with_needs(name for name in requested if name in self._paths)
        for name in REQUIRED_MODULES:
            if name not in self._paths:
                raise ImageError(f"the kernel package lacks module {name}; select another one with --kernel")
        content = {name: self._content(name) for name in names}
        aliases = (
            f"alias {alias} {name}\n" for name in names for alias in sorted(_read_modinfo(content[name], "alias"))
        )
        needs = (
            f"{_strip_compression(self._paths[name])}: {' '.join(self._needs(name))}".rstrip() + "\n" for name in names
        )
        return {
            **{_strip_compression(self._paths[name]): content[name] for name in names},
            "modules.dep": "".join(needs).encode(),
            "modules.alias": "".join(aliases).encode(),
        }

    def _with_needs(self, names: Iterable[str]) -> list[str]:
        """Return the modules with all dependencies, in alphabetical order."""
        resolved: set[str] = set()
        waiting = list(names)
        while waiting:
            if (name := waiting.pop()) not in resolved:
                resolved.add(name)
                waiting.extend(self._direct(name))
        return sorted(resolved)

    def _needs(self, name: str) -> list[str]:
        """Return the paths of a module's dependencies, the first to load last."""
        order: dict[str, None] = {}

        def visit(each: str) -> None:
            for need in self._direct(each):
                if need not in order:
                    visit(need)
                    order[need] = None

        visit(name)
        return [_strip_compression(self._paths[each]) for each in reversed(order)]

    def _direct(self, name: str) -> list[str]:
        reported = _read_modinfo(self._content(name), "depends")
        return [each for line in reported for each in line.replace("-", "_").split(",") if each in self._paths]

    def _content(self, name: str) -> bytes:
        path = self._paths[name]
        content = self._files[path]
        return lzma.decompress(content) if path.endswith(".xz") else content


def _read_modinfo(module: bytes, key: str) -> list[str]:
    """Return the values of a key in section .modinfo: strings KEY=VALUE that end in a zero byte."""
    values, mark = [], b"\0" + key.encode() + b"="
    at = module.find(mark)
    while at >= 0:
        begin = at + len(mark)
        end = module.index(b"\0", begin)
        values.append(module[begin:end].decode("ascii", "replace"))
        at = module.find(mark, end)
    return values


def _get_module_name(path: str) -> str:
    return PurePosixPath(path).name.split(".")[0].replace("-", "_")


def _strip_compression(path: str) -> str:
    return path.removesuffix(".xz")
