"""Network cards of captured machines, compared with hwloc's reading of the same files."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as xml
from typing import NamedTuple

import pytest
from tests.conftest import LAB_REQUIRED
from tests.machines import machine, reopen_machine

from nodrop.host import nics, pci
from nodrop.model.chd import Nic

WITH_CARDS = ("xeon-2n-smt", "xeon-4n-pci", "xeon-e5-2680-2n")


class Device(NamedTuple):
    """A function on the bus as hwloc sees it."""

    nodes: int
    """Nearby CPUs, as a bit mask."""
    link_bytes_per_s: float
    """Net of encoding; 0: unknown."""


def cards(name: str) -> tuple[Nic, ...]:
    return nics.describe_devices(reopen_machine(name)).nics


def read_hwloc(name: str) -> dict[str, Device]:
    """Return the network functions of a captured machine."""
    if not shutil.which("lstopo-no-graphics"):
        if LAB_REQUIRED:
            pytest.fail("lstopo-no-graphics is not installed: apt install hwloc")
        pytest.skip("lstopo-no-graphics is not installed: apt install hwloc")
    environment = {**os.environ, "HWLOC_FSROOT": str(machine(name).tree.root), "HWLOC_THISSYSTEM": "0"}
    output = subprocess.run(
        ["lstopo-no-graphics", "--of", "xml", "--whole-io"], env=environment, capture_output=True, text=True, check=True
    )
    result: dict[str, Device] = {}
    _walk(xml.fromstring(output.stdout), 0, result)
    return result


def _walk(element: xml.Element, nodes: int, result: dict[str, Device]) -> None:
    nodes = int(element.get("nodeset", hex(nodes)), 16)
    if element.get("type") == "PCIDev" and element.get("pci_type", "").startswith("02"):
        result[element.get("pci_busid", "")] = Device(nodes, float(element.get("pci_link_speed", "0")) * 1e9)
    for each in element:
        _walk(each, nodes, result)


@pytest.mark.parametrize("name", WITH_CARDS)
def test_cards_nodes_and_links_are_those_of_hwloc(name: str) -> None:
    seen = read_hwloc(name)
    own = {port.pci_id: nic for nic in cards(name) for port in nic.ports}
    assert own.keys() == seen.keys()
    for place, nic in own.items():
        if nic.node.value is not None:
            assert seen[place].nodes == 1 << nic.node.value
        if nic.pci_limit_bps.value is not None:
            assert nic.pci_limit_bps.value == pytest.approx(seen[place].link_bytes_per_s * 8 * pci.PROTOCOL_RATIO)


def test_cards_of_a_machine_with_two_sockets_and_a_switch_on_the_bus() -> None:
    first, second, chipset = cards("xeon-2n-smt")
    assert first.driver.value == second.driver.value == "mlx5_core"
    assert (first.pci_generation.value, first.lane_count.value) == (3, 16)
    assert [each.netdev for each in chipset.ports] == ["enp96s0f0", "enp96s0f1"]
    assert [each.link.value for each in chipset.ports] == [True, False]
    assert [each.link_speed_bps.value for each in chipset.ports] == [10**9, None]
    assert not chipset.pci_limit_bps.known
    assert [each.sriov.total_count.value for each in chipset.ports if each.sriov] == [64, 64]


def test_cards_whose_firmware_names_no_node_are_on_none() -> None:
    result = cards("xeon-4n-pci")
    assert [(nic.id, nic.node.value, len(nic.ports)) for nic in result] == [
        ("0000:02:00", None, 2),
        ("0000:03:00", None, 2),
    ]


def test_whether_ports_are_in_use_is_unknown_without_addresses_and_routes() -> None:
    ports = [port for name in WITH_CARDS for nic in cards(name) for port in nic.ports]
    assert not any(port.in_use.known or port.eligible.known for port in ports)
    assert all(port.in_use.why for port in ports)


def test_accelerators_are_counted_on_their_nodes() -> None:
    result = nics.describe_devices(reopen_machine("xeon-2n-smt")).accelerators
    assert [each.pci_id for each in result if each.node.value == 0][:2] == ["0000:1b:00.0", "0000:1c:00.0"]
    assert {each.kind for each in result} == {"other"}
