"""PCI devices as the kernel shows them, written into a directory from facts of real cards.

Sources: pci.ids for vendors and devices; Linux, Documentation/ABI/testing/sysfs-bus-pci and sysfs-class-net for the
files; Intel 82599 datasheet 331520 section 7.10 (63 virtual functions, offset 128, stride 2) and 333 XL710 datasheet;
Linux, drivers/crypto/intel/qat/qat_dh895xcc (32 virtual functions).
"""

from collections.abc import Mapping
from pathlib import Path

from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import NOT_CAPTURED, LibvirtReply, ProgramOutput, Source
from nodrop.host.network import Eswitch, KernelInterface
from nodrop.model.observation import ObservationTime

NO_LIBVIRT = LibvirtReply(why=NOT_CAPTURED)
MOMENT = ObservationTime("2026-01-01T00:00:00+00:00")
ETHERNET, CO_PROCESSOR, BRIDGE = "0x020000", "0x0b4000", "0x060400"
IXGBE, IXGBEVF, XL710, DH895XCC = "10fb", "10ed", "1583", "0435"


class PciTree:
    """A machine's /sys and /proc, limited to devices, growing below a directory."""

    def __init__(self, root: Path, nodes: int = 2) -> None:
        self.root = root
        self.write("/sys/devices/system/cpu/online", "0-15")
        self.write("/proc/1/comm", "systemd")
        self.directory("/proc/1/fd")
        for node in range(nodes):
            self.write(f"/sys/devices/system/node/node{node}/cpulist", f"{node * 8}-{node * 8 + 7}")

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def directory(self, path: str) -> None:
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def link(self, path: str, target: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(target)

    def function(self, place: str, kind: str, device: str, **files: str) -> str:
        """Create a function at `pci0000:00/0000:00:02.0/0000:03:00.0`; return its directory among all devices."""
        name = place.rsplit("/", 1)[-1]
        self.write(f"/sys/devices/{place}/class", kind)
        self.write(f"/sys/devices/{place}/vendor", "0x8086")
        self.write(f"/sys/devices/{place}/device", f"0x{device}")
        for file, text in files.items():
            self.write(f"/sys/devices/{place}/{file}", text)
        self.link(f"/sys/bus/pci/devices/{name}", f"../../../devices/{place}")
        return f"/sys/bus/pci/devices/{name}"

    def driver(self, function: str, name: str) -> None:
        self.link(f"{function}/driver", f"../../../../bus/pci/drivers/{name}")

    def interface(self, function: str, name: str, **files: str) -> None:
        """Create an interface of a function, up and without a peer unless its files state otherwise."""
        for file, text in {"carrier": "1", "operstate": "up", "speed": "10000", **files}.items():
            self.write(f"{function}/net/{name}/{file}", text)
        real = (self.root / function.lstrip("/")).resolve().relative_to(self.root.resolve())
        self.link(f"/sys/class/net/{name}", f"../../../{real}/net/{name}")
        self.link(f"/{real}/net/{name}/device", "../..")

    def bridge(self, name: str, *members: str) -> None:
        self.write(f"/sys/class/net/{name}/bridge/stp_state", "0")
        for member in members:
            self.link(f"/sys/class/net/{name}/brif/{member}", f"../../{member}/brport")
            self.link(f"/sys/class/net/{member}/master", f"../{name}")

    def virtual_function(self, physical: str, number: int, name: str) -> str:
        """Create a virtual function of an 82599, next to its physical function."""
        place = (self.root / physical.lstrip("/")).resolve().relative_to(self.root.resolve() / "sys/devices")
        function = self.function(f"{place.parent}/{name}", ETHERNET, IXGBEVF, numa_node="0")
        self.link(f"{function}/physfn", f"../{physical.rsplit('/', 1)[-1]}")
        self.link(f"{physical}/virtfn{number}", f"../{name}")
        return function


class RecordedNetwork:
    """Recorded answers of netlink."""

    def __init__(
        self,
        interfaces: Mapping[str, KernelInterface] | None = None,
        modes: Mapping[str, tuple[str, ...]] | None = None,
        eswitches: Mapping[str, Eswitch] | None = None,
    ) -> None:
        self._interfaces, self._modes, self._eswitches = interfaces or {}, modes or {}, eswitches or {}

    def read_interfaces(self) -> tuple[Mapping[str, KernelInterface], str]:
        return self._interfaces, ""

    def read_link_modes(self, interface: str) -> tuple[tuple[str, ...], str]:
        return self._modes.get(interface, ()), ""

    def read_firmware(self, interface: str) -> tuple[str, str]:
        return f"firmware of {interface}", ""

    def read_eswitch(self, pci_id: str) -> tuple[Eswitch | None, str]:
        return self._eswitches.get(pci_id), "needs root"


class RecordedPrograms:
    """Recorded output of programs, by command line."""

    def __init__(self, answers: Mapping[str, str | ProgramOutput]) -> None:
        self._answers = answers

    def __call__(self, *command: str) -> ProgramOutput:
        result = self._answers.get(" ".join(command), ProgramOutput(None, f"{command[0]} is not installed"))
        return result if isinstance(result, ProgramOutput) else ProgramOutput(result)


def source(
    root: Path,
    network: RecordedNetwork | None = None,
    programs: Mapping[str, str | ProgramOutput] | None = None,
    libvirt: LibvirtReply = NO_LIBVIRT,
) -> Source:
    """Return a captured machine, with the records next to its files."""
    result = Source(FileTree(root), MOMENT, network=network, libvirt=lambda: libvirt)
    return result if programs is None else result._replace(programs=RecordedPrograms(programs))


def build_two_sockets(root: Path) -> PciTree:
    """Build two sockets: a dual 82599 with virtual functions on the first; an XL710 passed to programs,
    and a QuickAssist card on the second."""
    tree = PciTree(root)
    tree.function("pci0000:00/0000:00:02.0", BRIDGE, "6f04", current_link_speed="5.0 GT/s PCIe", current_link_width="8")
    lane = {"current_link_speed": "5.0 GT/s PCIe", "current_link_width": "8"}
    best = {"max_link_speed": "5.0 GT/s PCIe", "max_link_width": "8", "numa_node": "0", "sriov_totalvfs": "63"}
    for number, vfs in enumerate(("0", "2")):
        place = f"pci0000:00/0000:00:02.0/0000:03:00.{number}"
        port = tree.function(place, ETHERNET, IXGBE, **lane, **best, sriov_numvfs=vfs)
        tree.driver(port, "ixgbe")
        tree.interface(port, f"ens3f{number}")
    for number, name in enumerate(("0000:03:10.1", "0000:03:10.3")):
        function = tree.virtual_function("/sys/bus/pci/devices/0000:03:00.1", number, name)
        tree.driver(function, "vfio-pci")
        tree.link(f"{function}/iommu_group", f"../../../../kernel/iommu_groups/{40 + number}")
    fast = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "8", "numa_node": "1"}
    for number in range(2):
        card = tree.function(f"pci0000:80/0000:80:03.0/0000:82:00.{number}", ETHERNET, XL710, **fast)
        tree.driver(card, "vfio-pci")
        tree.link(f"{card}/iommu_group", f"../../../../kernel/iommu_groups/{60 + number}")
    tree.function("pci0000:80/0000:80:02.0/0000:85:00.0", CO_PROCESSOR, DH895XCC, numa_node="1", sriov_numvfs="32")
    return tree


def add_open_file(tree: PciTree, process: int, name: str, device: str) -> None:
    """Add a process with an open device file."""
    tree.write(f"/proc/{process}/comm", name)
    tree.link(f"/proc/{process}/fd/7", device)
