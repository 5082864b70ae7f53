"""Kinds of values in NFVbench's configuration: read as generously as can be, and refused where NFVbench is blind."""

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nodrop.config.nfvbench.loopback import parse_loopback
from nodrop.config.per_side import number_to_text, parse_mac, parse_vlans
from nodrop.units import parse_bps, parse_count, parse_percent, parse_seconds

PORT_MAX = 65535
SPEED_BPS_MAX = 1e13
RANDOM = "random"


def parse_address(written: object) -> str:
    """An IPv4 address. Raises ValueError."""
    try:
        return str(ipaddress.IPv4Address(_text(written)))
    except ValueError:
        raise ValueError(f"{written!r} is not an IPv4 address; write for example 192.168.1.1") from None


def parse_network(written: object) -> str:
    """An IPv4 network, of which host bits do not count. Raises ValueError."""
    try:
        return str(ipaddress.IPv4Network(_text(written), strict=False))
    except ValueError:
        raise ValueError(f"{written!r} is not an IPv4 network; write for example 10.0.0.0/8") from None


def parse_step(written: object) -> str:
    """How far it is to the next address: `0.0.0.1`, or a number that means the same. Raises ValueError."""
    try:
        number = ipaddress.IPv4Address(written if isinstance(written, int) else _text(written))
    except ValueError:
        number = ipaddress.IPv4Address(0)
    if isinstance(written, bool) or not int(number):
        raise ValueError(f"{written!r} is not a step; write for example 0.0.0.1")
    return str(number)


def parse_step_or_random(written: object) -> str:
    """The same, or `random`. Raises ValueError."""
    if isinstance(written, str) and written.lower() == RANDOM:
        return RANDOM
    try:
        return parse_step(written)
    except ValueError:
        raise ValueError(f"{written!r} is not a step; write for example 0.0.0.1, or random") from None


def parse_port_step(written: object) -> str:
    """How far it is to the next UDP port, or `random`. Raises ValueError."""
    if isinstance(written, str) and written.lower() == RANDOM:
        return RANDOM
    text = str(written) if isinstance(written, (int, str)) and not isinstance(written, bool) else ""
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= PORT_MAX:
        raise ValueError(f"{written!r} is not a step; write 1 to {PORT_MAX}, or random")
    return str(int(text))


def parse_ports(written: object) -> object:
    """A UDP port, or the first and last of a range. Raises ValueError."""
    if written is None:
        return None
    listed = written if isinstance(written, (list, tuple)) else [written]
    try:
        ports = tuple(_whole(port) for port in listed)
    except ValueError:
        ports = ()
    if len(ports) not in (1, 2) or not all(1 <= port <= PORT_MAX for port in ports) or ports[0] > ports[-1]:
        raise ValueError(f"{written!r} is not a UDP port or range; write 1 to {PORT_MAX}, as 53 or [1024, 2048]")
    return ports[0], ports[-1]


def parse_size(written: object) -> str:
    """A frame size as NFVbench names it, `64` or `IMIX`. Raises ValueError."""
    text = str(written).upper() if isinstance(written, (int, str)) and not isinstance(written, bool) else ""
    if text != "IMIX" and not re.fullmatch(r"[0-9]{1,5}", text):
        raise ValueError(f"{written!r} is not a frame size; write bytes with FCS, as 64, or IMIX")
    return text


def as_list(written: object) -> object:
    """One or several, as a list."""
    return written if written is None or isinstance(written, (list, tuple)) else [written]


def parse_chain(written: object) -> object:
    """A service chain in capitals."""
    return written.upper() if isinstance(written, str) else written


def parse_speed(written: object) -> object:
    """A speed in bits per second, or `auto`. Raises ValueError."""
    if written is None or (isinstance(written, str) and written.lower() == "auto"):
        return written if written is None else "auto"
    if isinstance(written, str) and not written.lower().rstrip().endswith("bps"):
        raise ValueError(f"{written!r} is not a speed; write for example 10Gbps, or auto")
    speed_bps = parse_bps(written)
    if not 0 < speed_bps <= SPEED_BPS_MAX:
        raise ValueError(f"{written!r} is not the speed of an interface; write for example 10Gbps, or auto")
    return speed_bps


def _text(written: object) -> str:
    if not isinstance(written, str):
        raise ValueError(written)
    return written


def _whole(written: object) -> int:
    if isinstance(written, bool) or not isinstance(written, (int, str)):
        raise ValueError(written)
    return int(written)


Count = Annotated[int, BeforeValidator(parse_count, json_schema_input_type=int | str)]
Percent = Annotated[float, BeforeValidator(parse_percent, json_schema_input_type=float | str)]
Seconds = Annotated[float, Field(le=86400), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
Mac = Annotated[str, BeforeValidator(parse_mac, json_schema_input_type=str)]
Address = Annotated[str, BeforeValidator(parse_address, json_schema_input_type=str)]
Network = Annotated[str, BeforeValidator(parse_network, json_schema_input_type=str)]
Step = Annotated[str, BeforeValidator(parse_step, json_schema_input_type=int | str)]
IpStep = Annotated[str, BeforeValidator(parse_step_or_random, json_schema_input_type=int | str)]
PortStep = Annotated[str, BeforeValidator(parse_port_step, json_schema_input_type=int | str)]
Port = Annotated[int, Field(ge=1, le=PORT_MAX)]
Ports = Annotated[tuple[Port, Port] | None, BeforeValidator(parse_ports, json_schema_input_type=int | list[int] | None)]
Vlan = Annotated[int, Field(ge=1, le=4094)]
Vlans = Annotated[
    tuple[tuple[Vlan, ...], tuple[Vlan, ...]] | None,
    BeforeValidator(parse_vlans, json_schema_input_type=list[int] | list[list[int]] | None),
]
Macs = Annotated[tuple[Mac, ...] | None, BeforeValidator(as_list, json_schema_input_type=str | list[str] | None)]
Pair = Annotated[tuple[Address, ...], Field(min_length=2, max_length=2)]
Segments = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**24)], ...] | None,
    BeforeValidator(as_list, json_schema_input_type=int | list[int] | None),
]
Labels = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**20)], ...] | None,
    BeforeValidator(as_list, json_schema_input_type=int | list[int] | None),
]
Sizes = Annotated[
    tuple[Annotated[str, BeforeValidator(parse_size, json_schema_input_type=int | str)], ...],
    Field(min_length=1),
    BeforeValidator(as_list, json_schema_input_type=int | str | list[int | str]),
]
Rate = Annotated[str, BeforeValidator(number_to_text, json_schema_input_type=str | float)]
Text = Annotated[str, BeforeValidator(number_to_text, json_schema_input_type=str | float)]
Names = Annotated[tuple[str, ...] | None, BeforeValidator(as_list, json_schema_input_type=str | list[str] | None)]
Chain = Annotated[Literal["PVP", "PVVP", "EXT"], BeforeValidator(parse_chain, json_schema_input_type=str)]
Speed = Annotated[
    float | Literal["auto"] | None, BeforeValidator(parse_speed, json_schema_input_type=float | str | None)
]
Loopback = Annotated[Any, BeforeValidator(parse_loopback, json_schema_input_type=bool | int | str)]
