"""What NFVbench's `l2_loopback` may say: two ports joined to one another, with or without VLANs."""

import re
from typing import NamedTuple

VLAN_MIN, VLAN_MAX = 1, 4094
"""Source: IEEE 802.1Q table 9-2: 0 is a priority without a VLAN, 4095 is reserved."""
FORMS = "write true, false, no-tag, or VLANs from 1 to 4094, as 100 or 100,101 or 100,101_200,201"


class Loopback(NamedTuple):
    """Whether the ports are joined to one another, and what the frames between them carry."""

    on: bool
    tagged: bool | None = None
    """None: as `vlan_tagging` says."""
    vlans: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Left and right, one for each chain; None: as `vlans` says."""

    def written(self) -> bool | str:
        """As a user writes it."""
        if self.vlans:
            left, right = (",".join(map(str, side)) for side in self.vlans)
            return left if left == right else f"{left}_{right}"
        return self.on if self.tagged is None else "no-tag"


def parse_loopback(written: object) -> Loopback:
    """What `true`, `no-tag`, `100`, `100,101` or `100_200` ask for. Raises ValueError."""
    if isinstance(written, Loopback):
        return written
    if isinstance(written, bool):
        return Loopback(written)
    text = str(written).lower().replace(" ", "") if isinstance(written, (int, str)) else ""
    if text in ("true", "false"):
        return Loopback(text == "true")
    if text == "no-tag":
        return Loopback(on=True, tagged=False)
    sides = [_vlans(side, written) for side in text.split("_")]
    if len(sides) > 2:
        raise ValueError(f"{written!r} asked, {len(sides)} lists of VLANs found; {FORMS}")
    left, right = sides[0], sides[-1]
    if len(left) != len(right):
        raise ValueError(
            f"{written!r} asked, {len(left)} VLANs left and {len(right)} right found; write as many of both"
        )
    return Loopback(on=True, tagged=True, vlans=(left, right))


def _vlans(text: str, written: object) -> tuple[int, ...]:
    # The manual's own example ends in a comma.
    parts = text.removesuffix(",").split(",")
    wrong = [part for part in parts if not re.fullmatch(r"[0-9]{1,4}", part) or not VLAN_MIN <= int(part) <= VLAN_MAX]
    if wrong:
        raise ValueError(f"{written!r} asked, {wrong[0]!r} is not a VLAN; {FORMS}")
    return tuple(int(part) for part in parts)
