"""Translation rules from NFVbench's TRex keys to nodrop's section `trex`."""

from collections.abc import Mapping
from typing import Any, Literal

from nodrop.config.nfvbench.rule import NfvbenchSettings, Rules
from nodrop.config.nfvbench.targets import TrexProfile, find_profile, find_trex, find_usable_trex
from nodrop.config.nfvbench.value_types import parse_speed

NodropKeys = Mapping[str, Any]
RULES = Rules()
PROFILES, CHOICE = "traffic_generator.generator_profile", "traffic_generator.default_profile"
PROFILE = f"{PROFILES} {CHOICE}"
PATH = "service_chain l2_loopback openrc_file clouds_detail"
CONDITIONS = f"{CHOICE} {PATH}"
"""Keys that decide which profile is used, and whether it is used."""
CACHE_MAX = 10_000
PROFILE_KEYS = {
    "ip": "trex.host",
    "zmq_rpc_port": "trex.rpc_port",
    "zmq_pub_port": "trex.publish_port",
    "cores": "trex.start.cores",
    "software_mode": "trex.start.software",
    "limit_memory": "trex.start.memory",
    "platform": "trex.start.platform",
}
"""Keys of a profile, and nodrop's."""

RULES.alias("restart", "trex.start.restart")
RULES.alias("mbuf_64", "trex.start.mbuf_64")
RULES.alias("mbuf_factor", "trex.start.mbuf_factor")
RULES.alias("disable_hdrh", "trex.histograms", lambda no: not no)
RULES.alias("no_flow_stats", "trex.flow_stats", lambda no: not no)
# For `check` NFVbench passes neither of its two options, so TRex exits if it finds such interfaces.
RULES.alias("i40e_mixed", "trex.start.i40e_mixed", lambda action: {None: "ignore", "check": "exit"}.get(action, action))


@RULES.rule(PROFILE, "generator trex.ports trex.start.interfaces " + " ".join(PROFILE_KEYS.values()), conditions=PATH)
def translate_generator(settings: NfvbenchSettings) -> NodropKeys:
    """Return TRex if a profile names its ports. Raises ValueError for an invalid profile."""
    config = settings.config
    if settings.has(*PROFILE.split()) and find_profile(config) is None:
        names = ", ".join(each.name for each in config.traffic_generator.generator_profile)
        raise ValueError(
            f"no generator profile is named {config.traffic_generator.default_profile!r}; use one of "
            f"generator_profile: {names or 'none'}"
        )
    trex = find_trex(config)
    if trex is None:
        return {"generator": "engine"} if settings.has(*PROFILE.split()) else {}
    return {
        "generator": "trex",
        "trex.ports": list(range(len(trex.interfaces))),
        "trex.start.interfaces": list(trex.interfaces) if trex.is_local else [],
        **{key: trex.profile[name] for name, key in PROFILE_KEYS.items() if trex.profile.get(name) is not None},
    }


@RULES.rule("cores", "trex.start.cores", conditions=f"{PROFILE} {PATH}")
def translate_cores(settings: NfvbenchSettings) -> NodropKeys:
    """Return the number of cores; the command line overrides the profile."""
    count = settings.config.cores
    return {"trex.start.cores": count} if count is not None and find_usable_trex(settings.config) else {}


@RULES.rule("cache_size", "trex.cache_size", conditions="flow_count")
def translate_cache_size(settings: NfvbenchSettings) -> NodropKeys:
    """Return the cache size: the flow count if negative, at most NFVbench's maximum."""
    size = settings.config.cache_size
    return (
        {"trex.cache_size": min(settings.config.flow_count if size < 0 else size, CACHE_MAX)}
        if settings.has("cache_size")
        else {}
    )


@RULES.rule("service_mode", "capture.file trex.service_mode", conditions=f"{PROFILE} {PATH}")
def translate_service_mode(settings: NfvbenchSettings) -> NodropKeys:
    """Return service mode for TRex, or a capture file for nodrop's engine: both keep frames for analysis."""
    if not settings.has("service_mode"):
        return {}
    on, is_trex = settings.config.service_mode, find_usable_trex(settings.config) is not None
    return {"capture.file": "service-mode.pcapng" if on and not is_trex else None, "trex.service_mode": on and is_trex}


def find_speed(trex: TrexProfile | None) -> float | Literal["auto"] | None:
    """Return the speed of a profile's ports; None if it sets none. Raises ValueError."""
    speed = parse_speed(trex.profile.get("intf_speed") or None) if trex else None
    return speed if isinstance(speed, float) else "auto" if speed == "auto" else None
