"""Value types of NFVbench's configuration; values that NFVbench silently misreads are rejected."""

import ipaddress
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nodrop.config.nfvbench.loopback import parse_loopback
from nodrop.config.per_side import convert_number_to_text, parse_mac, parse_vlans
from nodrop.units import parse_bps, parse_count, parse_percent, parse_seconds

PORT_MAX = 65535
SPEED_BPS_MAX = 1e13
RANDOM = "random"


def parse_address(value: object) -> str:
    """Parse an IPv4 address. Raises ValueError."""
    try:
        return str(ipaddress.IPv4Address(_convert_to_text(value)))
    except ValueError:
        raise ValueError(f"{value!r} is not an IPv4 address; write for example 192.168.1.1") from None


def parse_network(value: object) -> str:
    """Parse an IPv4 network, ignoring host bits. Raises ValueError."""
    try:
        return str(ipaddress.IPv4Network(_convert_to_text(value), strict=False))
    except ValueError:
        raise ValueError(f"{value!r} is not an IPv4 network; write for example 10.0.0.0/8") from None


def parse_step(value: object) -> str:
    """Parse the step between addresses: `0.0.0.1` or the equivalent integer. Raises ValueError."""
    try:
        number = ipaddress.IPv4Address(value if isinstance(value, int) else _convert_to_text(value))
    except ValueError:
        number = ipaddress.IPv4Address(0)
    if isinstance(value, bool) or not int(number):
        raise ValueError(f"{value!r} is not a step; write for example 0.0.0.1")
    return str(number)


def parse_step_or_random(value: object) -> str:
    """Parse a step between addresses, or `random`. Raises ValueError."""
    if isinstance(value, str) and value.lower() == RANDOM:
        return RANDOM
    try:
        return parse_step(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a step; write for example 0.0.0.1, or random") from None


def parse_port_step(value: object) -> str:
    """Parse the step between UDP ports, or `random`. Raises ValueError."""
    if isinstance(value, str) and value.lower() == RANDOM:
        return RANDOM
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= PORT_MAX:
        raise ValueError(f"{value!r} is not a step; write 1 to {PORT_MAX}, or random")
    return str(int(text))


def parse_ports(value: object) -> object:
    """Parse a UDP port, or the first and last port of a range. Raises ValueError."""
    if value is None:
        return None
    items = value if isinstance(value, (list, tuple)) else [value]
    try:
        ports = tuple(_parse_integer(port) for port in items)
    except ValueError:
        ports = ()
    if len(ports) not in (1, 2) or not all(1 <= port <= PORT_MAX for port in ports) or ports[0] > ports[-1]:
        raise ValueError(f"{value!r} is not a UDP port or range; write 1 to {PORT_MAX}, e.g. 53 or [1024, 2048]")
    return ports[0], ports[-1]


def parse_size(value: object) -> str:
    """Parse a frame size as NFVbench names it: `64` or `IMIX`. Raises ValueError."""
    text = str(value).upper() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if text != "IMIX" and not re.fullmatch(r"[0-9]{1,5}", text):
        raise ValueError(f"{value!r} is not a frame size; write bytes with FCS, e.g. 64, or IMIX")
    return text


def wrap_list(value: object) -> object:
    """Return a single value as a list."""
    return value if value is None or isinstance(value, (list, tuple)) else [value]


def parse_chain(value: object) -> object:
    """Return the name of a service chain in upper case."""
    return value.upper() if isinstance(value, str) else value


def parse_speed(value: object) -> object:
    """Parse a speed to bits per second, or `auto`. Raises ValueError."""
    if value is None or (isinstance(value, str) and value.lower() == "auto"):
        return value if value is None else "auto"
    if isinstance(value, str) and not value.lower().rstrip().endswith("bps"):
        raise ValueError(f"{value!r} is not a speed; write for example 10Gbps, or auto")
    speed_bps = parse_bps(value)
    if not 0 < speed_bps <= SPEED_BPS_MAX:
        raise ValueError(f"{value!r} is not the speed of an interface; write for example 10Gbps, or auto")
    return speed_bps


def _convert_to_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _parse_integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(value)
    return int(value)


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
Macs = Annotated[tuple[Mac, ...] | None, BeforeValidator(wrap_list, json_schema_input_type=str | list[str] | None)]
Pair = Annotated[tuple[Address, ...], Field(min_length=2, max_length=2)]
Segments = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**24)], ...] | None,
    BeforeValidator(wrap_list, json_schema_input_type=int | list[int] | None),
]
Labels = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**20)], ...] | None,
    BeforeValidator(wrap_list, json_schema_input_type=int | list[int] | None),
]
Sizes = Annotated[
    tuple[Annotated[str, BeforeValidator(parse_size, json_schema_input_type=int | str)], ...],
    Field(min_length=1),
    BeforeValidator(wrap_list, json_schema_input_type=int | str | list[int | str]),
]
Rate = Annotated[str, BeforeValidator(convert_number_to_text, json_schema_input_type=str | float)]
Text = Annotated[str, BeforeValidator(convert_number_to_text, json_schema_input_type=str | float)]
Names = Annotated[tuple[str, ...] | None, BeforeValidator(wrap_list, json_schema_input_type=str | list[str] | None)]
Chain = Annotated[Literal["PVP", "PVVP", "EXT"], BeforeValidator(parse_chain, json_schema_input_type=str)]
Speed = Annotated[
    float | Literal["auto"] | None, BeforeValidator(parse_speed, json_schema_input_type=float | str | None)
]
Loopback = Annotated[Any, BeforeValidator(parse_loopback, json_schema_input_type=bool | int | str)]
