"""What NFVbench's keys of TRex become: nodrop's under `trex`."""

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
"""What decides which profile is used, and whether it is."""
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
# Neither of NFVbench's two options of TRex is given for `check`, so TRex ends where it finds such interfaces.
RULES.alias("i40e_mixed", "trex.start.i40e_mixed", lambda what: {None: "ignore", "check": "exit"}.get(what, what))


@RULES.rule(PROFILE, "generator trex.ports trex.start.interfaces " + " ".join(PROFILE_KEYS.values()), beside=PATH)
def translate_generator(asked: NfvbenchSettings) -> NodropKeys:
    """TRex where a profile names its ports. Raises ValueError for a profile that cannot be used."""
    config = asked.config
    if asked.has(*PROFILE.split()) and find_profile(config) is None:
        names = ", ".join(each.name for each in config.traffic_generator.generator_profile)
        raise ValueError(
            f"the generator profile {config.traffic_generator.default_profile!r} asked, none of that name found; "
            f"generator_profile has {names or 'none'}"
        )
    trex = find_trex(config)
    if trex is None:
        return {"generator": "engine"} if asked.has(*PROFILE.split()) else {}
    return {
        "generator": "trex",
        "trex.ports": list(range(len(trex.interfaces))),
        "trex.start.interfaces": list(trex.interfaces) if trex.is_local else [],
        **{ours: trex.profile[theirs] for theirs, ours in PROFILE_KEYS.items() if trex.profile.get(theirs) is not None},
    }


@RULES.rule("cores", "trex.start.cores", beside=f"{PROFILE} {PATH}")
def translate_cores(asked: NfvbenchSettings) -> NodropKeys:
    """Those of the command line go before those of the profile."""
    count = asked.config.cores
    return {"trex.start.cores": count} if count is not None and find_usable_trex(asked.config) else {}


@RULES.rule("cache_size", "trex.cache_size", beside="flow_count")
def translate_cache_size(asked: NfvbenchSettings) -> NodropKeys:
    """Below 0 as many as flows; never more than NFVbench takes."""
    size = asked.config.cache_size
    return (
        {"trex.cache_size": min(asked.config.flow_count if size < 0 else size, CACHE_MAX)}
        if asked.has("cache_size")
        else {}
    )


@RULES.rule("service_mode", "capture.file trex.service_mode", beside=f"{PROFILE} {PATH}")
def translate_service_mode(asked: NfvbenchSettings) -> NodropKeys:
    """With nodrop's own engine frames kept in a file, which is what TRex's service mode is for."""
    if not asked.has("service_mode"):
        return {}
    on, is_trex = asked.config.service_mode, find_usable_trex(asked.config) is not None
    return {"capture.file": "service-mode.pcapng" if on and not is_trex else None, "trex.service_mode": on and is_trex}


def find_speed(trex: TrexProfile | None) -> float | Literal["auto"] | None:
    """What a profile says of its ports' speed; None where it says none. Raises ValueError."""
    found = parse_speed(trex.profile.get("intf_speed") or None) if trex else None
    return found if isinstance(found, float) else "auto" if found == "auto" else None
