"""The configuration of a run in NFVbench's keys: defaults, then configured values, then values of the plan."""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nodrop.config.nfvbench.schema import CUSTOM_PROFILE, NfvbenchConfig
from nodrop.export.nfvbench.counts import is_forward
from nodrop.export.nfvbench.per_chain import name_generator
from nodrop.model.layer import Ipv4, Mpls, Udp, Vlan, Vxlan
from nodrop.model.plan import Plan, count_flows, is_bidirectional, name_frame_size, name_path
from nodrop.model.result import RunResult
from nodrop.model.traffic import FieldRange, ListedValues, RandomValues, Stream

PROFILES = {
    ("64",): "traffic_profile_64B",
    ("IMIX",): "traffic_profile_IMIX",
    ("1518",): "traffic_profile_1518B",
    ("64", "IMIX", "1518"): "traffic_profile_3sizes",
}
"""NFVbench's own profiles by frame sizes."""
TRAFFIC_KEYS = ("traffic", "traffic_profile")
IPV4_MAX, PORT_MAX = 2**32 - 1, 2**16 - 1


def build_config(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Build all of NFVbench's keys as used in these runs, with the keys that NFVbench adds in results."""
    plan = runs[0].plan
    defaults = _to_plain(NfvbenchConfig().model_dump(mode="json")) | {"l2_loopback": False}
    config = _merge(
        _merge(defaults, {"traffic_generator": build_address_keys(plan.traffic.streams)}), _to_plain(plan.nfvbench)
    )
    return _merge(config, _derive_keys(plan)) | _build_added_keys(runs) | _build_speed_keys(runs)


def find_profile_name(runs: Sequence[RunResult]) -> str:
    """Return the configured traffic profile if it lists the frame sizes, or NFVbench's name for them."""
    sizes = tuple(name_frame_size(run.plan) for run in runs)
    written = runs[0].plan.nfvbench
    config = NfvbenchConfig.model_validate({key: written[key] for key in TRAFFIC_KEYS if key in written})
    return config.traffic.profile if config.lists_frame_sizes(sizes) else PROFILES.get(sizes, CUSTOM_PROFILE)


def _derive_keys(plan: Plan) -> dict[str, Any]:
    layers = [layer for stream in plan.traffic.streams for layer in stream.layers]
    goals = {goal.label: round(100 * goal.loss_ratio, 9) for goal in plan.search.goals}
    tagged = any(isinstance(layer, Vlan) for layer in layers)
    return {
        "service_chain": name_path(plan),
        "service_chain_count": plan.lab.chain_count,
        "service_chain_shared_net": plan.lab.networks == "shared",
        "l2_loopback": plan.lab.sut == "wire",
        "l3_router": bool(plan.lab.routers) or (plan.lab.cloud is not None and plan.lab.cloud.has_routers),
        "flow_count": count_flows(plan),
        "rate": plan.fixed.asked if plan.fixed else "_".join(goals).lower(),
        "duration_sec": _to_plain(plan.fixed.duration_s if plan.fixed else plan.search.final_trial_duration_s),
        "interval_sec": _to_plain(plan.interval_s or 0),
        "lat_percentiles": _to_plain(plan.percentiles),
        "measurement": {key: _to_plain(goals[key]) for key in ("NDR", "PDR") if key in goals and not plan.fixed}
        | {"load_epsilon": _to_plain(round(100 * plan.search.width_ratio, 9))},
        "traffic": {"bidirectional": is_bidirectional(plan)},
        "vlan_tagging": tagged,
        "vlans": [list(side) for side in zip(*plan.lab.vlans, strict=True)],
        "vxlan": any(isinstance(layer, Vxlan) for layer in layers),
        "mpls": any(isinstance(layer, Mpls) for layer in layers),
        "no_traffic": plan.no_traffic,
        "no_e2e_check": not plan.path_check,
        "user_label": plan.label,
        "user_info": plan.user_info or None,
    }


def _build_added_keys(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Return the keys that NFVbench adds to the configuration in its results."""
    plan = runs[0].plan
    searched = [] if plan.fixed or plan.no_traffic else [goal.label.upper() for goal in plan.search.goals]
    return {
        "frame_sizes": [name_frame_size(run.plan) for run in runs],
        "generator_profile": _find_generator_name(plan),
        "ndr_run": "NDR" in searched,
        "pdr_run": "PDR" in searched,
        "single_run": plan.fixed is not None,
        "json": plan.nfvbench.get("json"),
        "json_file": plan.nfvbench.get("json"),
        "std_json_path": plan.nfvbench.get("std_json"),
        "tg-name": _find_generator_name(plan),
        "tg-tool": name_generator(plan),
    }


def _find_generator_name(plan: Plan) -> str:
    """Return the configured profile of TRex, or the name of the generator."""
    if not plan.trex:
        return name_generator(plan)
    generators = plan.nfvbench.get("traffic_generator")
    return str((generators.get("default_profile") if isinstance(generators, Mapping) else None) or "trex-local")


def _build_speed_keys(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Return line rate and cores as used, and the speed of the tester's interfaces where all are equal."""
    plan, facts = runs[0].plan, runs[0].facts
    ports = [port for port in facts.stage.interfaces if port.namespace == "tester"] if facts else []
    detected = {port.link_speed_bps for port in ports}
    return {
        "cores_used": plan.trex.start.cores if plan.trex and plan.trex.start else max(1, len(plan.engine.cores)),
        "intf_speed_used": plan.link_speed_bps,
        "intf_speed_detected": detected.pop() if len(detected) == 1 else None,
    }


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings recursively; other values are replaced."""
    merged = dict(below)
    for key, value in above.items():
        previous = merged.get(key)
        merged[key] = _merge(previous, value) if isinstance(previous, dict) and isinstance(value, Mapping) else value
    return merged


def _to_plain(value: Any) -> Any:
    """Convert a value to NFVbench's form: integers without a decimal point, tuples as lists."""
    if isinstance(value, Mapping):
        return {str(key): _to_plain(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(below) for below in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def build_address_keys(streams: Sequence[Stream]) -> dict[str, Any]:
    """Build `ip_addrs` and UDP ports of streams; none for traffic other than UDP over IPv4."""
    if not all(_find_layer_position(stream, Ipv4) and _find_layer_position(stream, Udp) for stream in streams):
        return {}
    left_addresses: list[ipaddress.IPv4Address] = []
    right_addresses: list[ipaddress.IPv4Address] = []
    for stream in streams:
        source, destination = (
            (left_addresses, right_addresses) if is_forward(stream) else (right_addresses, left_addresses)
        )
        source.extend(_iter_addresses(stream, "src"))
        destination.extend(_iter_addresses(stream, "dst"))
    return {
        "ip_addrs": [_find_network(left_addresses), _find_network(right_addresses)],
        "udp_src_port": _collect_ports(streams, "src_port"),
        "udp_dst_port": _collect_ports(streams, "dst_port"),
    }


def _find_layer_position(stream: Stream, kind: type[Ipv4] | type[Udp]) -> int | None:
    """Return the position of the innermost header of a kind, counted from 1."""
    return max((place for place, layer in enumerate(stream.layers, 1) if isinstance(layer, kind)), default=None)


def _iter_ends(stream: Stream, kind: type[Ipv4] | type[Udp], field: str) -> Iterator[str | int]:
    """Yield the first and last value of a field, or the listed values."""
    place = (_find_layer_position(stream, kind) or 1) - 1
    first = getattr(stream.layers[place], field)
    ranges = [part for part in stream.ranges if part.layer == place and part.field == field]
    if ranges and isinstance(ranges[0].values, ListedValues):
        yield from ranges[0].values.values
        return
    yield first
    if ranges:
        number = int(ipaddress.IPv4Address(first)) if kind is Ipv4 else int(first)
        last = min(number + _compute_value_range(ranges[0]), IPV4_MAX if kind is Ipv4 else PORT_MAX)
        yield str(ipaddress.IPv4Address(last)) if kind is Ipv4 else last


def _compute_value_range(part: FieldRange) -> int:
    """Return the distance of the last value from the first."""
    if isinstance(part.values, RandomValues):
        return part.values.span - 1
    return (part.values.count - 1) * getattr(part.values, "step", 1)


def _iter_addresses(stream: Stream, field: str) -> Iterator[ipaddress.IPv4Address]:
    yield from (ipaddress.IPv4Address(value) for value in _iter_ends(stream, Ipv4, field))


def _find_network(addresses: Iterable[ipaddress.IPv4Address]) -> str:
    """Return the smallest network that contains all addresses."""
    numbers = [int(address) for address in addresses]
    prefix = 32 - (min(numbers) ^ max(numbers)).bit_length()
    return str(ipaddress.IPv4Network((min(numbers), prefix), strict=False))


def _collect_ports(streams: Sequence[Stream], field: str) -> int | list[int]:
    ports = [int(port) for stream in streams for port in _iter_ends(stream, Udp, field)]
    return ports[0] if min(ports) == max(ports) else [min(ports), max(ports)]
