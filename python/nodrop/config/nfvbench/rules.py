"""What each of NFVbench's keys becomes here. One rule for keys that act together; the rest are other names."""

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
"""A search may take as long as so many trials: what the profiles allow, in round numbers."""
SEARCH_S_MIN = 180.0


# ---- chains and networks ------------------------------------------------------------------------------------------


@RULES.rule("service_chain vm_forwarder l2_loopback openrc_file clouds_detail", "sut hops openstack.forwarder")
def translate_path(asked: NfvbenchSettings) -> NodropKeys:
    """What is between the tester's ports."""
    config = asked.config
    if config.l2_loopback.on:
        return {"sut": "wire", "hops": 1}
    if config.service_chain == "EXT":
        return {"sut": "ext", "hops": 1}
    hops = 2 if config.service_chain == "PVVP" else 1
    if has_cloud(config):
        return {"sut": "openstack", "hops": hops, "openstack.forwarder": config.vm_forwarder}
    return {"sut": FORWARDERS[config.vm_forwarder], "hops": hops}


@RULES.rule("service_chain_count l2_loopback", "chains")
def translate_chains(asked: NfvbenchSettings) -> NodropKeys:
    """How many there are beside each other."""
    return {"chains": count_chains(asked)} if asked.has("service_chain_count") or asked.config.l2_loopback.on else {}


@RULES.rule(
    "vlan_tagging service_chain_shared_net service_chain_count l2_loopback vxlan mpls vlans "
    "internal_networks.left.segmentation_id internal_networks.right.segmentation_id "
    "internal_networks.left.network_type internal_networks.right.network_type",
    "networks vlans openstack.tagged",
    beside="openrc_file clouds_detail",
)
def translate_networks(asked: NfvbenchSettings) -> NodropKeys:
    """How the tester's two ports are joined to the chains."""
    config, loopback = asked.config, asked.config.l2_loopback
    asks = asked.has("vlan_tagging") and not (config.vxlan or config.mpls)
    tagged = loopback.tagged if loopback.on and loopback.tagged is not None else config.vlan_tagging if asks else None
    vlans = collect_vlans(asked)
    if is_staged(config):
        return _of_cloud(asked, tagged, vlans)
    if tagged is False:
        apart = "shared" if config.service_chain_shared_net or count_chains(asked) > 1 else "ports"
        return {"networks": apart, "vlans": None}
    given = {} if vlans is None else {"vlans": vlans}
    if config.service_chain_shared_net:
        return {"networks": "shared"} | given
    if tagged:
        return {"networks": "vlan"} | given
    return given | ({"networks": "auto"} if asked.has("service_chain_shared_net") else {})


def _of_cloud(asked: NfvbenchSettings, tagged: bool | None, vlans: list[list[int]] | None) -> NodropKeys:
    """The same in a cloud, where networks have VLANs whether the tester sees them or not."""
    is_asked = asked.has("service_chain_shared_net", "vlan_tagging")
    shared = {"networks": "shared" if asked.config.service_chain_shared_net else "auto"} if is_asked else {}
    return (
        shared | ({} if tagged is None else {"openstack.tagged": tagged}) | ({} if vlans is None else {"vlans": vlans})
    )


def count_chains(asked: NfvbenchSettings) -> int:
    """Chains asked for: by number, or else one for each VLAN of a loopback that was asked for after that."""
    loopback = asked.config.l2_loopback
    if loopback.on and loopback.tagged is False:
        return 1
    if loopback.vlans and not asked.in_turn("l2_loopback", "service_chain_count"):
        return len(loopback.vlans[0])
    return asked.config.service_chain_count


def collect_vlans(asked: NfvbenchSettings) -> list[list[int]] | None:
    """VLANs left and right, one for each chain; None where none were given.

    Raises: ValueError when there are fewer than chains.
    """
    config, count = asked.config, count_chains(asked)
    sides: Any = None
    if config.l2_loopback.vlans:
        sides = config.l2_loopback.vlans
    elif asked.has("vlans"):
        with contextlib.suppress(ValueError):  # What is wrong with it is said of nodrop's key of that name.
            sides = parse_vlans(asked.shared.get("vlans"))
    elif not (config.vxlan or config.mpls or is_staged(config)):
        sides = _segments(config, count)
    if not sides:
        return None
    listed = [list(side) for side in sides]
    if config.service_chain_shared_net:
        return [side[:1] for side in listed]
    is_counted = config.l2_loopback.on or asked.has("service_chain_count")
    if is_counted and len(listed[0]) < count:
        raise ValueError(
            f"{len(listed[0])} VLANs left and right asked for {count} chains; write one for each chain, or "
            f"service_chain_count: {len(listed[0])}"
        )
    return [side[:count] for side in listed] if is_counted else listed


def _segments(config: NfvbenchConfig, count: int) -> list[list[int]] | None:
    """VLANs that the networks of the chains are given."""
    sides = [config.internal_networks.left, config.internal_networks.right]
    if any(side.network_type != "vlan" or side.segmentation_id is None for side in sides):
        return None
    return [number_chains(side.segmentation_id or (), count) for side in sides]


def number_chains(given: tuple[int, ...], count: int) -> list[int]:
    """One for each chain; a single one is counted up."""
    return [given[0] + chain for chain in range(count)] if len(given) == 1 else list(given)


RULES.alias("l3_router", "routers")
RULES.alias("idle_interfaces_per_vm", "idle_interfaces")


# ---- addresses, ports, tunnels ------------------------------------------------------------------------------------


def collapse_range(ports: tuple[int, int] | None) -> int | list[int] | None:
    """One port where first and last are the same."""
    return None if ports is None else ports[0] if ports[0] == ports[1] else list(ports)


@RULES.rule("traffic_generator.ip_addrs", "flows.ip")
def translate_ip_networks(asked: NfvbenchSettings) -> NodropKeys:
    """Networks that the traffic comes from and goes to."""
    return {"flows.ip": list(asked.config.traffic_generator.ip_addrs)}


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
def translate_macs(asked: NfvbenchSettings) -> NodropKeys:
    """Destinations of the frames, one for each chain. Raises ValueError when they are given for one side only."""
    left, right = asked.config.traffic_generator.mac_addrs_left, asked.config.traffic_generator.mac_addrs_right
    if left is None and right is None:
        return {"macs": None}
    if left is None or right is None or len(left) != len(right):
        raise ValueError(
            f"{len(left or ())} MAC addresses left and {len(right or ())} right asked; write as many of both"
        )
    return {"macs": [list(left), list(right)]}


@RULES.rule("vxlan mpls", "tunnel.kind")
def translate_tunnel(asked: NfvbenchSettings) -> NodropKeys:
    """What frames are put into. Raises ValueError for two things at once."""
    config = asked.config
    if config.vxlan and config.mpls:
        raise ValueError("vxlan and mpls asked, one of them expected; write vxlan: false or mpls: false")
    return {"tunnel.kind": "vxlan" if config.vxlan else "mpls" if config.mpls else "none"}


RULES.alias("traffic_generator.src_vteps", "tunnel.src_vteps", lambda pair: None if pair is None else list(pair))
RULES.alias("traffic_generator.dst_vtep", "tunnel.dst_vtep")
RULES.alias("traffic_generator.vtep_gateway_ips", "tunnel.gateways", lambda pair: None if pair is None else list(pair))
RULES.alias("traffic_generator.vtep_vlan", "tunnel.vlan")


@RULES.rule(
    "vxlan mpls service_chain_count internal_networks.left.segmentation_id internal_networks.right.segmentation_id",
    "tunnel.vnis tunnel.service_labels",
)
def translate_segments(asked: NfvbenchSettings) -> NodropKeys:
    """What tells the chains apart inside a tunnel."""
    config = asked.config
    kind = "vnis" if config.vxlan else "service_labels" if config.mpls else None
    sides = [config.internal_networks.left.segmentation_id, config.internal_networks.right.segmentation_id]
    if kind is None or None in sides:
        return {}
    return {f"tunnel.{kind}": [number_chains(side or (), count_chains(asked)) for side in sides]}


@RULES.rule(
    "mpls internal_networks.left.mpls_transport_labels internal_networks.right.mpls_transport_labels",
    "tunnel.transport_labels",
)
def translate_transport_labels(asked: NfvbenchSettings) -> NodropKeys:
    """Outer labels left and right, one for each chain."""
    sides = [
        asked.config.internal_networks.left.mpls_transport_labels,
        asked.config.internal_networks.right.mpls_transport_labels,
    ]
    if not asked.config.mpls or None in sides:
        return {}
    return {"tunnel.transport_labels": [list(side or ()) for side in sides]}


# ---- neighbours and checks ----------------------------------------------------------------------------------------


@RULES.rule("no_arp loop_vm_arp l2_loopback", "neighbors.resolve")
def translate_resolve(asked: NfvbenchSettings) -> NodropKeys:
    """Whether MAC addresses are asked for."""
    config = asked.config
    if config.no_arp or config.l2_loopback.on:
        return {"neighbors.resolve": False}
    return {"neighbors.resolve": True if config.loop_vm_arp else None}


@RULES.rule("periodic_gratuitous_arp gratuitous_arp_pps", "neighbors.announce_every")
def translate_announce(asked: NfvbenchSettings) -> NodropKeys:
    """How often the tester announces its addresses."""
    config = asked.config
    return {"neighbors.announce_every": 1 / config.gratuitous_arp_pps if config.periodic_gratuitous_arp else None}


RULES.alias("generic_retry_count", "neighbors.tries", lambda count: min(count, 100))
RULES.alias("generic_poll_sec", "neighbors.timeout", lambda seconds: min(seconds, 60.0))
RULES.alias("no_e2e_check", "path_check", lambda no: not no)
RULES.alias("check_traffic_time_sec", "path_check_timeout")


# ---- traffic and frames -------------------------------------------------------------------------------------------

RULES.alias("traffic.bidirectional", "bidirectional")


@RULES.rule("traffic.profile traffic_profile", "frame_sizes")
def translate_frame_sizes(asked: NfvbenchSettings) -> NodropKeys:
    """The list of frame sizes a profile stands for. Raises ValueError when there is no such profile, or several."""
    name = asked.config.traffic.profile
    profiles = [each for each in asked.config.traffic_profile if each.name == name]
    if len(profiles) != 1:
        names = ", ".join(each.name for each in asked.config.traffic_profile)
        raise ValueError(
            f"the traffic profile {name!r} asked, {len(profiles)} of that name found; traffic_profile has {names}"
        )
    sizes = [size if size == "IMIX" else max(64, int(size)) for size in profiles[0].l2frame_size]
    return {"frame_sizes": list(dict.fromkeys(sizes))}


# ---- rates, searches, latency -------------------------------------------------------------------------------------


@RULES.rule("duration_sec", "duration search.final_trial_duration search.max_duration")
def translate_duration(asked: NfvbenchSettings) -> NodropKeys:
    """How long trials take, and a search at most."""
    config = asked.config
    return {
        "duration": config.duration_sec,
        "search.final_trial_duration": config.duration_sec,
        "search.max_duration": max(SEARCH_S_MIN, SEARCH_TRIALS * (config.duration_sec + config.pause_sec)),
    }


RULES.alias("interval_sec", "interval", lambda seconds: seconds or None)


@RULES.rule("measurement.NDR measurement.PDR", "goals")
def translate_goals(asked: NfvbenchSettings) -> NodropKeys:
    """What to look for: shares here, percent there. Raises ValueError when less loss is asked of PDR than of NDR."""
    measurement = asked.config.measurement
    if measurement.NDR > measurement.PDR:
        raise ValueError(f"NDR {measurement.NDR} % asked, PDR {measurement.PDR} % is less; write a larger PDR")
    return {"goals": {"NDR": measurement.NDR / 100, "PDR": measurement.PDR / 100}}


@RULES.rule("measurement.load_epsilon", "search.width search.load_epsilon")
def translate_width(asked: NfvbenchSettings) -> NodropKeys:
    """How close the bounds have to be. A share of the upper bound is never more than that share of the line rate."""
    ratio = asked.config.measurement.load_epsilon / 100
    return {"search.width": ratio, "search.load_epsilon": ratio}


@RULES.rule("no_latency_streams no_latency_stats", "latency.enabled")
def translate_latency(asked: NfvbenchSettings) -> NodropKeys:
    """Whether latency is measured."""
    return {"latency.enabled": not (asked.config.no_latency_streams or asked.config.no_latency_stats)}


@RULES.rule("lat_percentiles disable_hdrh", "latency.percentiles")
def translate_percentiles(asked: NfvbenchSettings) -> NodropKeys:
    """Which of its percentiles are reported."""
    return {"latency.percentiles": [] if asked.config.disable_hdrh else list(asked.config.lat_percentiles)}


@RULES.rule(f"intf_speed {trex_rules.PROFILES}", "link_speed", beside=trex_rules.CONDITIONS)
def translate_link_speed(asked: NfvbenchSettings) -> NodropKeys:
    """What counts as line rate. Raises ValueError for what a profile calls a speed and is none."""
    speed = asked.config.intf_speed
    if not asked.has("intf_speed"):
        speed = trex_rules.find_speed(find_usable_trex(asked.config))
        if speed is None:
            return {}
    return {"link_speed": None if speed in (None, "auto") else f"{float(speed) / 1e9!r}Gbps"}


@RULES.rule("cores", "engine.cores", beside=f"{trex_rules.PROFILE} {trex_rules.PATH}")
def translate_cores(asked: NfvbenchSettings) -> NodropKeys:
    """CPUs of the engine: the first so many, as far as there are."""
    count = None if find_usable_trex(asked.config) else asked.config.cores
    if not asked.has("cores"):
        return {}
    return {"engine.cores": "auto" if count is None else sorted(os.sched_getaffinity(0))[:count]}


# ---- results ------------------------------------------------------------------------------------------------------

RULES.alias("user_label", "label")
RULES.alias("log_file", "ship.log_file")
RULES.alias("debug", "ship.debug")
RULES.alias("user_id", "ship.user_id")
RULES.alias("group_id", "ship.group_id")


@RULES.rule("fluentd", "ship.fluentd")
def translate_fluentd(asked: NfvbenchSettings) -> NodropKeys:
    """Servers that records are sent to; one without a tag is sent nothing."""
    named = [each for each in asked.config.fluentd if each.logging_tag or each.result_tag]
    return {"ship.fluentd": [each.model_dump() for each in named]}


# ---- OpenStack and TRex ---------------------------------------------------------------------------------------------

RULES.extend(cloud_rules.RULES)
RULES.extend(trex_rules.RULES)
