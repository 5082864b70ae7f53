"""Checks for keys that contradict each other in a cloud."""

from nodrop.config.openstack import NetworkConfig
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.plan.cloud_addresses import EDGES, INNER
from nodrop.units import format_count

ROUTING_FORWARDERS = ("vnf-l3", "vpp")
"""Forwarders that have addresses."""
BUSY_FORWARDERS = ("testpmd", "vpp")
"""Forwarders that occupy a CPU, so that the guest needs another."""


def check_cloud(config: Config) -> None:
    """Check the keys of a cloud. Raises ConfigError."""
    if config.sut == "ext":
        _check_external(config)
        return
    _check_path(config)
    _check_sriov(config)
    _check_networks(config)
    _check_vms(config)


def _check_external(config: Config) -> None:
    section = config.openstack.external
    for side, names in (("left", section.left), ("right", section.right)):
        if not names:
            raise ConfigError(
                f"openstack.external.{side}: missing, the other side is set; write the name or the name prefix of its "
                "networks"
            )


def _check_path(config: Config) -> None:
    section = config.openstack
    if config.macs is not None:
        raise ConfigError("macs: the cloud assigns the VMs' addresses (sut: openstack); remove macs")
    if config.routers and section.forwarder not in ROUTING_FORWARDERS:
        raise ConfigError(
            f"routers: {section.forwarder} does not answer neighboring routers (true); write openstack.forwarder: "
            f"{' or '.join(ROUTING_FORWARDERS)}"
        )
    if config.routers and config.hops > 1:
        raise ConfigError("routers: require one VM per chain (hops: 2); write hops: 1")
    if config.routers and config.networks == "shared":
        raise ConfigError("routers: each chain has its own (networks: shared); write networks: vlan")
    if config.routers and config.tunnel.kind != "none":
        raise ConfigError(
            f"routers: frames reach routers without a tunnel (tunnel.kind: {config.tunnel.kind}); remove one of them"
        )
    if section.forwarder in ROUTING_FORWARDERS and config.traffic.ip != 4:
        raise ConfigError(
            f"traffic.ip: {section.forwarder} has only IPv4 routes in a cloud ({config.traffic.ip}); write traffic.ip: "
            "4, or openstack.forwarder: vnf-l2"
        )


def _check_sriov(config: Config) -> None:
    section = config.openstack
    if section.sriov_middle and not (section.sriov and config.hops > 1):
        raise ConfigError(
            "openstack.sriov_middle: requires two VMs with SR-IOV (true); write hops: 2 and openstack.sriov: true, or "
            "remove it"
        )
    if not section.sriov:
        return
    for role in (*INNER, *(("middle",) if section.sriov_middle else ())):
        network: NetworkConfig = getattr(section.networks, role)
        segmentation_id = network.segmentation_id if network.segmentation_id is not None else config.vlans
        for key, value in (("physical_network", network.physical_network), ("segmentation_id", segmentation_id)):
            if value is None:
                raise ConfigError(
                    f"openstack.networks.{role}.{key}: missing, SR-IOV virtual functions require it; write it, or "
                    "openstack.sriov: false"
                )


def _check_networks(config: Config) -> None:
    kind, networks = config.tunnel.kind, config.openstack.networks
    for role in EDGES if config.routers else INNER:
        network_type = getattr(networks, role).type
        if kind != "none" and network_type not in (None, kind):
            raise ConfigError(
                f"openstack.networks.{role}.type: does not match tunnel.kind: {kind} ({network_type}); write {kind}, "
                "or remove it"
            )
        if kind == "none" and network_type in ("vxlan", "mpls"):
            raise ConfigError(
                f"openstack.networks.{role}.type: the tester reaches it only with tunnel.kind: {network_type}; write "
                "that as well"
            )
        if network_type == "flat" and config.openstack.tagged:
            raise ConfigError(
                f"openstack.networks.{role}.type: flat networks have no tags; write openstack.tagged: false"
            )


def _check_vms(config: Config) -> None:
    section = config.openstack
    if section.floating_ip and not section.management:
        raise ConfigError(
            "openstack.floating_ip: requires a management interface (true); write openstack.management: true"
        )
    if section.forwarder in BUSY_FORWARDERS and section.flavor.vmd is None and section.flavor.vcpus < 2:
        raise ConfigError(
            f"openstack.flavor.vcpus: {section.forwarder} occupies a CPU and the guest needs another "
            f"({section.flavor.vcpus}); write 2 or more"
        )
    if section.multiqueue > section.flavor.vcpus and section.flavor.vmd is None:
        raise ConfigError(
            f"openstack.multiqueue: more queues than CPUs ({section.multiqueue}, "
            f"{format_count(section.flavor.vcpus, 'CPU')}); write fewer, or more openstack.flavor.vcpus"
        )
