"""IOMMU capabilities from the registers of the remapping units.

Source: Intel Virtualization Technology for Directed I/O, CAP_REG and ECAP_REG; AMD I/O Virtualization Technology,
Extended Feature Register (MMIO 0030h).
"""

import re
from typing import NamedTuple

from nodrop.host.inputs import Source
from nodrop.model.chd import PageSize

CLASS = "/sys/class/iommu"
GROUPS = "/sys/kernel/iommu_groups"
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}")


class IommuUnit(NamedTuple):
    """Registers of one remapping unit."""

    path: str
    intel: bool
    cap: int
    """CAP_REG; on AMD the PCI capability header."""
    ecap: int
    """ECAP_REG; on AMD the Extended Feature Register."""

    @property
    def translates(self) -> bool:
        """Whether the unit has second-level tables: CAP.SAGAW; always on AMD."""
        return not self.intel or self.cap >> 8 & 0x1F != 0

    @property
    def remaps(self) -> bool:
        """Whether the unit remaps interrupts: ECAP.IR; always on AMD."""
        return not self.intel or bool(self.ecap >> 3 & 1)

    @property
    def posts(self) -> bool:
        """Whether the unit posts interrupts to guests: CAP.PI; on AMD GAMSup."""
        return bool(self.cap >> 59 & 1) if self.intel else bool(self.ecap >> 21 & 7)

    def has_page_size(self, size: PageSize) -> bool:
        """Return whether the unit maps large pages: CAP.SLLPS; AMD's tables support every size."""
        return not self.intel or bool(self.cap >> (34 if size == "2M" else 35) & 1)


def read_iommu_units(source: Source) -> tuple[IommuUnit, ...]:
    """Read all units; empty if one cannot be read, as the common capabilities are then unknown."""
    tree, units = source.tree, []
    for name in tree.list_directory(CLASS):
        for directory, second in (("intel-iommu", "ecap"), ("amd-iommu", "features")):
            path = f"{CLASS}/{name}/{directory}"
            if not tree.exists(path):
                continue
            # AMD's features are two registers since Linux 6.1, `efr:efr2`
            cap, ecap = ((tree.read_text(f"{path}/{each}") or "").partition(":")[0] for each in ("cap", second))
            if not (_HEX.fullmatch(cap) and _HEX.fullmatch(ecap)):
                return ()
            units.append(IommuUnit(path, directory == "intel-iommu", int(cap, 16), int(ecap, 16)))
    return tuple(units)
