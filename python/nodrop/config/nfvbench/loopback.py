"""NFVbench's key `l2_loopback`: two ports joined to each other, with or without VLANs."""

import re
from typing import NamedTuple

VLAN_MIN, VLAN_MAX = 1, 4094
"""Source: IEEE 802.1Q table 9-2: 0 is a priority tag without a VLAN, 4095 is reserved."""
FORMS = "write true, false, no-tag, or VLANs from 1 to 4094, e.g. 100 or 100,101 or 100,101_200,201"


class Loopback(NamedTuple):
    """Whether the ports are joined, and the tags of the frames between them."""

    on: bool
    tagged: bool | None = None
    """None: as `vlan_tagging`."""
    vlans: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Left and right, one for each chain; None: as `vlans`."""

    def to_plain(self) -> bool | str:
        """Return the value as a user writes it."""
        if self.vlans:
            left, right = (",".join(map(str, side)) for side in self.vlans)
            return left if left == right else f"{left}_{right}"
        return self.on if self.tagged is None else "no-tag"


def parse_loopback(value: object) -> Loopback:
    """Parse `true`, `no-tag`, `100`, `100,101` or `100_200`. Raises ValueError."""
    if isinstance(value, Loopback):
        return value
    if isinstance(value, bool):
        return Loopback(value)
    text = str(value).lower().replace(" ", "") if isinstance(value, (int, str)) else ""
    if text in ("true", "false"):
        return Loopback(text == "true")
    if text == "no-tag":
        return Loopback(on=True, tagged=False)
    sides = [_list_vlans(side, value) for side in text.split("_")]
    if len(sides) > 2:
        raise ValueError(f"{value!r} has {len(sides)} lists of VLANs; {FORMS}")
    left, right = sides[0], sides[-1]
    if len(left) != len(right):
        raise ValueError(f"{value!r} has {len(left)} VLANs left and {len(right)} right; write as many of both")
    return Loopback(on=True, tagged=True, vlans=(left, right))


def _list_vlans(text: str, value: object) -> tuple[int, ...]:
    # the example in NFVbench's manual ends in a comma
    parts = text.removesuffix(",").split(",")
    invalid = [part for part in parts if not re.fullmatch(r"[0-9]{1,4}", part) or not VLAN_MIN <= int(part) <= VLAN_MAX]
    if invalid:
        raise ValueError(f"{value!r} contains {invalid[0]!r}, which is not a VLAN; {FORMS}")
    return tuple(int(part) for part in parts)
