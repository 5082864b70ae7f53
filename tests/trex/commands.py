# ruff: noqa: ARG001 - methods have one signature, and their names are TRex's
"""The methods of TRex's stateless RPC.

Source: TRex RPC server specification; what servers of v2.59 to v3.08 answer.
"""

import base64
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tests.trex import streams
from tests.trex.capturing import Capture
from tests.trex.machine import ACQUIRED, PAUSED, PROFILE, RELEASED, RESUMED, Machine, enabled
from tests.trex.params import Params
from tests.trex.ports import Port, mac_text
from tests.trex.wire import Refusal

DEFAULT_PROFILE, ALL_PROFILES = "_", "*"
MULTIPLIERS = ("raw", "pps", "bps", "bpsl1", "percentage")
GROUPS_MAX = 1152
INTRUDER = "another-user"

Method = Callable[[Machine, Params], Any]
METHODS: dict[str, Method] = {}
WITHOUT_HANDLE = ("ping", "get_version", "api_sync", "api_sync_v2")
SINCE_5 = ("get_async_events", "get_global_cfg", "set_global_cfg")
UNTIL_5 = ("publish_now",)


def method(function: Method) -> Method:
    """Register a method by name."""
    METHODS[function.__name__] = function
    return function


def handle(machine: Machine, name: str, values: dict[str, Any]) -> Any:
    """Return the result of a request. Raises Refusal."""
    if machine.faults.before(name):
        for port in machine.ports:
            port.acquire(INTRUDER, 1, force=True)
    method = METHODS.get(name)
    if method is None or name not in supported(machine):
        raise Refusal(f"method '{name}' is not registered", -32601)
    params = Params(values)
    if name not in WITHOUT_HANDLE and params.text("api_h") != machine.api_handle:
        raise Refusal("API handler provided mismatch, reconnect to the server")
    return method(machine, params)


def supported(machine: Machine) -> list[str]:
    """Return the methods of this release."""
    left_out = UNTIL_5 if machine.options.api >= (5, 0) else SINCE_5
    return sorted(name for name in METHODS if name not in left_out)


def the_port(machine: Machine, params: Params) -> Port:
    """Return the port of a request."""
    number = params.integer("port_id")
    if number >= len(machine.ports):
        raise Refusal(f"invalid port id - should be between 0 and {len(machine.ports) - 1}", -32602)
    return machine.ports[number]


def own_port(machine: Machine, params: Params) -> Port:
    """Return the port of a request of its owner."""
    port = the_port(machine, params)
    port.check_owner(params)
    return port


def check_profile(params: Params, *others: str) -> None:
    """Accept the default profile only."""
    profile = params.text("profile_id", DEFAULT_PROFILE)
    if profile not in (DEFAULT_PROFILE, *others):
        raise Refusal(f"profile '{profile}' does not exist")


def check_state(machine: Machine, port: Port, *states: str) -> None:
    """Raise Refusal if the port is in none of these states."""
    state = machine.state(port)
    if state not in states:
        raise Refusal(f"port {port.number} is in state {state}, the operation needs {' or '.join(states)}")


@method
def ping(machine: Machine, params: Params) -> Any:
    return {"ts": time.monotonic()}


@method
def get_version(machine: Machine, params: Params) -> Any:
    return {
        "version": machine.version,
        "mode": machine.options.mode,
        "build_date": "Nov 02 2025",
        "build_time": "12:00:00",
        "built_by": "tests",
    }


@method
def api_sync_v2(machine: Machine, params: Params) -> Any:
    name, major, minor = params.text("name"), params.integer("major"), params.integer("minor")
    mine = machine.options.api
    if name != machine.options.mode:
        raise Refusal(f"RPC configuration mismatch - server RPC configuration: '{machine.options.mode}'")
    _check_api(mine, (major, minor))
    return {"api_h": machine.api_handle}


@method
def api_sync(machine: Machine, params: Params) -> Any:
    for requested in params.list("api_vers"):
        its = Params(requested)
        its.text("type")
        _check_api(machine.options.api, (its.integer("major"), its.integer("minor")))
    return {"api_vers": [{"type": "core", "api_h": machine.api_handle}]}


def _check_api(mine: tuple[int, int], requested: tuple[int, int]) -> None:
    versions = f"server: '{mine[0]}.{mine[1]}', client: '{requested[0]}.{requested[1]}'"
    if requested > mine:
        raise Refusal(f"client version is too new to be supported by the server - {versions}")
    if requested[0] < mine[0]:
        raise Refusal(f"a newer client version is required to connect to the server - {versions}")


@method
def get_supported_cmds(machine: Machine, params: Params) -> Any:
    return supported(machine)


@method
def get_system_info(machine: Machine, params: Params) -> Any:
    caps = ["flow_stats", "latency", "rx_bytes"] + (["tpg"] if machine.options.api >= (5, 1) else [])
    ports = [
        {
            "index": port.number,
            "driver": "net_af_packet",
            "description": port.interface,
            "pci_addr": "N/A",
            "numa": -1,
            "hw_mac": mac_text(port.mac),
            "is_virtual": True,
            "is_fc_supported": False,
            "is_led_supported": False,
            "is_link_supported": False,
            "is_prom_supported": True,
            "supp_speeds": [],
            "rx": {"caps": caps, "counters": machine.options.counter_count, "filters": "software"},
        }
        for port in machine.ports
    ]
    return {
        "hostname": "tests",
        "uptime": "0:00:01",
        "core_type": "tests",
        "dp_core_count": machine.options.cores,
        "dp_core_count_per_port": machine.options.cores,
        "advanced_per_stream_stats": False,
        "port_count": len(ports),
        "ports": ports[1::2] + ports[::2],  # unordered, as in real servers
    }


@method
def get_port_status(machine: Machine, params: Params) -> Any:
    params.flag("block", True)
    port = the_port(machine, params)
    return {
        "owner": port.owner,
        "state": machine.state(port),
        "profile_count": 1,
        "max_stream_id": max(port.streams, default=0),
        "service": port.is_service,
        "service_filtered": port.is_filtered,
        "attr": port.attributes(machine.options.speed_gbps),
        "rx_info": {
            "stack": "legacy",
            "queue": {"is_active": port.queue is not None, "size": port.queue_size, "count": len(port.queue or ())},
            "grat_arp": {"is_active": False},
        },
    }


@method
def acquire(machine: Machine, params: Params) -> Any:
    port = the_port(machine, params)
    session = params.integer("session_id", high=2**32 - 1)
    result = port.acquire(params.text("user"), session, force=params.flag("force"))
    if machine.options.api >= (5, 0):
        machine.events.setdefault(session, deque())
    machine.tell(port.number, ACQUIRED)
    return result


@method
def release(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    port.release()
    machine.tell(port.number, RELEASED)
    return {}


@method
def get_owner(machine: Machine, params: Params) -> Any:
    return {"owner": the_port(machine, params).owner}


@method
def add_stream(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_profile(params)
    check_state(machine, port, "IDLE", "STREAMS")
    number = params.integer("stream_id", high=2**32 - 1)
    if number in port.streams:
        raise Refusal(f"stream {number} already exists")
    stream = streams.read(number, params.object("stream"), port.mac, port.dst_mac)
    if stream.count:
        _check_group(machine, stream, stream.count)
    port.streams[number] = stream
    return {}


def _check_group(machine: Machine, stream: streams.TrexStream, count: streams.Count) -> None:
    """A latency counter belongs to one stream only, and any counter to streams of one protocol."""
    same = [
        other
        for port in machine.ports
        for other in port.streams.values()
        if other.count and other.count.pg_id == count.pg_id
    ]
    if same and (count.is_latency or same[0].is_latency):
        raise Refusal(f"packet group {count.pg_id} is in use already; latency streams need one each")
    if any(other.protocol != stream.protocol for other in same):
        raise Refusal("Can't use same pg_id for streams with different l4 protocol")


@method
def remove_stream(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_profile(params)
    check_state(machine, port, "STREAMS")
    machine.remove_streams(port, [params.integer("stream_id")])
    return {}


@method
def remove_all_streams(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_profile(params, ALL_PROFILES)
    check_state(machine, port, "IDLE", "STREAMS")
    if params.text("profile_id", DEFAULT_PROFILE) != ALL_PROFILES:  # like the real server, which answers OK
        machine.remove_streams(port, [*port.streams])
    return {}


@method
def get_profile_list(machine: Machine, params: Params) -> Any:
    the_port(machine, params)
    return [DEFAULT_PROFILE]


@method
def get_stream_list(machine: Machine, params: Params) -> Any:
    return sorted(the_port(machine, params).streams)


@method
def start_traffic(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_profile(params)
    check_state(machine, port, "STREAMS")
    duration_s, force = params.number("duration"), params.flag("force")
    requested = params.object("mul")
    requested.one_of("op", ("abs", "add", "sub"))
    factor = machine.factor(port, requested.one_of("type", MULTIPLIERS), requested.number("value"), force=force)
    params.integer("core_mask", 2**64 - 1)
    if port.is_service and not machine.options.has_software and any(each.count for each in enabled(port)):
        raise Refusal("flow stats are not possible in service mode")
    begin_s = params.number("start_at_ts", 0.0) or None
    machine.start(port, factor, duration_s, begin_s)
    return {"multiplier": factor, "ts": begin_s or time.monotonic()}


@method
def stop_traffic(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_profile(params, ALL_PROFILES)
    machine.stop(port)
    return {}


@method
def pause_traffic(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_state(machine, port, "TX")
    machine.pause(port)
    machine.tell(port.number, PROFILE + PAUSED, PAUSED)
    return {}


@method
def resume_traffic(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_state(machine, port, "PAUSE")
    machine.resume(port, port.multiplier)
    machine.tell(port.number, PROFILE + RESUMED, RESUMED)
    return {}


@method
def update_traffic(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_state(machine, port, "TX")
    requested = params.object("mul")
    factor = machine.factor(
        port, requested.one_of("type", MULTIPLIERS), requested.number("value"), force=params.flag("force")
    )
    machine.pause(port)
    machine.resume(port, factor)
    return {"multiplier": factor}


@method
def remove_rx_filters(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    check_profile(params)
    check_state(machine, port, "IDLE", "STREAMS")
    machine.sender.await_counts()
    port.has_filters = False
    return {}


@method
def get_port_stats(machine: Machine, params: Params) -> Any:
    return machine.port_stats(the_port(machine, params).number)


@method
def get_global_stats(machine: Machine, params: Params) -> Any:
    return machine.global_stats()


@method
def get_utilization(machine: Machine, params: Params) -> Any:
    cpu = [{"ports": [port.number for port in machine.ports], "history": [round(machine.cpu_percent)] * 20}]
    return {"cpu": cpu * machine.options.cores, "mbuf_stats": {}}


@method
def get_port_xstats_names(machine: Machine, params: Params) -> Any:
    the_port(machine, params)
    return {"xstats_names": ["rx_good_packets", "tx_good_packets", "rx_missed_errors"]}


@method
def get_port_xstats_values(machine: Machine, params: Params) -> Any:
    result = machine.port_stats(the_port(machine, params).number)
    return {"xstats_values": [result["ipackets"], result["opackets"], result["ierrors"]]}


@method
def get_active_pgids(machine: Machine, params: Params) -> Any:
    groups = machine.groups.items()
    plain = sorted(pg_id for pg_id, group in groups if not group.is_latency)
    latency = sorted(pg_id for pg_id, group in groups if group.is_latency)
    return {"ids": {"flow_stats": plain or None, "latency": latency or None}}


@method
def get_pgid_stats(machine: Machine, params: Params) -> Any:
    requested = params.list("pgids", [])
    if len(requested) > GROUPS_MAX:
        raise Refusal(f"at most {GROUPS_MAX} ids at once")
    return machine.group_stats(requested)


@method
def service(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    port.is_service = params.flag("enabled")
    port.is_filtered = params.flag("filtered", False)
    if not port.is_service:
        _end_queue(machine, port)
    return {}


@method
def set_rx_feature(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    kind = params.one_of("type", ("queue", "server"))
    is_enabled = params.flag("enabled")
    if kind == "queue" and is_enabled:
        if not port.is_service:
            raise Refusal("setting RX queue is only available under service mode")
        port.queue_size = params.integer("size", low=1)
        port.queue, port.queue_start_s = [], time.monotonic()
        machine.listen(port)
    elif kind == "queue":
        _end_queue(machine, port)
    return {}


def _end_queue(machine: Machine, port: Port) -> None:
    if port.queue is not None:
        machine.ignore(port)
        port.queue, port.queue_size = None, 0


@method
def get_rx_queue_pkts(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    if port.queue is None:
        raise Refusal("RX queue is not active")
    result, port.queue = port.queue, []
    return {"pkts": result}


@method
def push_pkts(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    gap_s = params.number("ipg_usec", 0) / 1e6
    frames = [_pushed(port, Params(single)) for single in params.list("pkts")]
    if gap_s * len(frames) > 1:
        raise Refusal("pushing packets must not take longer than 1 second")
    for frame in frames:
        machine.link.send(port.number, frame)
        time.sleep(gap_s)
    return {"sent": len(frames), "ts": time.monotonic()}


def _pushed(port: Port, params: Params) -> bytes:
    frame = base64.b64decode(params.text("binary"))
    dst = port.dst_mac if params.flag("use_port_dst_mac") else frame[:6]
    src = port.mac if params.flag("use_port_src_mac") else frame[6:12]
    return (dst + src + frame[12:]).ljust(streams.PADDED_BYTES, b"\0")


@method
def capture(machine: Machine, params: Params) -> Any:
    command = params.one_of("command", ("start", "status", "fetch", "stop", "remove"))
    if command == "status":
        return [result.status() for result in machine.captures.values()]
    if command == "start":
        return _start_capture(machine, params)
    number = params.integer("capture_id")
    if number not in machine.captures:
        raise Refusal(f"capture ID {number} does not exist")
    result = machine.captures[number]
    if command == "fetch":
        return result.fetch(params.integer("pkt_limit", low=1))
    if result.is_active:
        result.is_active = False
        for port in result.ports:
            machine.link.ignore(port, result.hear)
    if command == "remove":
        del machine.captures[number]
        return {}
    return {"pkt_count": len(result.frames)}


def _start_capture(machine: Machine, params: Params) -> dict[str, Any]:
    created = Capture.read(params)
    for number in created.ports:
        if number >= len(machine.ports):
            raise Refusal(f"invalid port id {number}")
        if machine.options.api < (4, 7) and not machine.ports[number].is_service:
            raise Refusal(f"port {number} must be under service mode for packet capturing")
    machine.captures[created.number] = created
    for number in created.ports:
        machine.link.listen(number, created.hear)
    return {"capture_id": created.number, "start_ts": created.start_s}


@method
def set_port_attr(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    attributes = params.object("attr")
    if "promiscuous" in attributes:
        port.is_promiscuous = attributes.object("promiscuous").flag("enabled")
    if "multicast" in attributes:
        port.is_multicast = attributes.object("multicast").flag("enabled")
    if "vxlan_fs" in attributes:
        if machine.options.has_software:
            raise Refusal("Error applying vxlan_fs: operation is not supported for this NIC.")
        port.vxlan_ports = attributes.list("vxlan_fs")
    return {}


@method
def set_l2(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    port.dst_mac = bytes.fromhex(params.text("dst_mac").replace(":", ""))
    return {}


@method
def set_l3(machine: Machine, params: Params) -> Any:
    port = own_port(machine, params)
    port.src_ip, port.dst_ip = params.text("src_addr"), params.text("dst_addr")
    if "resolved_mac" in params:
        port.dst_mac = bytes.fromhex(params.text("resolved_mac").replace(":", ""))
    return {}


@method
def set_vlan(machine: Machine, params: Params) -> Any:
    own_port(machine, params).vlans = params.list("vlan")
    return {}


@method
def get_async_events(machine: Machine, params: Params) -> Any:
    params.text("user")
    queue = machine.events.setdefault(params.integer("session_id", high=2**32 - 1), deque())
    result = [*queue]
    queue.clear()
    return {"data": result}


@method
def publish_now(machine: Machine, params: Params) -> Any:
    machine.has_news = True
    return {}


@method
def get_global_cfg(machine: Machine, params: Params) -> Any:
    return {"sched_max_stretch": 0.0}


@method
def get_async_results(machine: Machine, params: Params) -> Any:
    raise Refusal(f"no results of {params.integer('ticket_id')}", -32003)


@method
def shutdown(machine: Machine, params: Params) -> Any:
    user, force = params.text("user"), params.flag("force")
    others = {port.owner for port in machine.ports} - {"", user}
    if others and not force:
        raise Refusal(f"cannot shutdown server - some ports are still acquired by user '{min(others)}'")
    machine.is_ending = True
    return {}
