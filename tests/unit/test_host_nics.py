"""Network cards, ports, virtual functions and accelerators of captured and of synthetic machines."""

from pathlib import Path

import pytest
from tests.pci_trees import (
    ETHERNET,
    IXGBE,
    MOMENT,
    PciTree,
    RecordedNetwork,
    add_open_file,
    build_two_sockets,
    source,
)

from nodrop.host import nics, pci
from nodrop.host.inputs import LibvirtReply
from nodrop.host.network import KernelInterface
from nodrop.host.nics import HostDevices, PciNames
from nodrop.model.chd import Nic, Port, VSwitch

NO_ROUTES = "Iface\tDestination\tGateway"


def describe_nics(tree: PciTree, network: RecordedNetwork | None = None, **more: object) -> HostDevices:
    return nics.describe_devices(source(tree.root, network or RecordedNetwork(), **more))  # type: ignore[arg-type]


def card(devices: HostDevices, name: str) -> Nic:
    return next(nic for nic in devices.nics if nic.id == name)


def port(devices: HostDevices, name: str) -> Port:
    return next(each for nic in devices.nics for each in nic.ports if each.pci_id == name)


def single_card_tree(tmp_path: Path, **files: str) -> PciTree:
    tree = PciTree(tmp_path)
    place = tree.function("pci0000:00/0000:03:00.0", ETHERNET, IXGBE, **{"numa_node": "0", **files})
    tree.driver(place, "ixgbe")
    tree.interface(place, "ens3")
    tree.write("/proc/net/route", NO_ROUTES)
    return tree


def test_cards_of_two_sockets_are_where_they_are_attached(tmp_path: Path) -> None:
    result = describe_nics(build_two_sockets(tmp_path))
    assert [(nic.id, nic.node.value, len(nic.ports)) for nic in result.nics] == [
        ("0000:03:00", 0, 2),
        ("0000:82:00", 1, 2),
    ]
    assert [(each.pci_id, each.kind, each.node.value, each.vf_count.value) for each in result.accelerators] == [
        ("0000:85:00.0", "crypto", 1, 32)
    ]


def test_the_limit_of_a_slot_is_rate_by_lanes_by_encoding_by_payload(tmp_path: Path) -> None:
    result = describe_nics(build_two_sockets(tmp_path))
    # 8 lanes of 5 GT/s at 8/10 carry 32 Gbit/s, of which 256 of 276 bytes are payload.
    assert card(result, "0000:03:00").pci_limit_bps.value == pytest.approx(32e9 * 256 / 276)
    assert card(result, "0000:82:00").pci_limit_bps.value == pytest.approx(64e9 * 128 / 130 * 256 / 276)
    assert card(result, "0000:82:00").pci_limit_bps.why == "8 GT/s * 8 lanes * 128/130 encoding * 256/276 payload"


@pytest.mark.parametrize(
    ("generation", "gbps_of_16_lanes"), [(1, 32.0), (2, 64.0), (3, 126.03), (4, 252.06), (5, 504.12), (6, 968.0)]
)
def test_lanes_of_each_generation_carry_what_its_encoding_leaves(generation: int, gbps_of_16_lanes: float) -> None:
    # PCI Express Base Specification 6.0: 8b/10b, then 128b/130b, then 242 of the 256 bytes of a flit.
    limit = pci.compute_limit_bps(pci.PCIE_GENERATIONS[generation - 1], 16)
    assert limit / pci.PROTOCOL_RATIO / 1e9 == pytest.approx(gbps_of_16_lanes, rel=1e-4)


def test_a_narrower_link_above_a_card_limits_it(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    tree.write("/sys/bus/pci/devices/0000:00:02.0/current_link_width", "4")
    limit = card(describe_nics(tree), "0000:03:00").pci_limit_bps
    assert limit.value == pytest.approx(16e9 * 256 / 276)
    assert "at 0000:00:02.0 above it" in limit.why


def test_a_node_of_minus_one_is_unknown_where_there_are_two(tmp_path: Path) -> None:
    node = describe_nics(single_card_tree(tmp_path, numa_node="-1")).nics[0].node
    assert not node.known
    assert node.why == "holds -1: the firmware does not say"


def test_a_node_of_minus_one_is_the_only_one_where_there_is_one(tmp_path: Path) -> None:
    tree = PciTree(tmp_path, nodes=1)
    tree.function("pci0000:00/0000:03:00.0", ETHERNET, IXGBE, numa_node="-1")
    node = describe_nics(tree).nics[0].node
    assert (node.value, node.confidence) == (0, "inferred")
    assert "the only node" in node.why


@pytest.mark.parametrize("message", ["7", "4294967295", "\x00\xff", "", "1e9"])
def test_a_node_that_is_none_is_unknown_with_what_was_said(tmp_path: Path, message: str) -> None:
    node = describe_nics(single_card_tree(tmp_path, numa_node=message)).nics[0].node
    assert not node.known
    assert node.why


@pytest.mark.parametrize("speed", ["Unknown", "Unknown speed", "4294967295", "", "8.0 MT/s", "9.0 GT/s PCIe"])
def test_a_link_speed_that_is_none_leaves_generation_and_limit_unknown(tmp_path: Path, speed: str) -> None:
    nic = describe_nics(single_card_tree(tmp_path, current_link_speed=speed, current_link_width="8")).nics[0]
    assert not nic.pci_generation.known
    assert not nic.pci_limit_bps.known
    assert "expected" in nic.pci_limit_bps.why


@pytest.mark.parametrize("width", ["0", "255", "-8", "x8"])
def test_a_width_that_is_none_leaves_the_limit_unknown(tmp_path: Path, width: str) -> None:
    nic = describe_nics(single_card_tree(tmp_path, current_link_speed="8.0 GT/s PCIe", current_link_width=width)).nics[
        0
    ]
    assert not nic.lane_count.known
    assert not nic.pci_limit_bps.known


def test_a_card_of_the_chipset_has_no_limit_by_the_link_it_reports(tmp_path: Path) -> None:
    tree = PciTree(tmp_path)
    tree.function("pci0000:00/0000:60:00.0", ETHERNET, "37d2", current_link_speed="2.5 GT/s", current_link_width="1")
    assert not describe_nics(tree).nics[0].pci_limit_bps.known


@pytest.mark.parametrize("speed", ["-1", "4294967295", "0", "65535000000", "Unknown!"])
def test_a_speed_that_the_driver_does_not_know_is_unknown(tmp_path: Path, speed: str) -> None:
    tree = single_card_tree(tmp_path)
    tree.write("/sys/class/net/ens3/speed", speed)
    result = port(describe_nics(tree), "0000:03:00.0").link_speed_bps
    assert not result.known
    assert result.why.startswith("holds")


def test_the_type_of_a_port_is_its_fastest_mode_and_its_link_is_what_it_runs_at(tmp_path: Path) -> None:
    tree = single_card_tree(tmp_path)
    tree.write("/sys/class/net/ens3/speed", "1000")
    network = RecordedNetwork(modes={"ens3": ("1000baseT/Full", "10000baseT/Full", "Autoneg", "FIBRE")})
    result = port(describe_nics(tree, network), "0000:03:00.0")
    assert (result.speed_bps.value, result.link_speed_bps.value) == (10**10, 10**9)
    assert result.speed_bps.source == "netlink ethtool"


def test_a_port_without_an_address_a_route_or_a_bridge_is_free(tmp_path: Path) -> None:
    result = port(describe_nics(single_card_tree(tmp_path)), "0000:03:00.0")
    assert (result.eligible.value, result.in_use.value, result.use.value) == (True, False, "none")


def test_a_port_with_an_address_is_the_hosts(tmp_path: Path) -> None:
    network = RecordedNetwork({"ens3": KernelInterface(("192.0.2.7/24",))})
    result = port(describe_nics(single_card_tree(tmp_path), network), "0000:03:00.0")
    assert (result.eligible.value, result.in_use.value, result.owners) == (False, True, ("host",))


def test_a_port_below_a_bond_with_a_route_is_the_hosts(tmp_path: Path) -> None:
    tree = single_card_tree(tmp_path)
    tree.directory("/sys/class/net/bond0")
    tree.link("/sys/class/net/ens3/master", "../bond0")
    tree.write("/proc/net/route", f"{NO_ROUTES}\nbond0\t00000000\t010200C0")
    result = port(describe_nics(tree), "0000:03:00.0")
    assert result.eligible.value is False
    assert "through bond0" in result.eligible.why


def test_a_port_on_a_bridge_is_shared_through_it(tmp_path: Path) -> None:
    tree = single_card_tree(tmp_path)
    tree.bridge("br-ex", "ens3")
    result = port(describe_nics(tree), "0000:03:00.0")
    assert (result.use.value, result.vswitch, result.owners) == ("shared", "br-ex", ("br-ex",))


def test_a_port_that_a_virtual_switch_drives_itself_is_on_it(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    switch = VSwitch(
        name="br-phy", kind=MOMENT.reported("ovs-dpdk", "test"), ports=MOMENT.reported(("0000:82:00.0",), "test")
    )
    result = nics.describe_devices(source(tree.root, RecordedNetwork()), (switch,))
    assert (port(result, "0000:82:00.0").vswitch, port(result, "0000:82:00.0").use.value) == ("br-phy", "shared")
    assert port(result, "0000:82:00.1").in_use.value is False


def test_a_port_given_to_a_program_belongs_to_who_holds_it(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    add_open_file(tree, 812, "dpdk-testpmd", "/dev/vfio/60")
    result = describe_nics(tree)
    assert port(result, "0000:82:00.0").owners == ("dpdk-testpmd (812)",)
    assert port(result, "0000:82:00.0").use.value == "dedicated"
    assert port(result, "0000:82:00.1").in_use.value is False


def test_who_holds_a_port_is_unknown_where_processes_are_not_seen(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    (tree.root / "proc/1/comm").unlink()
    (tree.root / "proc/1/fd").rmdir()
    (tree.root / "proc/1").rmdir()
    result = port(describe_nics(tree), "0000:82:00.0")
    assert result.eligible.value is True
    assert not result.in_use.known
    assert result.in_use.why == "processes are not in the capture"


def test_virtual_functions_belong_to_the_vms_that_were_given_them(tmp_path: Path) -> None:
    domain = """<domain><name>bng</name><vcpu>2</vcpu><devices><hostdev><source>
        <address domain='0x0000' bus='0x03' slot='0x10' function='0x1'/></source></hostdev></devices></domain>"""
    network = RecordedNetwork(
        {"ens3f1": KernelInterface(vf_limits_mbps={0: 2500, 1: 0})}, eswitches={"0000:03:00.1": "legacy"}
    )
    result = port(
        describe_nics(build_two_sockets(tmp_path), network, libvirt=LibvirtReply(domains=(domain,))), "0000:03:00.1"
    )
    assert result.sriov is not None
    assert (result.sriov.total_count.value, result.sriov.configured_count.value) == (63, 2)
    assert result.sriov.eswitch.value == "legacy"
    assert [(vf.pci_id, vf.in_use.value, vf.owner, vf.pacing_bps.value) for vf in result.sriov.vfs] == [
        ("0000:03:10.1", True, "VM bng", 2.5e9),
        ("0000:03:10.3", False, "", 0.0),
    ]
    assert (result.eligible.value, result.use.value, result.owners) == (True, "shared", ("VM bng",))


def test_a_virtual_function_in_another_network_namespace_is_in_use(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    function = "/sys/bus/pci/devices/0000:03:10.1"
    (tree.root / function[1:] / "driver").unlink()
    tree.driver(function, "ixgbevf")
    tree.directory(f"{function}/net")
    result = port(describe_nics(tree), "0000:03:00.1").sriov
    assert result is not None
    assert result.vfs[0].in_use.value is True
    assert result.vfs[0].in_use.why == "its interface is in another network namespace"


def test_more_virtual_functions_than_there_can_be_are_not_believed(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    tree.write("/sys/bus/pci/devices/0000:03:00.1/sriov_totalvfs", "1")
    result = port(describe_nics(tree), "0000:03:00.1").sriov
    assert result is not None
    assert len(result.vfs) == 1
    assert result.configured_count.why == "holds 2, of 1 at most"


def test_a_virtual_function_that_leads_nowhere_is_left_out(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    (tree.root / "sys/bus/pci/devices/0000:03:10.3").unlink()
    tree.link("/sys/bus/pci/devices/0000:03:10.3", "../nowhere")
    result = port(describe_nics(tree), "0000:03:00.1").sriov
    assert result is not None
    assert [vf.pci_id for vf in result.vfs] == ["0000:03:10.1"]


def test_the_ends_of_a_cards_own_switch_are_no_ports(tmp_path: Path) -> None:
    tree = single_card_tree(tmp_path)
    tree.interface("/sys/bus/pci/devices/0000:03:00.0", "ens3_0", phys_port_name="pf0vf0")
    assert [each.netdev for each in describe_nics(tree).nics[0].ports] == ["ens3"]


def test_a_virtual_interface_is_no_port_and_a_card_on_another_bus_is_one(tmp_path: Path) -> None:
    tree = single_card_tree(tmp_path)
    tree.write("/sys/devices/virtual/net/veth0/carrier", "1")
    tree.link("/sys/class/net/veth0", "../../devices/virtual/net/veth0")
    tree.write("/sys/devices/platform/fsl-mc/dprc.1/dpni.0/net/eth1/speed", "10000")
    tree.link("/sys/class/net/eth1", "../../devices/platform/fsl-mc/dprc.1/dpni.0/net/eth1")
    tree.link("/sys/devices/platform/fsl-mc/dprc.1/dpni.0/net/eth1/device", "../..")
    result = describe_nics(tree)
    assert [(nic.id, nic.ports[0].netdev, nic.ports[0].pci_id) for nic in result.nics] == [
        ("0000:03:00", "ens3", "0000:03:00.0"),
        ("dpni.0", "eth1", ""),
    ]
    assert result.nics[1].pci_limit_bps.why == "it is on no PCI bus"


def test_a_paravirtual_card_names_the_driver_of_its_interface(tmp_path: Path) -> None:
    tree = PciTree(tmp_path, nodes=1)
    function = tree.function("pci0000:00/0000:00:03.0", ETHERNET, "1041", vendor="0x1af4", numa_node="-1")
    tree.driver(function, "virtio-pci")
    device = "/sys/devices/pci0000:00/0000:00:03.0/virtio2"
    tree.write(f"{device}/net/eth0/speed", "-1")
    tree.link(f"{device}/net/eth0/device", "../..")
    tree.link(f"{device}/driver", "../../../../bus/virtio/drivers/virtio_net")
    tree.link("/sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0")
    nic = describe_nics(tree).nics[0]
    assert (nic.driver.value, nic.ports[0].netdev) == ("virtio_net", "eth0")


def test_a_card_whose_interface_is_in_another_network_namespace_is_not_given_away(tmp_path: Path) -> None:
    tree = PciTree(tmp_path, nodes=1)
    function = tree.function("pci0000:00/0000:00:03.0", ETHERNET, "1041", numa_node="-1")
    tree.write("/sys/devices/pci0000:00/0000:00:03.0/vendor", "0x1af4")
    tree.driver(function, "virtio-pci")
    tree.directory("/sys/devices/pci0000:00/0000:00:03.0/virtio2/net")
    result = port(describe_nics(tree), "0000:00:03.0")
    assert (result.eligible.value, result.in_use.value, result.use.value) == (None, True, "dedicated")
    assert result.eligible.why == "its interface is in another network namespace"


@pytest.mark.parametrize("message", ["network", "0x0200000000", "-1", "\xff\xfe"])
def test_a_function_whose_class_cannot_be_read_is_left_out(tmp_path: Path, message: str) -> None:
    tree = single_card_tree(tmp_path)
    tree.write("/sys/bus/pci/devices/0000:03:00.0/class", message)
    assert pci.list_functions(source(tree.root).tree) == ()


def test_a_directory_of_devices_with_other_names_is_no_hindrance(tmp_path: Path) -> None:
    tree = single_card_tree(tmp_path)
    tree.link("/sys/bus/pci/devices/0000:04:00.0", "../gone")
    tree.link("/sys/bus/pci/devices/loop", "loop")
    tree.directory("/sys/bus/pci/devices/notes")
    assert [nic.id for nic in describe_nics(tree).nics] == ["0000:03:00"]


LIST = """# a list
8086  Intel Corporation
\t10fb  82599ES 10-Gigabit SFI/SFP+ Network Connection
\t\t8086 0003  Ethernet Server Adapter X520-2
\t1521  I350 Gigabit Network Connection
8087  Another
\t10fb  Not the same
"""


def test_cards_are_named_by_the_list_of_their_own_vendor() -> None:
    names = PciNames(LIST, "/usr/share/misc/pci.ids")
    assert names.observe_device(MOMENT, 0x8086, 0x10FB).value == "82599ES 10-Gigabit SFI/SFP+ Network Connection"
    assert names.observe_device(MOMENT, 0x8087, 0x10FB).value == "Not the same"
    assert names.observe_vendor(MOMENT, 0x8086).confidence == "database"


def test_a_card_that_no_list_names_keeps_its_numbers() -> None:
    unnamed, without = (
        PciNames(LIST, "pci.ids").observe_device(MOMENT, 0x8086, 0x1234),
        PciNames("", "").observe_vendor(MOMENT, 0x15B3),
    )
    assert (unnamed.value, unnamed.why) == ("8086:1234", "not in pci.ids")
    assert (without.value, without.why) == ("15b3", "no pci.ids on this machine to name it by")


@pytest.mark.parametrize(
    ("model", "gbps"),
    [
        ("82599ES 10-Gigabit SFI/SFP+ Network Connection", 10),
        ("I350 Gigabit Network Connection", 1),
        ("Ethernet Controller XL710 for 40GbE QSFP+", 40),
        ("NetXtreme II BCM5709 Gigabit Ethernet", 1),
        ("Ethernet Connection X722 for 10GBASE-T", 10),
        ("BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller", 25),
        ("MT27800 Family [ConnectX-5]", None),
        ("T62100-LP-CR Unified Wire Ethernet Controller", None),
    ],
)
def test_a_port_no_driver_speaks_for_has_the_speed_in_its_cards_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, gbps: int | None
) -> None:
    tree = PciTree(tmp_path)
    tree.driver(tree.function("pci0000:00/0000:03:00.0", ETHERNET, "1234"), "vfio-pci")
    monkeypatch.setattr(nics, "load_pci_names", lambda: PciNames(f"8086  Intel\n\t1234  {model}\n", "pci.ids"))
    speed = describe_nics(tree).nics[0].ports[0].speed_bps
    assert speed.value == (gbps * 10**9 if gbps else None)
    assert speed.confidence == ("database" if gbps else "unknown")
