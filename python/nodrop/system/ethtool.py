"""Properties of network drivers, read by ioctl: /sys shows only the namespace that it was mounted in.

The ioctl, not pyroute2, because importing pyroute2 takes 150 ms.

Source: <linux/ethtool.h>, struct ethtool_drvinfo and struct ethtool_cmd.
"""

import array
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
ETHTOOL_GSET = 0x01
ETHTOOL_GDRVINFO = 0x03
ETHTOOL_SGRO = 0x2C
SPEED_UNKNOWN_MBPS = 0xFFFFFFFF


def read_driver_name(interface: str) -> str:
    """Return the driver of an interface in this process's network namespace; `unknown` if it is not reported."""
    answer = _query_driver(interface, ETHTOOL_GDRVINFO, 196)
    return answer[4:36].split(b"\0")[0].decode() if answer else "unknown"


def read_firmware_version(interface: str) -> str | None:
    """Return the firmware version of an interface's card, empty if the driver names none; None without a reply."""
    answer = _query_driver(interface, ETHTOOL_GDRVINFO, 196)
    return answer[68:100].split(b"\0")[0].decode(errors="replace").strip() if answer else None


def link_speed_bps(interface: str) -> int | None:
    """Return the nominal speed of a link in bits per second; None if the driver reports none."""
    answer = _query_driver(interface, ETHTOOL_GSET, 44)
    if not answer:
        return None
    (low,), (high,) = struct.unpack_from("=H", answer, 12), struct.unpack_from("=H", answer, 28)
    megabits = high << 16 | low
    return None if megabits in (0, 0xFFFF, SPEED_UNKNOWN_MBPS) else megabits * 1_000_000


def enable_gro(interface: str) -> None:
    """Enable generic receive offload on an interface; a driver that refuses is left as it is.

    Source: <linux/ethtool.h>, struct ethtool_value.
    """
    _exchange(interface, struct.pack("=II", ETHTOOL_SGRO, 1))


def _query_driver(interface: str, command: int, size: int) -> bytes | None:
    return _exchange(interface, struct.pack("=I", command).ljust(size, b"\0"))


def _exchange(interface: str, command: bytes) -> bytes | None:
    answer = array.array("B", command)
    request = struct.pack("16sP", interface.encode(), answer.buffer_info()[0]).ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        try:
            fcntl.ioctl(channel, SIOCETHTOOL, request)
        except OSError:
            return None
    return answer.tobytes()
