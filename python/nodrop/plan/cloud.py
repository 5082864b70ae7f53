"""The cloud resources of a configuration: networks, VMs and routers, each with its name and ports."""

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
from nodrop.plan.chain_ends import ChainEnd, find_tester_mac, plan_chain_ends
from nodrop.plan.chain_networks import uses_cloud
from nodrop.plan.cloud_addresses import EDGES, INNER, build_cidr, get_outer_role
from nodrop.plan.cloud_check import check_cloud
from nodrop.plan.resolvers import ReadFlavor
from nodrop.units import format_count

MULTIQUEUE = {"hw_vif_multiqueue_enabled": "true"}
"""Property of images whose guests use several queues.
Source: https://docs.openstack.org/glance/latest/admin/useful-image-properties.html"""


def plan_cloud(config: Config, lab: LabPlan, read_flavor: ReadFlavor) -> CloudPlan | None:
    """Return the resources to stage or look up in a cloud; None if no cloud is used. Raises: ConfigError."""
    if not uses_cloud(config):
        return None
    check_cloud(config)
    section = config.openstack
    login = CloudLogin(cloud=section.cloud, openrc=None if section.cloud else section.openrc)
    if config.sut == "ext":
        return CloudPlan(
            login=login, label=section.label, networks=tuple(_list_external_networks(config)), poll_s=section.poll
        )
    zone, hosts = choose_hosts(config)
    builder = _Builder(config, lab)
    return CloudPlan(
        login=login,
        label=section.label,
        image=CloudImage(
            name=section.image.name, file=section.image.file, properties=MULTIQUEUE if section.multiqueue > 1 else {}
        ),
        flavor=_build_flavor(config, read_flavor),
        networks=tuple(builder.networks()),
        servers=tuple(builder.servers()),
        routers=tuple(builder.routers()) if config.routers else (),
        server_group=section.server_group,
        availability_zone=zone,
        hosts=hosts,
        same_host=section.server_group not in ("anti-affinity", "soft-anti-affinity"),
        multiqueue=section.multiqueue,
        mbuf_count=section.mbufs,
        tester_macs=_list_tester_macs(config, lab),
        active_timeout_s=section.active_timeout,
        poll_s=section.poll,
        keep=section.keep,
    )


def choose_hosts(config: Config) -> tuple[str | None, tuple[str, ...]]:
    """Return the availability zone and compute hosts from `host`, `zone:` and `zone:host`.

    A zone in `hosts` takes precedence over `availability_zone`, as in NFVbench. Raises: ConfigError.
    """
    value = config.openstack.hosts or ()
    parts = [each.rpartition(":")[::2] for each in ((value,) if isinstance(value, str) else value)]
    zones = {zone for zone, _ in parts if zone}
    hosts = tuple(host for _, host in parts if host)
    if len(zones) > 1:
        raise ConfigError(
            f"openstack.hosts: several availability zones ({', '.join(sorted(zones))}); write hosts of one zone"
        )
    return next(iter(zones), config.openstack.availability_zone), hosts


def _build_flavor(config: Config, read_flavor: ReadFlavor) -> CloudFlavor:
    section = config.openstack.flavor
    if section.vmd is not None:
        return read_flavor(section.vmd, section.host).replace(name=section.name)
    return CloudFlavor(
        name=section.name,
        vcpus=section.vcpus,
        ram_mib=section.ram,
        disk_gib=section.disk,
        extra_specs=section.extra_specs,
    )


def _list_tester_macs(config: Config, lab: LabPlan) -> tuple[str, str]:
    """Return the destination addresses of frames that VMs send: the tester's ports, or their addresses inside
    tunnels."""
    left, right = (find_tester_mac(lab, lab.port(0, side)) for side in range(2))
    if config.tunnel.kind == "none":
        return left, right
    return addressing.build_inner_station_mac(left), addressing.build_inner_station_mac(right)


def _list_external_networks(config: Config) -> Iterator[CloudNetwork]:
    """Yield networks of an external SUT, one per side for each chain or for all."""
    section = config.openstack.external
    shared = config.networks == "shared"
    for role, value in (("left", section.left), ("right", section.right)):
        if isinstance(value, tuple) and len(value) < (1 if shared else config.chains):
            raise ConfigError(
                f"openstack.external.{role}: {format_count(len(value), 'name')} for "
                f"{format_count(config.chains, 'chain')}; write one for each, or a name prefix for all"
            )
        for chain in (None,) if shared else range(config.chains):
            name = value[chain or 0] if isinstance(value, tuple) else f"{value}{'' if chain is None else chain}"
            yield CloudNetwork(
                name=name, role="left" if role == "left" else "right", chain=chain, must_exist=True, kind="any"
            )


class _NetworkInstance(NamedTuple):
    """One of the networks of a role."""

    chain: int | None
    """None: shared by all chains."""
    number: int = 0
    """Offset of its segmentation ID from the first."""
    suffix: str = ""
    """Suffix of its name."""


class _Builder:
    """Builds the cloud plan, chain by chain."""

    def __init__(self, config: Config, lab: LabPlan) -> None:
        self._config = config
        self._openstack = config.openstack
        self._is_shared = lab.networks == "shared"
        self._ends = plan_chain_ends(config, lab)

    def networks(self) -> Iterator[CloudNetwork]:
        """Yield the networks that all chains share, then those of each chain."""
        if self._is_shared:
            yield from self._list_chain_networks(_NetworkInstance(None))
        for chain in range(self._config.chains):
            if not self._is_shared:
                yield from self._list_chain_networks(_NetworkInstance(chain, chain, str(chain)))
            for instance in self._list_idle_networks(chain):
                yield self._build_network("idle", instance)
        if self._openstack.management:
            yield self._build_network("management", _NetworkInstance(None))
        if self._openstack.floating_ip:
            yield self._build_network("floating", _NetworkInstance(None))

    def servers(self) -> Iterator[CloudServer]:
        """Yield the VMs, chain by chain, from left to right."""
        hops = self._config.hops
        routes = self._openstack.forwarder in ("vnf-l3", "vpp")
        for chain, ends in enumerate(self._ends):
            for hop in range(hops):
                name = f"{self._openstack.server}{chain}" + (f"-{hop}" if hops > 1 else "")
                yield CloudServer(
                    name=name,
                    chain=chain,
                    hop=hop,
                    ports=tuple(self._list_ports(name, chain, hop)),
                    forwarder=self._openstack.forwarder,
                    addresses=self._list_addresses(chain, hop) if routes else None,
                    routes=self._list_routes(ends, hop) if routes else (),
                    floating_ip=self._openstack.floating_ip,
                )

    def routers(self) -> Iterator[CloudRouter]:
        """Yield two routers for each chain."""
        names = self._openstack.router_names
        for chain, ends in enumerate(self._ends):
            for side, base in enumerate((names.left, names.right)):
                inner = cloud_addresses.build_vm_ip(self._config, chain, side)
                vias = [inner, inner]
                vias[side] = ends[side].tester_ips[0]
                yield CloudRouter(
                    name=f"{base}{chain}",
                    networks=(
                        self._build_chain_network_name(EDGES[side], chain),
                        self._build_chain_network_name(INNER[side], chain),
                    ),
                    routes=self._list_traffic_routes(ends, vias),
                )

    def _list_chain_networks(self, instance: _NetworkInstance) -> Iterator[CloudNetwork]:
        roles: list[NetworkRole] = [*EDGES] if self._config.routers else []
        for role in (*roles, *(("left", "middle", "right") if self._config.hops > 1 else INNER)):
            yield self._build_network(role, instance)

    def _build_network(self, role: NetworkRole, instance: _NetworkInstance) -> CloudNetwork:
        network: NetworkConfig = getattr(self._openstack.networks, role)
        name = self._name_network(role, network.name, instance)
        kind = self._get_kind(role)
        gateway = self._get_gateway(role, instance)
        return CloudNetwork(
            name=name,
            role=role,
            chain=instance.chain,
            must_exist=role == "floating",
            kind=kind,
            segmentation_id=self._get_segment(role, kind, instance),
            physical_network=_pick_value(
                f"openstack.networks.{role}.physical_network", network.physical_network, instance
            ),
            subnet=None if role == "floating" else self._get_subnet(role, network, name, instance),
            cidr=str(build_cidr(self._config, role)),
            gateway=gateway,
            transport_label=self._get_transport_label(role, instance),
        )

    def _name_network(self, role: NetworkRole, value: str | tuple[str, ...] | None, instance: _NetworkInstance) -> str:
        if isinstance(value, tuple):
            return str(_pick_value(f"openstack.networks.{role}.name", value, instance))
        if value is not None:
            return f"{value}{instance.suffix}"
        return f"{DEFAULT_NETWORKS[role][0]}{instance.suffix}".removesuffix("-")

    def _get_subnet(self, role: NetworkRole, network: NetworkConfig, name: str, instance: _NetworkInstance) -> str:
        return self._name_network(role, network.subnet, instance) if network.subnet else name

    def _get_kind(self, role: NetworkRole) -> NetworkKind:
        """Return the configured type; for networks of the tester, the type that matches its frames."""
        value: NetworkKind | None = getattr(self._openstack.networks, role).type
        if value is None and role in INNER and self._config.tunnel.kind != "none":
            return self._config.tunnel.kind
        return value or ("any" if role in ROLES_WITHOUT_CHAIN else "vlan")

    def _get_segment(self, role: NetworkRole, kind: NetworkKind, instance: _NetworkInstance) -> int | None:
        value = getattr(self._openstack.networks, role).segmentation_id
        key = f"openstack.networks.{role}.segmentation_id"
        if (
            value is None
            and role in ("left", "right", *EDGES)
            and role == get_outer_role(self._config, _get_side(role))
        ):
            key, value = _find_tester_segments(self._config, kind, _get_side(role))
        if isinstance(value, tuple):
            segment = _pick_value(key, value, instance)
            return None if segment is None else int(segment)
        return None if value is None else int(value) + instance.number

    def _get_transport_label(self, role: NetworkRole, instance: _NetworkInstance) -> int | None:
        labels = self._config.tunnel.transport_labels
        if role not in INNER or self._config.tunnel.kind != "mpls" or labels is None:
            return None
        return labels[_get_side(role)][instance.number]

    def _get_gateway(self, role: NetworkRole, instance: _NetworkInstance) -> str | None:
        if self._config.routers and role in EDGES:
            return cloud_addresses.build_entrance_ip(self._config, instance.number, _get_side(role))
        if role == "management" or (self._config.routers and role in INNER):
            return str(cloud_addresses.build_gateway(self._config, role))
        value = getattr(self._openstack.networks, role).gateway
        return None if value is None else str(value)

    def _build_chain_network_name(self, role: NetworkRole, chain: int) -> str:
        """Return the name of a chain's network of a role."""
        is_one = self._is_shared or role in ROLES_WITHOUT_CHAIN
        instance = _NetworkInstance(None) if is_one else _NetworkInstance(chain, chain, str(chain))
        return self._name_network(role, getattr(self._openstack.networks, role).name, instance)

    def _list_idle_networks(self, chain: int) -> Iterator[_NetworkInstance]:
        for hop in range(self._config.hops):
            yield from self._list_vm_idle_networks(chain, hop)

    def _list_vm_idle_networks(self, chain: int, hop: int) -> Iterator[_NetworkInstance]:
        hops, count = self._config.hops, self._config.idle_interfaces
        for index in range(count):
            suffix = f"{chain}.{hop}.{index}" if hops > 1 else f"{chain}.{index}"
            yield _NetworkInstance(chain, (chain * hops + hop) * count + index, suffix)

    def _list_ports(self, name: str, chain: int, hop: int) -> Iterator[CloudPort]:
        last = self._config.hops - 1
        sides: tuple[NetworkRole, NetworkRole] = (
            "left" if hop == 0 else "middle",
            "right" if hop == last else "middle",
        )
        for side, role in enumerate(sides):
            yield CloudPort(
                name=f"{name}-{side}",
                network=self._build_chain_network_name(role, chain),
                vnic_type=self._get_vnic_type(role),
            )
        idle = self._openstack.networks.idle.name
        for index, instance in enumerate(self._list_vm_idle_networks(chain, hop)):
            yield CloudPort(name=f"{name}-idle{index}", network=self._name_network("idle", idle, instance))
        if self._openstack.management:
            yield CloudPort(name=f"{name}-management", network=self._build_chain_network_name("management", chain))

    def _get_vnic_type(self, role: NetworkRole) -> VnicType:
        is_direct = self._openstack.sriov and (role != "middle" or self._openstack.sriov_middle)
        return "direct" if is_direct else "normal"

    def _list_addresses(self, chain: int, hop: int) -> tuple[str, str]:
        config, last = self._config, self._config.hops - 1
        left = (
            cloud_addresses.build_vm_ip(config, chain, 0)
            if hop == 0
            else cloud_addresses.build_middle_ip(config, chain, hop)
        )
        right = (
            cloud_addresses.build_vm_ip(config, chain, 1)
            if hop == last
            else cloud_addresses.build_middle_ip(config, chain, hop)
        )
        masks = [
            build_cidr(config, role).prefixlen
            for role in ("left" if hop == 0 else "middle", "right" if hop == last else "middle")
        ]
        return f"{left}/{masks[0]}", f"{right}/{masks[1]}"

    def _list_routes(self, ends: tuple[ChainEnd, ChainEnd], hop: int) -> tuple[CloudRoute, ...]:
        """Return routes to the networks behind the tester's ports, through the tester, a router, or the chain's other
        VM."""
        config, last, chain = self._config, self._config.hops - 1, ends[0].chain
        if config.routers:
            return self._list_traffic_routes(ends, [str(cloud_addresses.build_gateway(config, role)) for role in INNER])
        left = ends[0].tester_ips[0] if hop == 0 else cloud_addresses.build_middle_ip(config, chain, hop - 1)
        right = ends[1].tester_ips[0] if hop == last else cloud_addresses.build_middle_ip(config, chain, hop + 1)
        return self._list_traffic_routes(ends, [left, right])

    def _list_traffic_routes(self, ends: tuple[ChainEnd, ChainEnd], vias: Sequence[str]) -> tuple[CloudRoute, ...]:
        """Return routes to the traffic's networks behind both of the tester's ports."""
        prefixes = self._config.flows.ip or (ends[0].networks[0], ends[1].networks[0])
        return tuple(CloudRoute(prefix=str(prefix), via=via) for prefix, via in zip(prefixes, vias, strict=True))


def _get_side(role: NetworkRole) -> int:
    return int(role in ("right", "edge_right"))


def _find_tester_segments(config: Config, kind: NetworkKind, side: int) -> tuple[str, tuple[int, ...] | None]:
    """Return the tester's segmentation IDs on a side, and the key that sets them."""
    tunnel = config.tunnel
    key, both = {
        "vlan": ("vlans", config.vlans),
        "vxlan": ("tunnel.vnis", tunnel.vnis),
        "mpls": ("tunnel.service_labels", tunnel.service_labels),
    }.get(kind, ("vlans", None))
    return key, both[side] if both else None


def _pick_value(key: str, value: object, instance: _NetworkInstance) -> str | int | None:
    """Return the value for one network, from a single value or a list. Raises ConfigError if the list is too short."""
    if not isinstance(value, tuple):
        return value if isinstance(value, (str, int)) else None
    if instance.number >= len(value):
        raise ConfigError(
            f"{key}: too few values ({len(value)}, at least {instance.number + 1} needed); write one for each"
        )
    picked = value[instance.number]
    return picked if isinstance(picked, (str, int)) else None
