"""Names of PCI vendors and devices from pci.ids."""

import functools
from pathlib import Path

from nodrop.model.observation import Observation, ObservationTime

PCI_IDS_FILES = ("/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids", "/var/lib/pciutils/pci.ids")
"""This machine's list, also used for captures of other machines."""
MISSING = "no pci.ids on this machine to name it by"


class PciNames:
    """A pci.ids file: vendor lines, followed by device lines indented by a tab."""

    def __init__(self, text: str, source: str) -> None:
        """Take the file's text and path."""
        self._text = "\n" + text
        self._source = source

    def observe_vendor(self, moment: ObservationTime, vendor: int | None) -> Observation[str]:
        """Return the name of a vendor; its number if it is not listed."""
        if vendor is None:
            return moment.unknown("its number cannot be read")
        return self._observe_name(moment, self._find_after(f"\n{vendor:04x}  ", 0), f"{vendor:04x}")

    def observe_device(self, moment: ObservationTime, vendor: int | None, device: int | None) -> Observation[str]:
        """Return the name of a device; the numbers of vendor and device if it is not listed."""
        if vendor is None or device is None:
            return moment.unknown("its number cannot be read")
        return self._observe_name(moment, self._find_device(vendor, device), f"{vendor:04x}:{device:04x}")

    def _find_device(self, vendor: int, device: int) -> str:
        start = self._text.find(f"\n{vendor:04x}  ")
        if start < 0:
            return ""
        line = self._text.find("\n", start + 1)
        while line >= 0 and self._text[line + 1 : line + 2] in ("\t", "#", "\n"):
            if self._text.startswith(f"\n\t{device:04x}  ", line):
                return self._find_after(f"\n\t{device:04x}  ", line)
            line = self._text.find("\n", line + 1)
        return ""

    def _find_after(self, prefix: str, begin: int) -> str:
        start = self._text.find(prefix, begin)
        return "" if start < 0 else self._text[start + len(prefix) :].split("\n", 1)[0].strip()

    def _observe_name(self, moment: ObservationTime, name: str, number: str) -> Observation[str]:
        if name:
            return moment.seen(name, self._source, "database")
        return moment.reported(number, "/sys/bus/pci", MISSING if not self._source else f"not in {self._source}")


@functools.cache
def load_pci_names() -> PciNames:
    """Load this machine's list; empty if there is none."""
    for place in PCI_IDS_FILES:
        try:
            return PciNames(Path(place).read_text(errors="replace"), place)
        except OSError:
            continue
    return PciNames("", "")
