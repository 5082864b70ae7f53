"""Frame sizes, from what was written."""

import itertools
from typing import Literal

from nodrop.config.schema import Config
from nodrop.config.traffic import GENOME_BYTES, IMIX, IMIX_WEIGHTS
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


def find_max_frame_bytes(config: Config) -> int:
    """The largest frame size, with FCS. Raises ConfigError as `plan_sizes`."""
    return max(size.frame_bytes for size in plan_sizes(config)[0])


def split_sizes(config: Config) -> tuple[Config, ...]:
    """The configuration of every frame size that was asked for; itself where there are none.

    Raises: ConfigError when sizes were written in another way besides.
    """
    return tuple(_sized(config, size) for size in config.frame_sizes) or (config,)


def require_one_size(config: Config) -> Config:
    """The configuration of the only frame size. Raises ConfigError when there are several."""
    configs = split_sizes(config)
    if len(configs) > 1:
        sizes = ", ".join(map(str, config.frame_sizes))
        raise ConfigError(f"frame_sizes: {sizes} asked, here there can be one; write frame_bytes")
    return configs[0]


def name_frame_size(config: Config) -> str:
    """The name that a run's frame size goes by: `64`, `IMIX`, `aaafg`, `64:7,594:4`."""
    asked = config.traffic
    if asked.replay.file:
        return "replay"
    if asked.imix is not None:
        return IMIX if asked.imix == IMIX_WEIGHTS else ",".join(f"{size}:{n}" for size, n in asked.imix.items())
    return asked.genome if asked.genome is not None else str(config.frame_bytes)


def _sized(config: Config, size: int | str) -> Config:
    """With one of the sizes. A mix of one's own is what `IMIX` then stands for."""
    asked = config.traffic
    written = [key for key, value in (("traffic.genome", asked.genome), ("traffic.replay", asked.replay.file)) if value]
    written += ["frame_bytes"] if "frame_bytes" in config.model_fields_set else []
    written += ["traffic.imix"] if asked.imix is not None and IMIX not in config.frame_sizes else []
    if written:
        raise ConfigError(
            f"frame_sizes and {' and '.join(written)}: all asked, each says the sizes of all frames; write one of them"
        )
    if isinstance(size, int):
        traffic = asked.model_copy(update={"imix": None})
        return config.model_copy(update={"frame_sizes": (), "frame_bytes": size, "traffic": traffic})
    mix = {"imix": asked.imix or IMIX_WEIGHTS} if size == IMIX else {"imix": None, "genome": size}
    return config.model_copy(update={"frame_sizes": (), "traffic": asked.model_copy(update=mix)})
