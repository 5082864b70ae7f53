"""Hashes of the halves of a host's descriptor, by its values alone."""

import hashlib
import json
from typing import Any

from nodrop.model.chd import HostCapabilities, HostDescriptor, HostResources

ABOUT = frozenset({"source", "confidence", "at", "why"})
"""What an observation says of its value."""
OWN = frozenset({"captured_at", "sha256"})
MOMENTARY = frozenset({"current_mhz", "used_bps", "virtual_interface_count"})
"""Of the capabilities, which hosts of a type have in common: what is another the next moment."""


def fingerprint(half: HostCapabilities | HostResources) -> str:
    """SHA-256 of a half's values: the same whenever and however they were found.

    Of canonical JSON: keys sorted, nothing between tokens, of each observation its value, no times and no hash; of
    capabilities nothing that is another the next moment.
    """
    left_out = OWN | MOMENTARY if isinstance(half, HostCapabilities) else OWN
    values = _values(half.model_dump(mode="json"), left_out)
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def with_fingerprints(host: HostDescriptor) -> HostDescriptor:
    """The same host, with the hash of each half in it."""
    halves = {
        name: half.model_copy(update={"sha256": fingerprint(half)})
        for name, half in (("capabilities", host.capabilities), ("resources", host.resources))
    }
    return host.model_copy(update=halves)


def _values(content: Any, left_out: frozenset[str]) -> Any:
    if isinstance(content, dict):
        if content.keys() == ABOUT | {"value"}:
            return content["value"]
        return {key: _values(value, left_out) for key, value in content.items() if key not in left_out}
    if isinstance(content, list):
        return [_values(each, left_out) for each in content]
    return content
