"""Frame sizes of a configuration."""

import itertools
from typing import Literal

from nodrop.config.schema import Config
from nodrop.config.traffic import GENOME_BYTES, IMIX, IMIX_WEIGHTS
from nodrop.errors import ConfigError
from nodrop.model.traffic import SizeShare

SizeOrder = Literal["mixed", "listed"]
SIGNATURE_BYTES, FCS_BYTES = 18, 4
BEHIND_HEADERS_BYTES = SIGNATURE_BYTES + FCS_BYTES


def plan_sizes(config: Config) -> tuple[tuple[SizeShare, ...], SizeOrder]:
    """Return the sizes and their order. Raises ConfigError if several keys set them."""
    traffic = config.traffic
    ways = {"traffic.imix": traffic.imix, "traffic.genome": traffic.genome}
    keys = [key for key, value in ways.items() if value is not None]
    if keys and "frame_bytes" in config.model_fields_set:
        keys.append("frame_bytes")
    if len(keys) > 1:
        raise ConfigError(f"{' and '.join(keys)}: each sets the sizes of all frames; write one of them")
    if traffic.imix is not None:
        return tuple(SizeShare(frame_bytes=size, weight=weight) for size, weight in traffic.imix.items()), "mixed"
    if traffic.genome is not None:
        runs = ((GENOME_BYTES[letter], len(list(same))) for letter, same in itertools.groupby(traffic.genome))
        return tuple(SizeShare(frame_bytes=size, weight=weight) for size, weight in runs), "listed"
    return (SizeShare(frame_bytes=config.frame_bytes),), "mixed"


def find_max_frame_bytes(config: Config) -> int:
    """Return the largest frame size, with FCS. Raises ConfigError as `plan_sizes`."""
    return max(size.frame_bytes for size in plan_sizes(config)[0])


def split_sizes(config: Config) -> tuple[Config, ...]:
    """Return a configuration for every frame size; the same configuration if it has one size.

    Raises: ConfigError if other keys set sizes as well.
    """
    return tuple(_set_frame_size(config, size) for size in config.frame_sizes) or (config,)


def require_one_size(config: Config) -> Config:
    """Return the configuration with its only frame size. Raises ConfigError if there are several."""
    configs = split_sizes(config)
    if len(configs) > 1:
        sizes = ", ".join(map(str, config.frame_sizes))
        raise ConfigError(f"frame_sizes: several sizes where one is possible ({sizes}); write frame_bytes")
    return configs[0]


def name_frame_size(config: Config) -> str:
    """Return the name of a run's frame size: `64`, `IMIX`, `aaafg`, `64:7,594:4`."""
    traffic = config.traffic
    if traffic.replay.file:
        return "replay"
    if traffic.imix is not None:
        return IMIX if traffic.imix == IMIX_WEIGHTS else ",".join(f"{size}:{n}" for size, n in traffic.imix.items())
    return traffic.genome if traffic.genome is not None else str(config.frame_bytes)


def _set_frame_size(config: Config, size: int | str) -> Config:
    """Return the configuration with one of the sizes; `IMIX` is the configured mix if there is one."""
    traffic = config.traffic
    keys = [
        key for key, value in (("traffic.genome", traffic.genome), ("traffic.replay", traffic.replay.file)) if value
    ]
    keys += ["frame_bytes"] if "frame_bytes" in config.model_fields_set else []
    keys += ["traffic.imix"] if traffic.imix is not None and IMIX not in config.frame_sizes else []
    if keys:
        raise ConfigError(f"frame_sizes and {' and '.join(keys)}: each sets the sizes of all frames; write one of them")
    if isinstance(size, int):
        traffic = traffic.replace(imix=None)
        return config.replace(frame_sizes=(), frame_bytes=size, traffic=traffic)
    mix = {"imix": traffic.imix or IMIX_WEIGHTS} if size == IMIX else {"imix": None, "genome": size}
    return config.replace(frame_sizes=(), traffic=traffic.replace(**mix))
