"""Translation rules from NFVbench's keys to nodrop's: one rule for keys that act together, aliases for the rest."""

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from nodrop.config.nfvbench import cloud_rules, trex_rules
from nodrop.config.nfvbench.rule import NfvbenchSettings, Rules
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.targets import find_usable_trex, has_cloud, is_staged
from nodrop.config.nfvbench.value_types import RANDOM
from nodrop.config.per_side import parse_vlans

NodropKeys = Mapping[str, Any]
RULES = Rules()
FORWARDERS = {"testpmd": "vnf-l2", "vpp": "vnf-l3"}
SEARCH_TRIALS = 40
"""The longest search takes as long as this many trials: the limits of the profiles in round numbers."""
SEARCH_S_MIN = 180.0


# ---- chains and networks ------------------------------------------------------------------------------------------


@RULES.rule("service_chain vm_forwarder l2_loopback openrc_file clouds_detail", "sut hops openstack.forwarder")
def translate_path(settings: NfvbenchSettings) -> NodropKeys:
    """Return the SUT and its forwarders."""
    config = settings.config
    if config.l2_loopback.on:
        return {"sut": "wire", "hops": 1}
    if config.service_chain == "EXT":
        return {"sut": "ext", "hops": 1}
    hops = 2 if config.service_chain == "PVVP" else 1
    if has_cloud(config):
        return {"sut": "openstack", "hops": hops, "openstack.forwarder": config.vm_forwarder}
    return {"sut": FORWARDERS[config.vm_forwarder], "hops": hops}


@RULES.rule("service_chain_count l2_loopback", "chains")
def translate_chains(settings: NfvbenchSettings) -> NodropKeys:
    """Return the number of parallel chains."""
    return (
        {"chains": count_chains(settings)}
        if settings.has("service_chain_count") or settings.config.l2_loopback.on
        else {}
    )


@RULES.rule(
    "vlan_tagging service_chain_shared_net service_chain_count l2_loopback vxlan mpls vlans "
    "internal_networks.left.segmentation_id internal_networks.right.segmentation_id "
    "internal_networks.left.network_type internal_networks.right.network_type",
    "networks vlans openstack.tagged",
    conditions="openrc_file clouds_detail",
)
def translate_networks(settings: NfvbenchSettings) -> NodropKeys:
    """Return how the tester's two ports are joined to the chains."""
    config, loopback = settings.config, settings.config.l2_loopback
    is_set = settings.has("vlan_tagging") and not (config.vxlan or config.mpls)
    tagged = loopback.tagged if loopback.on and loopback.tagged is not None else config.vlan_tagging if is_set else None
    vlans = collect_vlans(settings)
    if is_staged(config):
        return _translate_cloud_networks(settings, tagged, vlans)
    if tagged is False:
        networks = "shared" if config.service_chain_shared_net or count_chains(settings) > 1 else "ports"
        return {"networks": networks, "vlans": None}
    vlan_keys = {} if vlans is None else {"vlans": vlans}
    if config.service_chain_shared_net:
        return {"networks": "shared"} | vlan_keys
    if tagged:
        return {"networks": "vlan"} | vlan_keys
    return vlan_keys | ({"networks": "auto"} if settings.has("service_chain_shared_net") else {})


def _translate_cloud_networks(
    settings: NfvbenchSettings, tagged: bool | None, vlans: list[list[int]] | None
) -> NodropKeys:
    """Return the same for a cloud, where networks have VLANs even if the tester's frames have none."""
    is_set = settings.has("service_chain_shared_net", "vlan_tagging")
    shared = {"networks": "shared" if settings.config.service_chain_shared_net else "auto"} if is_set else {}
    return (
        shared | ({} if tagged is None else {"openstack.tagged": tagged}) | ({} if vlans is None else {"vlans": vlans})
    )


def count_chains(settings: NfvbenchSettings) -> int:
    """Return the number of chains: as set, else one for each VLAN of a loopback that is set later."""
    loopback = settings.config.l2_loopback
    if loopback.on and loopback.tagged is False:
        return 1
    if loopback.vlans and not settings.set_in_order("l2_loopback", "service_chain_count"):
        return len(loopback.vlans[0])
    return settings.config.service_chain_count


def collect_vlans(settings: NfvbenchSettings) -> list[list[int]] | None:
    """Return the VLANs left and right, one for each chain; None if none are set.

    Raises: ValueError when there are fewer than chains.
    """
    config, count = settings.config, count_chains(settings)
    sides: Any = None
    if config.l2_loopback.vlans:
        sides = config.l2_loopback.vlans
    elif settings.has("vlans"):
        with contextlib.suppress(ValueError):  # nodrop's key of the same name reports the error
            sides = parse_vlans(settings.shared.get("vlans"))
    elif not (config.vxlan or config.mpls or is_staged(config)):
        sides = _list_segment_vlans(config, count)
    if not sides:
        return None
    listed = [list(side) for side in sides]
    if config.service_chain_shared_net:
        return [side[:1] for side in listed]
    is_counted = config.l2_loopback.on or settings.has("service_chain_count")
    if is_counted and len(listed[0]) < count:
        raise ValueError(
            f"too few VLANs for {count} chains ({len(listed[0])} on each side); write one for each chain, or "
            f"service_chain_count: {len(listed[0])}"
        )
    return [side[:count] for side in listed] if is_counted else listed


def _list_segment_vlans(config: NfvbenchConfig, count: int) -> list[list[int]] | None:
    """Return the VLANs of the chains' networks."""
    sides = [config.internal_networks.left, config.internal_networks.right]
    if any(side.network_type != "vlan" or side.segmentation_id is None for side in sides):
        return None
    return [number_chains(side.segmentation_id or (), count) for side in sides]


def number_chains(ids: tuple[int, ...], count: int) -> list[int]:
    """Return one ID for each chain; a single one is incremented from chain to chain."""
    return [ids[0] + chain for chain in range(count)] if len(ids) == 1 else list(ids)


RULES.alias("l3_router", "routers")
RULES.alias("idle_interfaces_per_vm", "idle_interfaces")


# ---- addresses, ports, tunnels ------------------------------------------------------------------------------------


def collapse_range(ports: tuple[int, int] | None) -> int | list[int] | None:
    """Return a single port if the first and last are equal."""
    return None if ports is None else ports[0] if ports[0] == ports[1] else list(ports)


RULES.alias("traffic_generator.ip_addrs", "flows.ip", list)
RULES.alias("traffic_generator.ip_addrs_step", "flows.ip_step")
RULES.alias("traffic_generator.ip_src_static", "flows.static_source")
RULES.alias("traffic_generator.udp_src_port", "flows.udp_source", collapse_range)
RULES.alias("traffic_generator.udp_dst_port", "flows.udp_destination", collapse_range)
RULES.alias("traffic_generator.udp_port_step", "flows.udp_step", lambda step: step if step == RANDOM else int(step))
RULES.alias("traffic_generator.tg_gateway_ip_addrs", "gateways.tester", list)
RULES.alias("traffic_generator.tg_gateway_ip_addrs_step", "gateways.tester_step")
RULES.alias("traffic_generator.gateway_ip_addrs", "gateways.sut", list)
RULES.alias("traffic_generator.gateway_ip_addrs_step", "gateways.sut_step")


@RULES.rule("traffic_generator.mac_addrs_left traffic_generator.mac_addrs_right", "macs")
def translate_macs(settings: NfvbenchSettings) -> NodropKeys:
    """Return the destination MAC addresses, one for each chain. Raises ValueError if one side has none."""
    left, right = settings.config.traffic_generator.mac_addrs_left, settings.config.traffic_generator.mac_addrs_right
    if left is None and right is None:
        return {"macs": None}
    if left is None or right is None or len(left) != len(right):
        raise ValueError(f"{len(left or ())} MAC addresses left and {len(right or ())} right; write as many of both")
    return {"macs": [list(left), list(right)]}


@RULES.rule("vxlan mpls", "tunnel.kind")
def translate_tunnel(settings: NfvbenchSettings) -> NodropKeys:
    """Return the tunnel type. Raises ValueError for two types."""
    config = settings.config
    if config.vxlan and config.mpls:
        raise ValueError("vxlan and mpls are both true; write vxlan: false or mpls: false")
    return {"tunnel.kind": "vxlan" if config.vxlan else "mpls" if config.mpls else "none"}


RULES.alias("traffic_generator.src_vteps", "tunnel.src_vteps", lambda pair: None if pair is None else list(pair))
RULES.alias("traffic_generator.dst_vtep", "tunnel.dst_vtep")
RULES.alias("traffic_generator.vtep_gateway_ips", "tunnel.gateways", lambda pair: None if pair is None else list(pair))
RULES.alias("traffic_generator.vtep_vlan", "tunnel.vlan")


@RULES.rule(
    "vxlan mpls service_chain_count internal_networks.left.segmentation_id internal_networks.right.segmentation_id",
    "tunnel.vnis tunnel.service_labels",
)
def translate_segments(settings: NfvbenchSettings) -> NodropKeys:
    """Return the network IDs of the chains inside a tunnel."""
    config = settings.config
    kind = "vnis" if config.vxlan else "service_labels" if config.mpls else None
    sides = [config.internal_networks.left.segmentation_id, config.internal_networks.right.segmentation_id]
    if kind is None or None in sides:
        return {}
    return {f"tunnel.{kind}": [number_chains(side or (), count_chains(settings)) for side in sides]}


@RULES.rule(
    "mpls internal_networks.left.mpls_transport_labels internal_networks.right.mpls_transport_labels",
    "tunnel.transport_labels",
)
def translate_transport_labels(settings: NfvbenchSettings) -> NodropKeys:
    """Return the outer labels left and right, one for each chain."""
    sides = [
        settings.config.internal_networks.left.mpls_transport_labels,
        settings.config.internal_networks.right.mpls_transport_labels,
    ]
    if not settings.config.mpls or None in sides:
        return {}
    return {"tunnel.transport_labels": [list(side or ()) for side in sides]}


# ---- neighbors and checks ----------------------------------------------------------------------------------------


@RULES.rule("no_arp loop_vm_arp l2_loopback", "neighbors.resolve")
def translate_resolve(settings: NfvbenchSettings) -> NodropKeys:
    """Return whether MAC addresses are resolved."""
    config = settings.config
    if config.no_arp or config.l2_loopback.on:
        return {"neighbors.resolve": False}
    return {"neighbors.resolve": True if config.loop_vm_arp else None}


@RULES.rule("periodic_gratuitous_arp gratuitous_arp_pps", "neighbors.announce_every")
def translate_announce(settings: NfvbenchSettings) -> NodropKeys:
    """Return the interval at which the tester announces its addresses."""
    config = settings.config
    return {"neighbors.announce_every": 1 / config.gratuitous_arp_pps if config.periodic_gratuitous_arp else None}


RULES.alias("generic_retry_count", "neighbors.tries", lambda count: min(count, 100))
RULES.alias("generic_poll_sec", "neighbors.timeout", lambda seconds: min(seconds, 60.0))
RULES.alias("no_e2e_check", "path_check", lambda no: not no)
RULES.alias("check_traffic_time_sec", "path_check_timeout")


# ---- traffic and frames -------------------------------------------------------------------------------------------

RULES.alias("traffic.bidirectional", "bidirectional")


@RULES.rule("traffic.profile traffic_profile", "frame_sizes")
def translate_frame_sizes(settings: NfvbenchSettings) -> NodropKeys:
    """Return the frame sizes of a profile. Raises ValueError unless exactly one profile has the name."""
    name = settings.config.traffic.profile
    profiles = [each for each in settings.config.traffic_profile if each.name == name]
    if len(profiles) != 1:
        names = ", ".join(each.name for each in settings.config.traffic_profile)
        raise ValueError(
            f"{len(profiles)} traffic profiles are named {name!r}, expected one; use one of traffic_profile: {names}"
        )
    return {"frame_sizes": list(profiles[0].frame_sizes)}


# ---- rates, searches, latency -------------------------------------------------------------------------------------


@RULES.rule("duration_sec", "duration search.final_trial_duration search.max_duration")
def translate_duration(settings: NfvbenchSettings) -> NodropKeys:
    """Return the duration of trials, and the longest duration of a search."""
    config = settings.config
    return {
        "duration": config.duration_sec,
        "search.final_trial_duration": config.duration_sec,
        "search.max_duration": max(SEARCH_S_MIN, SEARCH_TRIALS * (config.duration_sec + config.pause_sec)),
    }


RULES.alias("interval_sec", "interval", lambda seconds: seconds or None)


@RULES.rule("measurement.NDR measurement.PDR", "goals")
def translate_goals(settings: NfvbenchSettings) -> NodropKeys:
    """Return the goals, percentages converted to ratios. Raises ValueError if PDR allows less loss than NDR."""
    measurement = settings.config.measurement
    if measurement.NDR > measurement.PDR:
        raise ValueError(f"PDR ({measurement.PDR} %) is below NDR ({measurement.NDR} %); write a larger PDR")
    return {"goals": {"NDR": measurement.NDR / 100, "PDR": measurement.PDR / 100}}


@RULES.rule("measurement.load_epsilon", "search.width search.load_epsilon")
def translate_width(settings: NfvbenchSettings) -> NodropKeys:
    """Return the width of the bounds. A ratio of the upper bound is never more than the same ratio of the line rate."""
    ratio = settings.config.measurement.load_epsilon / 100
    return {"search.width": ratio, "search.load_epsilon": ratio}


RULES.derive(
    "no_latency_streams no_latency_stats",
    "latency.enabled",
    lambda config: not (config.no_latency_streams or config.no_latency_stats),
)
RULES.derive(
    "lat_percentiles disable_hdrh",
    "latency.percentiles",
    lambda config: [] if config.disable_hdrh else list(config.lat_percentiles),
)


@RULES.rule(f"intf_speed {trex_rules.PROFILES}", "link_speed", conditions=trex_rules.CONDITIONS)
def translate_link_speed(settings: NfvbenchSettings) -> NodropKeys:
    """Return the line rate. Raises ValueError if a profile's speed is invalid."""
    speed = settings.config.intf_speed
    if not settings.has("intf_speed"):
        speed = trex_rules.find_speed(find_usable_trex(settings.config))
        if speed is None:
            return {}
    return {"link_speed": None if speed in (None, "auto") else f"{float(speed) / 1e9!r}Gbps"}


@RULES.rule("cores", "engine.cores", conditions=f"{trex_rules.PROFILE} {trex_rules.PATH}")
def translate_cores(settings: NfvbenchSettings) -> NodropKeys:
    """Return the CPUs of the engine: the first of those available."""
    count = None if find_usable_trex(settings.config) else settings.config.cores
    if not settings.has("cores"):
        return {}
    return {"engine.cores": "auto" if count is None else sorted(os.sched_getaffinity(0))[:count]}


# ---- results ------------------------------------------------------------------------------------------------------

RULES.alias("user_label", "label")
RULES.alias("log_file", "ship.log_file")
RULES.alias("debug", "ship.debug")
RULES.alias("user_id", "ship.user_id")
RULES.alias("group_id", "ship.group_id")


RULES.alias(  # a server without a tag receives nothing
    "fluentd",
    "ship.fluentd",
    lambda servers: [each.model_dump() for each in servers if each.logging_tag or each.result_tag],
)


# ---- OpenStack and TRex ---------------------------------------------------------------------------------------------

RULES.extend(cloud_rules.RULES)
RULES.extend(trex_rules.RULES)
