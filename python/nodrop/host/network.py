"""Interface data available through netlink only: addresses, supported speeds, VF rate limits.

Source: <linux/if_link.h> (IFLA_VFINFO_LIST), <linux/ethtool_netlink.h>, Documentation/networking/devlink.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from nodrop.host.timeouts import call_with_timeout
from nodrop.system import ethtool

T = TypeVar("T")
ANSWER_TIMEOUT_S = 1.0
"""Time limit for the kernel's answer."""

EXTENDED_VF = 1
"""RTEXT_FILTER_VF: include the settings of virtual functions."""
ESWITCH_GET = 29
"""DEVLINK_CMD_ESWITCH_GET, and the modes by number."""
ESWITCH_MODES: tuple[Literal["legacy", "switchdev"], ...] = ("legacy", "switchdev")
FASTEST_MBPS = 10_000_000
"""Upper limit of a plausible speed."""
_MODE = re.compile(r"(\d{1,7})base")
_LINK_LOCAL = "fe80"

Eswitch = Literal["legacy", "switchdev"]


class KernelInterface(NamedTuple):
    """An interface as reported by rtnetlink."""

    addresses: tuple[str, ...] = ()
    """Configured addresses, without the automatic link-local one."""
    vf_limits_mbps: Mapping[int, int] = {}
    """By number of the virtual function; 0: not set."""


class NetworkReader(Protocol):
    """Queries of the kernel; the second part of each result says why the first is empty."""

    def read_interfaces(self) -> tuple[Mapping[str, KernelInterface], str]:
        """Return all interfaces by name."""

    def read_link_modes(self, interface: str) -> tuple[tuple[str, ...], str]:
        """Return the link modes supported by the hardware, e.g. `10000baseSR/Full`."""

    def read_firmware(self, interface: str) -> tuple[str, str]:
        """Return the firmware version."""

    def read_eswitch(self, pci_id: str) -> tuple[Eswitch | None, str]:
        """Return how a card switches between its virtual functions."""


class NetlinkReader:
    """Queries of the kernel in this process's network namespace, with a time limit of one second in total."""

    def __init__(self) -> None:
        """Start without a timed-out query."""
        self._silent = False

    def read_interfaces(self) -> tuple[Mapping[str, KernelInterface], str]:
        """Return all interfaces by name."""
        return self._answer(_read_interfaces, {})

    def read_link_modes(self, interface: str) -> tuple[tuple[str, ...], str]:
        """Return the link modes supported by the hardware."""
        return self._answer(lambda: _link_modes(interface), ())

    def read_firmware(self, interface: str) -> tuple[str, str]:
        """Return the firmware version."""
        return self._answer(lambda: _read_firmware(interface), "")

    def read_eswitch(self, pci_id: str) -> tuple[Eswitch | None, str]:
        """Return how a card switches between its virtual functions."""
        return self._answer(lambda: _read_eswitch(pci_id), None)

    def _answer(self, query: Callable[[], tuple[T, str]], nothing: T) -> tuple[T, str]:
        """Return the result of a query, or none after an earlier timeout: the same driver would block again."""
        late = (nothing, f"the kernel did not answer within {ANSWER_TIMEOUT_S:g} s")
        if self._silent:
            return late
        answer = call_with_timeout(ANSWER_TIMEOUT_S, query, lambda: late)
        self._silent = answer is late
        return answer


def _read_interfaces() -> tuple[Mapping[str, KernelInterface], str]:
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        with IPRoute() as netlink:
            links = list(netlink.link("dump", ext_mask=EXTENDED_VF))
            addresses = list(netlink.get_addr())
    except (OSError, NetlinkError) as error:
        return {}, f"rtnetlink: {error}"
    return parse_interfaces(links, addresses), ""


def _link_modes(interface: str) -> tuple[tuple[str, ...], str]:
    from pyroute2.netlink.exceptions import NetlinkError
    from pyroute2.netlink.generic.ethtool import NlEthtool

    try:
        with NlEthtool() as netlink:
            answers = list(netlink.get_linkmode(ifname=interface))
    except (OSError, NetlinkError) as error:
        return (), f"the driver does not say ({_format_reason(error)})"
    return (parse_link_modes(answers[0]), "") if answers else ((), "no answer")


def _read_firmware(interface: str) -> tuple[str, str]:
    version = ethtool.read_firmware_version(interface)
    return (version, "") if version else ("", "the driver names none")


def _read_eswitch(pci_id: str) -> tuple[Eswitch | None, str]:
    from pyroute2 import DL
    from pyroute2.netlink import NLM_F_REQUEST
    from pyroute2.netlink.devlink import devlinkcmd
    from pyroute2.netlink.exceptions import NetlinkError

    message = devlinkcmd()
    message["cmd"] = ESWITCH_GET
    message["attrs"] = [("DEVLINK_ATTR_BUS_NAME", "pci"), ("DEVLINK_ATTR_DEV_NAME", pci_id)]
    try:
        with DL() as netlink:
            answers = list(netlink.nlm_request(message, msg_type=netlink.prid, msg_flags=NLM_F_REQUEST))
    except (OSError, NetlinkError) as error:
        return None, _format_reason(error)
    return parse_eswitch(answers[0]) if answers else (None, "no answer")


def parse_interfaces(links: list[Any], addresses: list[Any]) -> dict[str, KernelInterface]:
    """Parse rtnetlink messages, by interface name."""
    addresses_by_index: dict[int, list[str]] = {}
    for message in addresses:
        address = message.get_attr("IFA_LOCAL") or message.get_attr("IFA_ADDRESS")
        if address and not address.startswith(_LINK_LOCAL):
            addresses_by_index.setdefault(message["index"], []).append(f"{address}/{message['prefixlen']}")
    return {
        link.get_attr("IFLA_IFNAME"): KernelInterface(
            tuple(addresses_by_index.get(link["index"], ())), dict(_list_vf_limits(link))
        )
        for link in links
    }


def _list_vf_limits(link: Any) -> Iterator[tuple[int, int]]:
    listed = link.get_attr("IFLA_VFINFO_LIST")
    for name, each in listed["attrs"] if listed else ():
        rate = each.get_attr("IFLA_VF_RATE") if name == "IFLA_VF_INFO" else None
        if rate:
            yield rate["vf"], rate["max_tx_rate"]


def parse_link_modes(answer: Any) -> tuple[str, ...]:
    """Parse the supported modes of an ethtool netlink answer."""
    local_modes = answer.get_attr("ETHTOOL_A_LINKMODES_OURS")
    bits = local_modes.get_attr("ETHTOOL_A_BITSET_BITS") if local_modes else None
    return tuple(bit.get_attr("ETHTOOL_A_BITSET_BIT_NAME") for _, bit in bits["attrs"]) if bits else ()


def find_fastest_bps(modes: tuple[str, ...]) -> int | None:
    """Return the speed of the fastest mode; None: the modes name no speed."""
    speeds = [int(match[1]) for mode in modes if (match := _MODE.match(mode))]
    sane = [each for each in speeds if 0 < each <= FASTEST_MBPS]
    return max(sane) * 10**6 if sane else None


def parse_eswitch(answer: Any) -> tuple[Eswitch | None, str]:
    """Parse the mode of a devlink answer."""
    mode = answer.get_attr("DEVLINK_ATTR_ESWITCH_MODE")
    if mode is None or mode >= len(ESWITCH_MODES):
        return None, f"holds {mode}, legacy or switchdev expected"
    return ESWITCH_MODES[mode], ""


def _format_reason(error: Exception) -> str:
    """Translate a netlink error."""
    code = getattr(error, "code", getattr(error, "errno", None))
    return {1: "needs root", 13: "needs root", 19: "no such device", 95: "not supported"}.get(code or 0, str(error))
