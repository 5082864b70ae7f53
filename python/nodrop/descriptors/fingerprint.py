"""Hashes of the halves of a host descriptor, by their values only."""

import hashlib
import json
from typing import Any

from nodrop.model.chd import HostCapabilities, HostDescriptor, HostResources

OBSERVATION_KEYS = frozenset({"source", "confidence", "at", "why"})
"""Keys of an observation besides its value."""
METADATA_KEYS = frozenset({"captured_at", "sha256"})
VOLATILE_KEYS = frozenset({"current_mhz", "used_bps", "virtual_interface_count"})
"""Capabilities that change from moment to moment, although hosts of a type share the rest."""


def compute_fingerprint(half: HostCapabilities | HostResources) -> str:
    """Return the SHA-256 of a half's values, independent of time and source.

    Input is canonical JSON: sorted keys, no whitespace, observations reduced to their values, without times, hashes and
    volatile capabilities.
    """
    ignored_keys = METADATA_KEYS | VOLATILE_KEYS if isinstance(half, HostCapabilities) else METADATA_KEYS
    values = _reduce_to_values(half.model_dump(mode="json"), ignored_keys)
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def add_fingerprints(host: HostDescriptor) -> HostDescriptor:
    """Return the host with the hash of each half."""
    halves = {
        name: half.replace(sha256=compute_fingerprint(half))
        for name, half in (("capabilities", host.capabilities), ("resources", host.resources))
    }
    return host.replace(**halves)


def _reduce_to_values(content: Any, ignored_keys: frozenset[str]) -> Any:
    if isinstance(content, dict):
        if content.keys() == OBSERVATION_KEYS | {"value"}:
            return content["value"]
        return {
            key: _reduce_to_values(value, ignored_keys) for key, value in content.items() if key not in ignored_keys
        }
    if isinstance(content, list):
        return [_reduce_to_values(each, ignored_keys) for each in content]
    return content
