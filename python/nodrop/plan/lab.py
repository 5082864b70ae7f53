"""The lab of a plan: chains of forwarders between tester ports, and the switches and routers around them."""

import collections
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.config.pool import PoolConfig
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import SutKind
from nodrop.model.lab_plan import (
    AccessPort,
    Antagonist,
    Balancer,
    CloudShape,
    EdgeSwitch,
    Forwarder,
    ForwarderPort,
    LabPlan,
    Link,
    LinkEnd,
    PathRouter,
    Route,
    ScaleOut,
)
from nodrop.plan import addressing
from nodrop.plan.bras import check_lab_tables, plan_tables
from nodrop.plan.chain_ends import ChainEnd, find_tester_mac, plan_chain_ends
from nodrop.plan.chain_networks import SIDES, WITHOUT_EDGE_SWITCH, choose_networks, plan_vlans
from nodrop.plan.policer import plan_policer
from nodrop.plan.resolvers import TesterPorts
from nodrop.rates import FixedRate, parse_rate
from nodrop.units import format_bytes, format_count, format_pps

ETHERNET_BYTES = 18
"""Header and FCS, which the MTU excludes."""
ETHERNET_MTU_BYTES, LEAST_MTU_BYTES = 1500, 68
"""MTU of the lab's links, and the smallest MTU required of external links (RFC 791)."""
CHAINABLE_SUTS: frozenset[SutKind] = frozenset({"vnf-l2", "vnf-l3", "bridge", "openstack"})
"""SUTs that can be connected in series."""
VNF_SUTS: frozenset[SutKind] = frozenset({"vnf-l2", "vnf-l3", "vnf-bras", "pool"})
"""SUTs whose process receives and sends each frame."""
PINNABLE_SUTS: frozenset[SutKind] = VNF_SUTS | {"ovs"}
"""SUTs with a process that can be bound to a CPU."""
ROUTING_SUTS: frozenset[SutKind] = frozenset({"vnf-l3", "router"})
"""SUTs with IP addresses and routes."""
PROCESS_SUTS: frozenset[SutKind] = VNF_SUTS | {"xdp"}
"""SUTs whose forwarders are processes."""
TABLES_MEMORY_RATIO = 0.5
"""Largest share of a machine's memory for the tables of VNFs."""
QUEUE_SLOTS, QUEUE_SLOTS_MIN = 4096, 512
"""Default queue of a VNF's port in frames: smaller with many chains, each of which has less load."""
CHAINS_WITH_FULL_QUEUES = 8
ROUTER_LINK = addressing.OF_ROUTER, addressing.BEHIND_ROUTER
"""Stations on the link between a path router and a chain."""


def plan_private_lab(config: Config, available: Sequence[int], largest: int, tester: TesterPorts) -> LabPlan:
    """Return the lab to bring up for a configuration.

    Args:
        config: the configuration.
        available: CPUs that nodrop may use.
        largest: the largest frame size.
        tester: existing ports of the tester.

    Raises: ConfigError.
    """
    networks = choose_networks(config)
    # a wire between named interfaces is external
    is_external = config.sut == "wire" and bool(tester.names)
    sut = "ext" if is_external else config.sut
    lab = LabPlan(
        sut=sut,
        networks=networks,
        chain_count=config.chains,
        vlans=plan_vlans(config, networks),
        tester_interfaces=_list_tester_interfaces(config, networks, tester),
        tester_macs=tester.macs,
        sut_interfaces=(),
        forwarders=(),
        mtu_bytes=max(ETHERNET_MTU_BYTES if not tester.names else LEAST_MTU_BYTES, largest - ETHERNET_BYTES),
        sut_backend="af_xdp" if config.vnf.backend == "af_xdp" and config.sut in VNF_SUTS else "af_packet",
        sut_queue_slots=config.vnf.queue_slots or _compute_queue_slots(config.chains),
        sut_capacity_pps=config.vnf.capacity,
        sut_buffer_count=config.vnf.buffer,
        sut_policer=plan_policer(config, largest),
        sut_table_bytes=config.vnf.table,
        sut_pages=config.vnf.pages,
        sut_memory_node=config.vnf.memory_node,
        sut_softirq_core=config.vnf.softirq_core,
        takes_addressed_ports=config.allow_addressed_ports,
        sut_pids=config.sut_pids,
        sut_cgroups=config.sut_cgroups,
        tester_is_here=config.generator == "engine",
        cloud=_build_cloud_shape(config),
        bras=plan_tables(config) if sut == "vnf-bras" else None,
    )
    built = lab if config.sut in WITHOUT_EDGE_SWITCH else _Builder(config, lab, _Cores(config, available)).build()
    return built.replace(antagonists=tuple(_list_antagonists(config, built, available)))


def _build_cloud_shape(config: Config) -> CloudShape | None:
    if config.sut != "openstack":
        return None
    return CloudShape(forwarder=config.openstack.forwarder, hop_count=config.hops, has_routers=config.routers)


def check_persistent_lab(config: Config, existing: LabPlan, largest: int) -> LabPlan:
    """Return the existing lab if the configuration fits it. Raises ConfigError."""
    for key, requested, actual in (
        ("sut", config.sut, existing.sut),
        ("chains", config.chains, existing.chain_count),
        ("hops", config.hops, existing.hop_count),
        ("networks", config.networks, existing.networks),
    ):
        if key in config.model_fields_set and requested not in (actual, "auto"):
            raise ConfigError(
                f"{key}: lab {config.lab} has {actual} ({requested}); remove {key}, or bring up another lab: nodrop "
                f"lab up --{key} {requested} --name ANOTHER"
            )
    if existing.bras and config.workload != "bras":
        raise ConfigError(f"workload: lab {config.lab} is a BRAS, which forwards no other frames; write workload: bras")
    if existing.bras:
        check_lab_tables(config, existing.bras)
    if config.vnf.capacity not in (None, existing.sut_capacity_pps):
        raise ConfigError(
            f"vnf.capacity: lab {config.lab} has another limit or none ({format_pps(config.vnf.capacity)}); remove "
            "vnf.capacity, or bring up another lab with it"
        )
    if plan_policer(config, largest) not in (None, existing.sut_policer):
        raise ConfigError(
            f"vnf.policer: lab {config.lab} has another policer or none; remove vnf.policer, or bring up another lab "
            "with it"
        )
    if existing.sut_policer and largest > existing.sut_policer.frame_bytes_max:
        raise ConfigError(
            f"frame_bytes: too large for the policer of lab {config.lab} ({largest}, at most "
            f"{existing.sut_policer.frame_bytes_max}); use smaller frames, or bring up another lab"
        )
    if config.antagonist.kind != "none":
        raise ConfigError(
            f"antagonist.kind: lab {config.lab} was brought up without antagonists ({config.antagonist.kind}); remove "
            "lab"
        )
    if largest > existing.mtu_bytes + ETHERNET_BYTES:
        raise ConfigError(
            f"frame_bytes: too large for lab {config.lab} ({largest}, at most {existing.mtu_bytes + ETHERNET_BYTES}); "
            "use smaller frames, or remove lab to bring up one that fits"
        )
    if existing.sut in ROUTING_SUTS:
        _check_addresses(config, existing)
    return existing


def list_lab_warnings(lab: LabPlan) -> Iterator[str]:
    """Yield reasons to doubt figures measured in a lab."""
    vnfs = _count_cores(forwarder.core for forwarder in lab.forwarders if lab.sut != "ovs")
    edges = _count_cores(edge.core for edge in lab.edges)
    for core in sorted(vnfs | edges):
        counts = (vnfs[core], "VNF", "VNFs"), (edges[core], "edge switch", "edge switches")
        sharing = [format_count(*count) for count in counts if count[0]]
        if vnfs[core] + edges[core] > 1:
            yield (
                f"{' and '.join(sharing)} share CPU {core}: each has part of it, and queues may overflow while a "
                "process waits; use a machine with more CPUs to measure chains"
            )


def check_core(key: str, core: int, available: Sequence[int]) -> None:
    """Raise ConfigError unless nodrop may use a CPU."""
    if core not in available:
        listed = ", ".join(map(str, available))
        raise ConfigError(
            f"{key}: CPU not available to nodrop ({core}, available: {listed}); name an available one, auto or none"
        )


def check_lab(config: Config) -> None:
    """Raise ConfigError for keys that no lab supports."""
    _check_table(config)
    if config.sut == "openstack" and config.generator == "engine" and not config.ports:
        raise ConfigError(
            "ports: missing, sut: openstack is reached through local interfaces or a TRex server; write the two "
            "interfaces connected to the cloud, e.g. [eth1, eth2], or generator: trex"
        )
    if config.hops > 1 and config.sut not in CHAINABLE_SUTS:
        raise ConfigError(
            f"hops: {config.sut} does not form chains ({config.hops}); write hops: 1, or use one of "
            f"{', '.join(sorted(CHAINABLE_SUTS))}"
        )
    if config.sut == "pool":
        _check_pool(config)
    if config.routers and config.sut not in ("vnf-l3", "ext", "openstack"):
        raise ConfigError(
            f"routers: {config.sut} does not answer neighboring routers (true); write sut: vnf-l3, or remove routers"
        )
    if config.vnf.capacity and (config.sut not in VNF_SUTS or config.ports):
        raise ConfigError(
            f"vnf.capacity: {config.sut} has no configurable limit ({format_pps(config.vnf.capacity)}); write sut: "
            f"{' or '.join(sorted(VNF_SUTS))}, or remove it"
        )
    if config.vnf.buffer and not config.vnf.capacity:
        raise ConfigError(
            f"vnf.buffer: an ideal queue needs a rate ({config.vnf.buffer} frames); set vnf.capacity, or remove it"
        )
    for key in ("table", "memory_node", "softirq_core"):
        requested = getattr(config.vnf, key)
        if requested is not None and (config.sut not in VNF_SUTS or config.ports):
            raise ConfigError(
                f"vnf.{key}: not applicable to {config.sut} ({requested}); write sut: {' or '.join(sorted(VNF_SUTS))}, "
                "or remove it"
            )
    if config.idle_interfaces and config.sut not in (*PROCESS_SUTS, "openstack"):
        raise ConfigError(
            f"idle_interfaces: {config.sut} has no VNFs ({config.idle_interfaces}); write 0, or use one of "
            f"{', '.join(sorted(PROCESS_SUTS))}, openstack"
        )
    if config.ports and config.sut not in WITHOUT_EDGE_SWITCH:
        raise ConfigError(
            f"ports: {config.sut} is brought up between ports of its own ({', '.join(config.ports)}); write sut: ext "
            "to measure the system between these ports, or remove ports"
        )
    _check_sut_processes(config)
    for side, macs in enumerate(config.macs or ()):
        if len(macs) != config.chains:
            raise ConfigError(
                f"macs[{side}]: {format_count(len(macs), 'MAC address', 'MAC addresses')} for "
                f"{format_count(config.chains, 'chain')}, each chain has one on the {SIDES[side]}; write "
                f"{config.chains}"
            )


def _list_antagonists(config: Config, lab: LabPlan, available: Sequence[int]) -> Iterator[Antagonist]:
    """Yield noisy neighbors on the configured CPUs, or on those of the SUT. Raises ConfigError."""
    kind, requested = config.antagonist.kind, config.antagonist.cores
    if kind == "none":
        return
    if lab.sut in ("ext", "openstack"):
        raise ConfigError(
            f"antagonist.kind: not possible with a SUT that is external or remote ({kind}); remove antagonist"
        )
    cores = requested if not isinstance(requested, str) else tuple(_count_cores(each.core for each in lab.forwarders))
    if not cores:
        raise ConfigError(
            f"antagonist.cores: {lab.sut} is bound to no CPU ({requested}); name CPUs, e.g. antagonist.cores=[0]"
        )
    if len(set(cores)) < len(cores):
        raise ConfigError(f"antagonist.cores: duplicate CPU ({', '.join(map(str, cores))}); name each CPU once")
    for core in cores:
        check_core("antagonist.cores", core, available)
        yield Antagonist(kind=kind, core=core)


def _check_pool(config: Config) -> None:
    for key, requested, default in (
        ("chains", config.chains, 1),
        ("networks", config.networks, "ports"),
        ("idle_interfaces", config.idle_interfaces, 0),
    ):
        if requested not in (default, "auto"):
            raise ConfigError(
                f"{key}: a pool is one chain of parallel instances between two tester ports ({requested}); remove "
                f"{key}, or set pool.instances"
            )
    if config.pool.scale_out_loss is None:
        if config.pool.scale_in_rate is not None:
            raise ConfigError(
                "pool.scale_in_rate: the pool does not scale out; write for example pool.scale_out_loss: 1%"
            )
        return
    if not isinstance(parse_rate(config.rate), FixedRate):
        raise ConfigError(
            f"pool.scale_out_loss: in a search the capacity of a pool does not change (rate: {config.rate}); write a "
            "fixed rate, e.g. rate: 2kpps"
        )
    if not config.pool.spares:
        raise ConfigError("pool.scale_out_loss: the pool has no spares to start; write for example pool.spares: 1")


def _plan_scale_out(pool: PoolConfig) -> ScaleOut | None:
    if pool.scale_out_loss is None:
        return None
    return ScaleOut(loss_ratio=pool.scale_out_loss, delay_s=pool.scale_out_delay, scale_in_pps=pool.scale_in_rate)


def _check_sut_processes(config: Config) -> None:
    for key in ("sut_pids", "sut_cgroups"):
        named = getattr(config, key)
        if named and (config.sut != "ext" or config.lab):
            requested = f"lab {config.lab}" if config.lab else f"sut: {config.sut}"
            raise ConfigError(
                f"{key}: nodrop knows the processes of {requested} ({', '.join(map(str, named))}); remove {key}, or "
                "write sut: ext to measure a system that runs already"
            )


def _check_table(config: Config) -> None:
    """Raise ConfigError if the tables of all VNFs leave too little memory."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    count = config.chains * config.hops
    most_bytes = int(memory_bytes * TABLES_MEMORY_RATIO) // count
    if config.vnf.table and config.vnf.table > most_bytes:
        raise ConfigError(
            f"vnf.table: tables of {format_count(count, 'VNF')} exceed half of this machine's memory "
            f"({format_bytes(config.vnf.table)} each, {format_bytes(memory_bytes)} in total); write "
            f"{format_bytes(most_bytes)} or less"
        )


def _check_addresses(config: Config, existing: LabPlan) -> None:
    """Raise ConfigError if a routing lab leads to other networks than the configured ones."""
    for ends in plan_chain_ends(config, existing):
        forwarders = existing.of_chain(ends[0].chain)
        outer = forwarders[0].ports[0], forwarders[-1].ports[1]
        if existing.routers:
            outer = existing.routers[0].ports[ends[0].chain][0], existing.routers[1].ports[ends[0].chain][0]
        for end, port in zip(ends, outer, strict=True):
            vias = {4: end.tester_ips[0], 6: end.tester_ips[1]}
            required = {(str(network), vias[network.version]) for network in end.networks}
            if port.addresses != end.sut_ips or required - {(route.prefix, route.via) for route in port.routes}:
                raise ConfigError(
                    f"flows.ip and gateways: lab {config.lab} was brought up with other addresses; remove these keys, "
                    "or lab to bring up one that fits"
                )


def _list_tester_interfaces(config: Config, networks: str, tester: TesterPorts) -> tuple[str, ...]:
    count = 2 * config.chains if networks == "ports" else 2
    if config.sut not in ("ext", "openstack") and not tester.names:
        return tuple(f"tester{port}" for port in range(count))
    if len(tester.names) != count:
        names = ", ".join(tester.names) or "none"
        what = "ports of TRex" if config.generator == "trex" else "interfaces"
        raise ConfigError(
            f"{tester.key}: wrong number of ports ({names}), {format_count(config.chains, 'chain')} with networks: "
            f"{networks} need {count}; name {count} {what}, alternating left and right"
        )
    if len(set(tester.names)) != count:
        raise ConfigError(f"{tester.key}: duplicate port ({', '.join(tester.names)}); name different ones")
    return tester.names


def _compute_queue_slots(chain_count: int) -> int:
    slots = QUEUE_SLOTS
    while slots > QUEUE_SLOTS_MIN and slots * chain_count > QUEUE_SLOTS * CHAINS_WITH_FULL_QUEUES:
        slots //= 2
    return slots


class _Place(NamedTuple):
    """The CPU of a process, and whether it shares the CPU."""

    core: int | None
    yields: bool


class _Cores:
    """CPUs of the lab's processes: the last one, then those before it, repeatedly; never the tester's first."""

    def __init__(self, config: Config, available: Sequence[int]) -> None:
        self._requested = config.vnf.core if config.sut in PINNABLE_SUTS else "none"
        self._available = list(available)
        if isinstance(self._requested, int):
            check_core("vnf.core", self._requested, available)

    def places(self, count: int) -> list[_Place]:
        """Return CPUs for processes that forward at the same time."""
        if isinstance(self._requested, int):
            return [_Place(self._requested, count > 1)] * count
        cpus = self._available[1:][::-1]
        shared = count > len(cpus)
        if self._requested == "none" or not cpus:
            return [_Place(None, shared and count > 1)] * count
        return [_Place(cpus[position % len(cpus)], shared) for position in range(count)]


class _Station(NamedTuple):
    """The station at one end of a link inside the lab."""

    mac: str
    ips: tuple[str, ...]

    @classmethod
    def inside(cls, end: int, kind: int) -> "_Station":
        return cls(addressing.build_inner_mac(end, kind), addressing.build_inner_ips(end, kind))


class _Builder:
    """Builds a lab, chain by chain."""

    def __init__(self, config: Config, lab: LabPlan, cores: _Cores) -> None:
        self._config = config
        self._lab = lab
        self._hops = config.hops
        self._idle_count = config.idle_interfaces
        self._routed = config.routers
        self._ends = plan_chain_ends(config, lab)
        edge_count = 0 if lab.networks == "ports" else len(SIDES)
        # edge switches come first: if CPUs suffice, each has its own
        self._cores = cores
        places = cores.places(edge_count + lab.chain_count * config.hops)
        self._edge_places, self._places = places[:edge_count], places[edge_count:]
        self._links: list[Link] = []

    def build(self) -> LabPlan:
        lab, sides = self._lab, range(len(SIDES))
        if lab.sut == "pool":
            return self._build_pool()
        edges = tuple(self._build_edge(side) for side in sides) if self._edge_places else ()
        routers = tuple(self._build_router(side) for side in sides) if self._routed else ()
        forwarders = tuple(self._list_forwarders())
        return lab.replace(
            sut_interfaces=tuple(f"sut{port}" for port in range(len(lab.tester_interfaces))),
            links=tuple(self._links),
            edges=edges,
            routers=routers,
            forwarders=forwarders,
        )

    def _build_edge(self, side: int) -> EdgeSwitch:
        shared = self._lab.networks == "shared"
        core, yields = self._edge_places[side]
        ports = []
        for chain, ends in enumerate(self._ends):
            end = ends[side]
            near = f"edge{chain}{SIDES[side][0]}"
            self._link("sut", near, SIDES[side] if self._routed else "sut", self._get_outer_interface(end))
            vlan = end.tags[0].id if end.tags else None
            mac = addressing.build_sut_mac(addressing.get_end_index(chain, side)) if shared else None
            ports.append(AccessPort(interface=near, chain=chain, vlan=vlan, mac=mac))
        return EdgeSwitch(trunk=f"sut{side}", ports=tuple(ports), core=core, yields=yields)

    def _build_pool(self) -> LabPlan:
        """Return a lab with parallel forwarders behind a balancer."""
        pool = self._config.pool
        count = pool.instances + pool.spares
        balancer_place, *places = self._cores.places(1 + count)
        instances = []
        for position, place in enumerate(places):
            ports = []
            for side, end in enumerate(self._ends[0]):
                name = f"vnf{position}{SIDES[side][0]}"
                self._link("sut", f"pool{position}{SIDES[side][0]}", "sut", name)
                ports.append(self._build_tester_side(end).replace(interface=name))
            instances.append(Forwarder(ports=(ports[0], ports[1]), core=place.core, yields=place.yields))
        balancer = Balancer(
            trunks=("sut0", "sut1"),
            ports=tuple((f"pool{position}l", f"pool{position}r") for position in range(count)),
            running_count=pool.instances,
            probe_interval_ms=max(1, round(pool.probe_interval * 1000)),
            probe_misses=pool.probe_misses,
            selection=pool.selection,
            move_delay_ms=round(pool.move_delay * 1000),
            move_interval_ms=round(pool.move_interval * 1000),
            scale_out=_plan_scale_out(pool),
            core=balancer_place.core,
            yields=balancer_place.yields,
        )
        return self._lab.replace(
            sut_interfaces=balancer.trunks, links=tuple(self._links), balancer=balancer, forwarders=tuple(instances)
        )

    def _build_router(self, side: int) -> PathRouter:
        """Return a router for all chains of a side, which reaches each chain through the next hop on the chain's
        link."""
        pairs = []
        for chain, ends in enumerate(self._ends):
            place, letter = addressing.get_end_index(chain, side), SIDES[side][0]
            self._link(SIDES[side], f"in{chain}{letter}", "sut", f"vnf{chain}{letter}")
            station, chain_place = (_Station.inside(place, kind) for kind in ROUTER_LINK)
            inwards = _build_port(f"in{chain}{letter}", station, chain_place, ends[1 - side])
            pairs.append((self._build_tester_side(ends[side]), inwards))
        return PathRouter(namespace=SIDES[side], ports=tuple(pairs))

    def _list_forwarders(self) -> Iterator[Forwarder]:
        for chain, ends in enumerate(self._ends):
            outer = [
                self._build_port_behind_router(end) if self._routed else self._build_tester_side(end) for end in ends
            ]
            if self._hops > 1:
                near, far = (self._build_middle_port(ends, side) for side in range(2))
                self._link("sut", near.interface, "sut", far.interface)
                pairs = [(outer[0], near), (far, outer[1])]
            else:
                pairs = [(outer[0], outer[1])]
            for hop, ports in enumerate(pairs):
                position = chain * self._hops + hop
                core, yields = self._places[position]
                idle = tuple(self._list_idle_interfaces(position))
                yield Forwarder(chain=chain, ports=ports, core=core, yields=yields, idle_interfaces=idle)

    def _build_tester_side(self, end: ChainEnd) -> ForwarderPort:
        station = _Station(addressing.build_sut_mac(addressing.get_end_index(end.chain, end.side)), end.sut_ips)
        return _build_port(
            self._get_outer_interface(end), station, _Station(find_tester_mac(self._lab, end.port), end.tester_ips), end
        )

    def _build_port_behind_router(self, end: ChainEnd) -> ForwarderPort:
        place = addressing.get_end_index(end.chain, end.side)
        router, station = (_Station.inside(place, kind) for kind in ROUTER_LINK)
        return _build_port(f"vnf{end.chain}{SIDES[end.side][0]}", station, router, end)

    def _build_middle_port(self, ends: tuple[ChainEnd, ChainEnd], side: int) -> ForwarderPort:
        """Return the port of a forwarder on the link to the chain's other forwarder, which leads to the networks of the
        opposite side."""
        near, far = (addressing.get_end_index(ends[0].chain, one) for one in (side, 1 - side))
        station, peer = (_Station.inside(place, addressing.BETWEEN) for place in (near, far))
        return _build_port(f"inner{near}", station, peer, ends[1 - side])

    def _get_outer_interface(self, end: ChainEnd) -> str:
        """Return the interface towards the tester of a chain, or of the router before it."""
        if self._lab.networks == "ports":
            return f"sut{end.port}"
        return f"chain{end.chain}{SIDES[end.side][0]}"

    def _list_idle_interfaces(self, position: int) -> Iterator[str]:
        for number in range(self._idle_count):
            name = f"idle{position}-{number}"
            self._link("sut", name, "sut", f"net{position}-{number}")
            yield name

    def _link(self, near_namespace: str, near: str, far_namespace: str, far: str) -> None:
        near_end = LinkEnd(namespace=near_namespace, interface=near)
        self._links.append(Link(near=near_end, far=LinkEnd(namespace=far_namespace, interface=far)))


def _build_port(interface: str, station: _Station, peer: _Station, behind: ChainEnd) -> ForwarderPort:
    """Return a port that leads, through its neighbor, to the networks behind one end of its chain."""
    vias = {4: peer.ips[0], 6: peer.ips[1]}
    return ForwarderPort(
        interface=interface,
        mac=station.mac,
        peer_mac=peer.mac,
        addresses=station.ips,
        routes=tuple(Route(prefix=str(network), via=vias[network.version]) for network in behind.networks),
    )


def _count_cores(cores: Iterator[int | None]) -> collections.Counter[int]:
    return collections.Counter(core for core in cores if core is not None)
