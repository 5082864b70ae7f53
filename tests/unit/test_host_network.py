"""Netlink messages of the kernel, decoded. pyroute2 encodes them as bytes and decodes them again."""

import socket
import threading
from typing import Any

import pytest
from pyroute2.netlink.devlink import devlinkcmd
from pyroute2.netlink.generic.ethtool import ethtool_linkmode_msg
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg

from nodrop.host import network
from nodrop.host.network import NetlinkReader, find_fastest_bps, parse_eswitch, parse_interfaces, parse_link_modes


def receive(message: Any) -> Any:
    """Return a message as received."""
    message.encode()
    arrived = type(message)(bytes(message.data))
    arrived.decode()
    return arrived


def link(index: int, name: str, rates: dict[int, int]) -> Any:
    message = ifinfmsg()
    message["index"] = index
    functions = [
        ["IFLA_VF_INFO", {"attrs": [["IFLA_VF_RATE", {"vf": vf, "min_tx_rate": 0, "max_tx_rate": rate}]]}]
        for vf, rate in rates.items()
    ]
    message["attrs"] = [["IFLA_IFNAME", name]]
    if functions:
        message["attrs"].append(["IFLA_VFINFO_LIST", {"attrs": functions}])
    return receive(message)


def address_message(index: int, text: str) -> Any:
    message = ifaddrmsg()
    message["index"], message["prefixlen"] = index, 24
    message["family"] = socket.AF_INET6 if ":" in text else socket.AF_INET
    message["attrs"] = [["IFA_ADDRESS", text]]
    return receive(message)


def mode_message(*names: str) -> Any:
    message = ethtool_linkmode_msg()
    bits = [["ETHTOOL_A_BITSET_BITS_BIT", {"attrs": [["ETHTOOL_A_BITSET_BIT_NAME", name]]}] for name in names]
    message["attrs"] = [
        ["ETHTOOL_A_LINKMODES_OURS", {"attrs": [["ETHTOOL_A_BITSET_BITS", {"attrs": bits}]]}],
    ]
    return receive(message)


def eswitch(mode: int) -> Any:
    message = devlinkcmd()
    message["attrs"] = [["DEVLINK_ATTR_ESWITCH_MODE", mode]]
    return receive(message)


def test_limits_of_virtual_functions_are_read_by_their_numbers() -> None:
    interfaces = parse_interfaces([link(4, "ens3f0", {0: 2500, 3: 0})], [])
    assert interfaces["ens3f0"].vf_limits_mbps == {0: 2500, 3: 0}


def test_an_interface_has_the_addresses_it_was_given_and_not_those_all_have() -> None:
    interfaces = parse_interfaces(
        [link(4, "ens3f0", {}), link(5, "ens3f1", {})],
        [address_message(4, "192.0.2.1"), address_message(4, "2001:db8::1"), address_message(5, "fe80::1")],
    )
    assert interfaces["ens3f0"].addresses == ("192.0.2.1/24", "2001:db8::1/24")
    assert interfaces["ens3f1"].addresses == ()


def test_the_fastest_supported_mode_is_found_among_what_is_no_speed() -> None:
    names = parse_link_modes(
        mode_message("Autoneg", "FIBRE", "10000baseSR/Full", "25000baseCR/Full", "1000baseX/Full", "FEC_RS")
    )
    assert find_fastest_bps(names) == 25 * 10**9


@pytest.mark.parametrize("names", [(), ("Autoneg", "TP"), ("4294967295baseT/Full",), ("0baseT/Full",)])
def test_modes_without_a_sane_speed_have_none(names: tuple[str, ...]) -> None:
    assert find_fastest_bps(parse_link_modes(mode_message(*names))) is None


@pytest.mark.parametrize(("mode", "message"), [(0, "legacy"), (1, "switchdev"), (7, None)])
def test_a_cards_switch_is_in_one_of_two_modes(mode: int, message: str | None) -> None:
    result, why = parse_eswitch(eswitch(mode))
    assert result == message
    assert bool(why) == (message is None)


def test_a_driver_that_keeps_the_kernel_waiting_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    release, requested = threading.Event(), list[str]()

    def never(interface: str) -> tuple[str, str]:
        requested.append(interface)
        release.wait()
        return "too late", ""

    monkeypatch.setattr(network, "ANSWER_TIMEOUT_S", 0.05)
    monkeypatch.setattr(network, "_read_firmware", never)
    kernel = NetlinkReader()
    assert kernel.read_firmware("ens3") == ("", "the kernel did not answer within 0.05 s")
    assert kernel.read_firmware("ens4") == ("", "the kernel did not answer within 0.05 s")
    assert kernel.read_interfaces()[0] == {}
    assert requested == ["ens3"]
    release.set()


def test_this_kernel_is_asked_without_an_error() -> None:
    kernel = NetlinkReader()
    interfaces, why = kernel.read_interfaces()
    assert "lo" in interfaces, why
    assert kernel.read_link_modes("lo")[0] == ()
    assert kernel.read_firmware("nosuch") == ("", "the driver names none")
    assert kernel.read_link_modes("nosuch0")[1] == "the driver does not say (no such device)"
    assert kernel.read_eswitch("0000:ff:1f.7")[0] is None
