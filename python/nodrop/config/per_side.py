"""Values that each chain has on the left and on the right."""

import re
from collections.abc import Sequence


def parse_mac(written: object) -> str:
    """A MAC address in lower case with colons, from `AA:BB:CC:DD:EE:FF` or `aa-bb-cc-dd-ee-ff`. Raises ValueError."""
    text = written.lower().replace("-", ":") if isinstance(written, str) else ""
    if not re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", text):
        raise ValueError(f"{written!r} is not a MAC address; write for example 02:00:00:00:00:01")
    return text


def parse_macs(written: object) -> object:
    """MAC addresses left and right, `[[02:..., ...], [02:..., ...]]`, or one each. Raises ValueError."""
    sides = _sides(written, "MAC addresses", "[[02:00:00:00:00:01], [02:00:00:00:00:02]]")
    return sides and tuple(tuple(parse_mac(mac) for mac in side) for side in sides)


def parse_vlans(written: object) -> object:
    """VLANs left and right, `[[100, 101], [200, 201]]`, or one each, `[100, 200]`. Raises ValueError."""
    return _sides(written, "VLANs", "[[100, 101], [200, 201]], or [100, 200] for one chain")


def number_to_text(written: object) -> object:
    """A number as the text it was written as."""
    return str(written) if isinstance(written, (int, float)) and not isinstance(written, bool) else written


def _sides(written: object, what: str, example: str) -> tuple[Sequence[object], Sequence[object]] | None:
    """As many left as right; None when there are none."""
    if written in (None, [], (), ""):
        return None
    if not isinstance(written, (list, tuple)) or len(written) != 2:
        raise ValueError(f"{written!r} is not {what} left and right; write {example}")
    left, right = (side if isinstance(side, (list, tuple)) else [side] for side in written)
    if len(left) != len(right) or not left:
        raise ValueError(f"{written!r} has {len(left)} {what} left and {len(right)} right; write as many of both")
    return left, right
