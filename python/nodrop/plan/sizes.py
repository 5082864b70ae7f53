"""Frame sizes, from what was written."""

import itertools
from typing import Literal

from nodrop.config.schema import Config
from nodrop.config.traffic import GENOME_BYTES
from nodrop.errors import ConfigError
from nodrop.model.traffic import SizeShare

SizeOrder = Literal["mixed", "listed"]


def plan_sizes(config: Config) -> tuple[tuple[SizeShare, ...], SizeOrder]:
    """The sizes and in which order they come. Raises ConfigError when they were written in two ways."""
    asked = config.traffic
    ways = {"traffic.imix": asked.imix, "traffic.genome": asked.genome}
    written = [key for key, value in ways.items() if value is not None]
    if written and "frame_bytes" in config.model_fields_set:
        written.append("frame_bytes")
    if len(written) > 1:
        raise ConfigError(f"{' and '.join(written)}: both asked, each says the sizes of all frames; write one of them")
    if asked.imix is not None:
        return tuple(SizeShare(frame_bytes=size, weight=weight) for size, weight in asked.imix.items()), "mixed"
    if asked.genome is not None:
        runs = ((GENOME_BYTES[letter], len(list(same))) for letter, same in itertools.groupby(asked.genome))
        return tuple(SizeShare(frame_bytes=size, weight=weight) for size, weight in runs), "listed"
    return (SizeShare(frame_bytes=config.frame_bytes),), "mixed"


def frame_bytes_max(config: Config) -> int:
    """The largest frame size, with FCS. Raises ConfigError as `plan_sizes`."""
    return max(size.frame_bytes for size in plan_sizes(config)[0])
