"""What is to be staged in a cloud for a configuration: networks, VMs and routers, each named, to the last port."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.config.openstack import DEFAULT_NETWORKS, ROLES_WITHOUT_CHAIN, NetworkConfig
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.cloud import (
    CloudFlavor,
    CloudImage,
    CloudLogin,
    CloudNetwork,
    CloudPlan,
    CloudPort,
    CloudRoute,
    CloudRouter,
    CloudServer,
    NetworkKind,
    NetworkRole,
    VnicType,
)
from nodrop.model.lab_plan import LabPlan
from nodrop.plan import addressing, cloud_addresses
from nodrop.plan.chain_ends import ChainEnd, plan_chain_ends, tester_mac
from nodrop.plan.chain_networks import uses_cloud
from nodrop.plan.cloud_addresses import EDGES, INNER, cidr, outer_role
from nodrop.plan.cloud_check import check_cloud
from nodrop.plan.resolvers import ReadFlavor

MULTIQUEUE = {"hw_vif_multiqueue_enabled": "true"}
"""Property of images whose guests use several queues.
Source: https://docs.openstack.org/glance/latest/admin/useful-image-properties.html"""


def plan_cloud(config: Config, lab: LabPlan, read_flavor: ReadFlavor) -> CloudPlan | None:
    """Everything that is to stand in a cloud, or only to be found there; None where no cloud is asked for.

    Raises: ConfigError.
    """
    if not uses_cloud(config):
        return None
    check_cloud(config)
    asked = config.openstack
    login = CloudLogin(cloud=asked.cloud, openrc=None if asked.cloud else asked.openrc)
    if config.sut == "ext":
        return CloudPlan(login=login, label=asked.label, networks=tuple(_external(config)), poll_s=asked.poll)
    zone, hosts = choose_hosts(config)
    built = _Builder(config, lab)
    return CloudPlan(
        login=login,
        label=asked.label,
        image=CloudImage(
            name=asked.image.name, file=asked.image.file, properties=MULTIQUEUE if asked.multiqueue > 1 else {}
        ),
        flavor=_flavor(config, read_flavor),
        networks=tuple(built.networks()),
        servers=tuple(built.servers()),
        routers=tuple(built.routers()) if config.routers else (),
        server_group=asked.server_group,
        availability_zone=zone,
        hosts=hosts,
        same_host=asked.server_group not in ("anti-affinity", "soft-anti-affinity"),
        multiqueue=asked.multiqueue,
        mbuf_count=asked.mbufs,
        tester_macs=_tester_macs(config, lab),
        active_timeout_s=asked.active_timeout,
        poll_s=asked.poll,
        keep=asked.keep,
    )


def choose_hosts(config: Config) -> tuple[str | None, tuple[str, ...]]:
    """Availability zone and compute hosts, out of `host`, `zone:` and `zone:host`. Raises ConfigError."""
    written = config.openstack.hosts or ()
    parts = [each.rpartition(":")[::2] for each in ((written,) if isinstance(written, str) else written)]
    zones = {zone for zone, _ in parts if zone} | {zone for zone in (config.openstack.availability_zone,) if zone}
    hosts = tuple(host for _, host in parts if host)
    if len(zones) > 1:
        raise ConfigError(
            f"openstack.hosts: {' and '.join(sorted(zones))} asked, VMs of a run are in one availability "
            "zone; write one"
        )
    return next(iter(zones), None), hosts


def _flavor(config: Config, read_flavor: ReadFlavor) -> CloudFlavor:
    asked = config.openstack.flavor
    if asked.vmd is not None:
        return read_flavor(asked.vmd, asked.host).model_copy(update={"name": asked.name})
    return CloudFlavor(
        name=asked.name, vcpus=asked.vcpus, ram_mib=asked.ram, disk_gib=asked.disk, extra_specs=asked.extra_specs
    )


def _tester_macs(config: Config, lab: LabPlan) -> tuple[str, str]:
    """Where VMs send frames to: the tester's ports, or what stands for them inside of tunnels."""
    left, right = (tester_mac(lab, lab.port(0, side)) for side in range(2))
    if config.tunnel.kind == "none":
        return left, right
    return addressing.inner_station_mac(left), addressing.inner_station_mac(right)


def _external(config: Config) -> Iterator[CloudNetwork]:
    """Networks that others made, one a side for each chain or for all."""
    asked = config.openstack.external
    shared = config.networks == "shared"
    for role, written in (("left", asked.left), ("right", asked.right)):
        if isinstance(written, tuple) and len(written) < (1 if shared else config.chains):
            raise ConfigError(
                f"openstack.external.{role}: {len(written)} names asked for {config.chains} chains; write one for "
                "each, or what all of them begin with"
            )
        for chain in (None,) if shared else range(config.chains):
            name = written[chain or 0] if isinstance(written, tuple) else f"{written}{'' if chain is None else chain}"
            yield CloudNetwork(
                name=name, role="left" if role == "left" else "right", chain=chain, must_exist=True, kind="any"
            )


class _Place(NamedTuple):
    """Which of the networks of a role."""

    chain: int | None
    """None: the one that all chains share."""
    number: int = 0
    """By which numbers are counted up."""
    suffix: str = ""
    """What its name ends in."""


class _Builder:
    """Puts a plan together, chain by chain."""

    def __init__(self, config: Config, lab: LabPlan) -> None:
        self._config = config
        self._asked = config.openstack
        self._is_shared = lab.networks == "shared"
        self._ends = plan_chain_ends(config, lab)

    def networks(self) -> Iterator[CloudNetwork]:
        """Those all chains share first, then chain by chain."""
        if self._is_shared:
            yield from self._of_chains(_Place(None))
        for chain in range(self._config.chains):
            if not self._is_shared:
                yield from self._of_chains(_Place(chain, chain, str(chain)))
            for place in self._idle_places(chain):
                yield self._network("idle", place)
        if self._asked.management:
            yield self._network("management", _Place(None))
        if self._asked.floating_ip:
            yield self._network("floating", _Place(None))

    def servers(self) -> Iterator[CloudServer]:
        """Chain by chain, from left to right."""
        hops = self._config.hops
        routes = self._asked.forwarder in ("vnf-l3", "vpp")
        for chain, ends in enumerate(self._ends):
            for hop in range(hops):
                name = f"{self._asked.server}{chain}" + (f"-{hop}" if hops > 1 else "")
                yield CloudServer(
                    name=name,
                    chain=chain,
                    hop=hop,
                    ports=tuple(self._ports(name, chain, hop)),
                    forwarder=self._asked.forwarder,
                    addresses=self._addresses(chain, hop) if routes else None,
                    routes=self._routes(ends, hop) if routes else (),
                    floating_ip=self._asked.floating_ip,
                )

    def routers(self) -> Iterator[CloudRouter]:
        """Two for each chain."""
        names = self._asked.router_names
        for chain, ends in enumerate(self._ends):
            for side, base in enumerate((names.left, names.right)):
                inner = cloud_addresses.vm_ip(self._config, chain, side)
                vias = [inner, inner]
                vias[side] = ends[side].tester_ips[0]
                yield CloudRouter(
                    name=f"{base}{chain}",
                    networks=(self._name(EDGES[side], chain), self._name(INNER[side], chain)),
                    routes=self._behind(ends, vias),
                )

    def _of_chains(self, place: _Place) -> Iterator[CloudNetwork]:
        roles: list[NetworkRole] = [*EDGES] if self._config.routers else []
        for role in (*roles, *(("left", "middle", "right") if self._config.hops > 1 else INNER)):
            yield self._network(role, place)

    def _network(self, role: NetworkRole, place: _Place) -> CloudNetwork:
        written: NetworkConfig = getattr(self._asked.networks, role)
        name = self._written_name(role, written.name, place)
        kind = self._kind(role)
        gateway = self._gateway(role, place)
        return CloudNetwork(
            name=name,
            role=role,
            chain=place.chain,
            must_exist=role == "floating",
            kind=kind,
            segmentation_id=self._segment(role, kind, place),
            physical_network=_one_of(f"openstack.networks.{role}.physical_network", written.physical_network, place),
            subnet=None if role == "floating" else self._subnet(role, written, name, place),
            cidr=str(cidr(self._config, role)),
            gateway=gateway,
            transport_label=self._transport_label(role, place),
        )

    def _written_name(self, role: NetworkRole, written: str | tuple[str, ...] | None, place: _Place) -> str:
        if isinstance(written, tuple):
            return str(_one_of(f"openstack.networks.{role}.name", written, place))
        if written is not None:
            return f"{written}{place.suffix}"
        return f"{DEFAULT_NETWORKS[role][0]}{place.suffix}".removesuffix("-")

    def _subnet(self, role: NetworkRole, written: NetworkConfig, name: str, place: _Place) -> str:
        return self._written_name(role, written.subnet, place) if written.subnet else name

    def _kind(self, role: NetworkRole) -> NetworkKind:
        """What was written; of the networks the tester is in, what its frames are in."""
        written: NetworkKind | None = getattr(self._asked.networks, role).type
        if written is None and role in INNER and self._config.tunnel.kind != "none":
            return self._config.tunnel.kind
        return written or ("any" if role in ROLES_WITHOUT_CHAIN else "vlan")

    def _segment(self, role: NetworkRole, kind: NetworkKind, place: _Place) -> int | None:
        written = getattr(self._asked.networks, role).segmentation_id
        key = f"openstack.networks.{role}.segmentation_id"
        if written is None and role in ("left", "right", *EDGES) and role == outer_role(self._config, _side(role)):
            key, written = _of_tester(self._config, kind, _side(role))
        if isinstance(written, tuple):
            found = _one_of(key, written, place)
            return None if found is None else int(found)
        return None if written is None else int(written) + place.number

    def _transport_label(self, role: NetworkRole, place: _Place) -> int | None:
        labels = self._config.tunnel.transport_labels
        if role not in INNER or self._config.tunnel.kind != "mpls" or labels is None:
            return None
        return labels[_side(role)][place.number]

    def _gateway(self, role: NetworkRole, place: _Place) -> str | None:
        if self._config.routers and role in EDGES:
            return cloud_addresses.entrance_ip(self._config, place.number, _side(role))
        if role == "management" or (self._config.routers and role in INNER):
            return str(cloud_addresses.gateway(self._config, role))
        written = getattr(self._asked.networks, role).gateway
        return None if written is None else str(written)

    def _name(self, role: NetworkRole, chain: int) -> str:
        """The network of a role that a chain is in."""
        is_one = self._is_shared or role in ROLES_WITHOUT_CHAIN
        place = _Place(None) if is_one else _Place(chain, chain, str(chain))
        return self._written_name(role, getattr(self._asked.networks, role).name, place)

    def _idle_places(self, chain: int) -> Iterator[_Place]:
        for hop in range(self._config.hops):
            yield from self._idle_of(chain, hop)

    def _idle_of(self, chain: int, hop: int) -> Iterator[_Place]:
        hops, count = self._config.hops, self._config.idle_interfaces
        for index in range(count):
            suffix = f"{chain}.{hop}.{index}" if hops > 1 else f"{chain}.{index}"
            yield _Place(chain, (chain * hops + hop) * count + index, suffix)

    def _ports(self, name: str, chain: int, hop: int) -> Iterator[CloudPort]:
        last = self._config.hops - 1
        sides: tuple[NetworkRole, NetworkRole] = (
            "left" if hop == 0 else "middle",
            "right" if hop == last else "middle",
        )
        for side, role in enumerate(sides):
            yield CloudPort(name=f"{name}-{side}", network=self._name(role, chain), vnic_type=self._vnic_type(role))
        idle = self._asked.networks.idle.name
        for index, place in enumerate(self._idle_of(chain, hop)):
            yield CloudPort(name=f"{name}-idle{index}", network=self._written_name("idle", idle, place))
        if self._asked.management:
            yield CloudPort(name=f"{name}-management", network=self._name("management", chain))

    def _vnic_type(self, role: NetworkRole) -> VnicType:
        is_direct = self._asked.sriov and (role != "middle" or self._asked.sriov_middle)
        return "direct" if is_direct else "normal"

    def _addresses(self, chain: int, hop: int) -> tuple[str, str]:
        config, last = self._config, self._config.hops - 1
        left = cloud_addresses.vm_ip(config, chain, 0) if hop == 0 else cloud_addresses.middle_ip(config, chain, hop)
        right = (
            cloud_addresses.vm_ip(config, chain, 1) if hop == last else cloud_addresses.middle_ip(config, chain, hop)
        )
        masks = [
            cidr(config, role).prefixlen
            for role in ("left" if hop == 0 else "middle", "right" if hop == last else "middle")
        ]
        return f"{left}/{masks[0]}", f"{right}/{masks[1]}"

    def _routes(self, ends: tuple[ChainEnd, ChainEnd], hop: int) -> tuple[CloudRoute, ...]:
        """To what is behind the tester's ports, by the tester, a router, or the chain's other VM."""
        config, last, chain = self._config, self._config.hops - 1, ends[0].chain
        if config.routers:
            return self._behind(ends, [str(cloud_addresses.gateway(config, role)) for role in INNER])
        left = ends[0].tester_ips[0] if hop == 0 else cloud_addresses.middle_ip(config, chain, hop - 1)
        right = ends[1].tester_ips[0] if hop == last else cloud_addresses.middle_ip(config, chain, hop + 1)
        return self._behind(ends, [left, right])

    def _behind(self, ends: tuple[ChainEnd, ChainEnd], vias: Sequence[str]) -> tuple[CloudRoute, ...]:
        """The networks of the traffic behind both of the tester's ports."""
        written = self._config.flows.ip
        prefixes = written or (ends[0].networks[0], ends[1].networks[0])
        return tuple(CloudRoute(prefix=str(prefix), via=via) for prefix, via in zip(prefixes, vias, strict=True))


def _side(role: NetworkRole) -> int:
    return int(role in ("right", "edge_right"))


def _of_tester(config: Config, kind: NetworkKind, side: int) -> tuple[str, tuple[int, ...] | None]:
    """What the tester was told of its networks on a side, and by which key."""
    tunnel = config.tunnel
    key, both = {
        "vlan": ("vlans", config.vlans),
        "vxlan": ("tunnel.vnis", tunnel.vnis),
        "mpls": ("tunnel.service_labels", tunnel.service_labels),
    }.get(kind, ("vlans", None))
    return key, both[side] if both else None


def _one_of(key: str, written: object, place: _Place) -> str | int | None:
    """What was written for all, or for one of them. Raises ConfigError where too few were."""
    if not isinstance(written, tuple):
        return written if isinstance(written, (str, int)) else None
    if place.number >= len(written):
        raise ConfigError(f"{key}: {len(written)} asked, {place.number + 1} or more are needed; write one for each")
    found = written[place.number]
    return found if isinstance(found, (str, int)) else None
