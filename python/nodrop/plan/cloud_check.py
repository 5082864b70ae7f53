"""What of a configuration does not go together in a cloud."""

from nodrop.config.openstack import NetworkConfig
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.plan.cloud_addresses import EDGES, INNER

ROUTING_FORWARDERS = ("vnf-l3", "vpp")
"""Forwarders that have addresses."""
BUSY_FORWARDERS = ("testpmd", "vpp")
"""Forwarders that keep a CPU busy, beside which the guest needs another."""


def check_cloud(config: Config) -> None:
    """Raises ConfigError."""
    if config.sut == "ext":
        _check_external(config)
        return
    _check_path(config)
    _check_sriov(config)
    _check_networks(config)
    _check_vms(config)


def _check_external(config: Config) -> None:
    asked = config.openstack.external
    for side, written in (("left", asked.left), ("right", asked.right)):
        if not written:
            raise ConfigError(
                f"openstack.external.{side}: missing, the other side has one; write the name of its network, or what "
                "the names begin with"
            )


def _check_path(config: Config) -> None:
    asked = config.openstack
    if config.macs is not None:
        raise ConfigError("macs: asked with sut: openstack, the cloud says which addresses its VMs have; leave it out")
    if config.routers and asked.forwarder not in ROUTING_FORWARDERS:
        raise ConfigError(
            f"routers: true asked, {asked.forwarder} does not answer routers beside it; write openstack.forwarder: "
            f"{' or '.join(ROUTING_FORWARDERS)}"
        )
    if config.routers and config.hops > 1:
        raise ConfigError("routers: true asked with hops: 2, they go with one VM in each chain; write hops: 1")
    if config.routers and config.networks == "shared":
        raise ConfigError("routers: true asked with networks: shared, each chain has its own; write networks: vlan")
    if config.routers and config.tunnel.kind != "none":
        raise ConfigError(
            f"routers: true asked with tunnel.kind: {config.tunnel.kind}, frames reach them without; leave one out"
        )
    if asked.forwarder in ROUTING_FORWARDERS and config.traffic.ip != 4:
        raise ConfigError(
            f"traffic.ip: {config.traffic.ip} asked, {asked.forwarder} is given IPv4 routes only in a cloud; write "
            "traffic.ip: 4, or openstack.forwarder: vnf-l2"
        )


def _check_sriov(config: Config) -> None:
    asked = config.openstack
    if asked.sriov_middle and not (asked.sriov and config.hops > 1):
        raise ConfigError(
            "openstack.sriov_middle: true asked, it is for two VMs with SR-IOV; write hops: 2 and openstack.sriov: "
            "true, or leave it out"
        )
    if not asked.sriov:
        return
    for role in (*INNER, *(("middle",) if asked.sriov_middle else ())):
        network: NetworkConfig = getattr(asked.networks, role)
        known = network.segmentation_id if network.segmentation_id is not None else config.vlans
        for key, value in (("physical_network", network.physical_network), ("segmentation_id", known)):
            if value is None:
                raise ConfigError(
                    f"openstack.networks.{role}.{key}: missing, virtual functions of cards need it; write it, or "
                    "openstack.sriov: false"
                )


def _check_networks(config: Config) -> None:
    kind, networks = config.tunnel.kind, config.openstack.networks
    for role in EDGES if config.routers else INNER:
        asked = getattr(networks, role).type
        if kind != "none" and asked not in (None, kind):
            raise ConfigError(
                f"openstack.networks.{role}.type: {asked} asked with tunnel.kind: {kind}; write {kind}, or leave it out"
            )
        if kind == "none" and asked in ("vxlan", "mpls"):
            raise ConfigError(
                f"openstack.networks.{role}.type: {asked} asked, the tester reaches it by tunnel.kind: {asked} only; "
                "write that as well"
            )
        if asked == "flat" and config.openstack.tagged:
            raise ConfigError(
                f"openstack.networks.{role}.type: flat asked, frames there have no tags; write openstack.tagged: false"
            )


def _check_vms(config: Config) -> None:
    asked = config.openstack
    if asked.floating_ip and not asked.management:
        raise ConfigError(
            "openstack.floating_ip: true asked, it is for an interface to log in by; write openstack.management: true"
        )
    if asked.forwarder in BUSY_FORWARDERS and asked.flavor.vmd is None and asked.flavor.vcpus < 2:
        raise ConfigError(
            f"openstack.flavor.vcpus: {asked.flavor.vcpus} asked, {asked.forwarder} keeps one busy and the guest needs "
            "another; write 2 or more"
        )
    if asked.multiqueue > asked.flavor.vcpus and asked.flavor.vmd is None:
        raise ConfigError(
            f"openstack.multiqueue: {asked.multiqueue} asked, a VM of {asked.flavor.vcpus} CPUs has as many queues at "
            "most; write fewer, or more openstack.flavor.vcpus"
        )
