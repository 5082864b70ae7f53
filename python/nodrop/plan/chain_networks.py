"""The networks and VLANs that connect chains to the tester."""

import collections
from collections.abc import Iterator, Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import Networks, SutKind
from nodrop.units import format_count

LEFT, RIGHT = 0, 1
"""The side of forward traffic's source, and of its destination."""
SIDES = ("left", "right")

CHAINS_ON_PORTS_MAX = 8
"""Largest number of chains with two tester ports each."""
FIRST_VLANS = (1000, 2000)
"""Default VLANs of the first chain, incremented for each further chain."""
JOINS_NETWORKS: frozenset[SutKind] = frozenset({"bridge", "ovs"})
"""SUTs that bridge the networks of their two sides: several in parallel would form a loop."""
WITHOUT_EDGE_SWITCH: frozenset[SutKind] = frozenset({"wire", "ext", "openstack"})
"""SUTs without an edge switch of the lab."""


def uses_cloud(config: Config) -> bool:
    """Return whether the VLANs of the chains are looked up in a cloud: staged chains, or external ones in a cloud."""
    external = config.openstack.external
    return config.sut == "openstack" or (config.sut == "ext" and (external.left or external.right) is not None)


def choose_networks(config: Config) -> Networks:
    """Return the configured kind of networks, or a suitable one. Raises ConfigError if it contradicts other keys."""
    networks = _default_networks(config) if config.networks == "auto" else config.networks
    if networks == "ports" and config.chains > CHAINS_ON_PORTS_MAX:
        raise ConfigError(
            f"networks: too many chains for ports ({config.chains}, at most {CHAINS_ON_PORTS_MAX}); write networks: "
            "vlan or shared"
        )
    if networks == "ports" and uses_cloud(config) and config.chains > 1:
        raise ConfigError(
            f"networks: the tester reaches a cloud by two ports, not enough for ports with {config.chains} chains; "
            "write networks: vlan or shared"
        )
    if networks == "shared" and uses_cloud(config) and config.tunnel.kind != "none":
        raise ConfigError(
            "networks: chains in a cloud are distinguished by their tunnels, not shared networks (tunnel.kind: "
            f"{config.tunnel.kind}); write networks: vlan"
        )
    if networks == "ports" and config.vlans is not None:
        raise ConfigError(
            "networks: chains with ports of their own have no VLANs (ports); write networks: vlan, or remove vlans"
        )
    if networks == "shared" and config.sut in JOINS_NETWORKS and config.chains > 1:
        raise ConfigError(
            f"networks: {config.chains} chains of {config.sut} between two shared networks form a loop; write "
            "networks: vlan, or use another sut"
        )
    return networks


def plan_vlans(config: Config, networks: Networks) -> tuple[tuple[int, int], ...]:
    """Return the VLANs of every chain, left and right; empty if frames have no tag. Raises ConfigError."""
    if uses_cloud(config):
        return _list_cloud_vlans(config, networks)
    if config.vlans is None:
        return tuple(_default_vlans(config.chains)) if networks == "vlan" else ()
    sides = [_check_vlans(config, networks, side, ids) for side, ids in enumerate(config.vlans)]
    return tuple(zip(*sides, strict=True))


def _default_networks(config: Config) -> Networks:
    if uses_cloud(config):
        return "vlan" if config.openstack.tagged or config.chains == 1 else "shared"
    if config.chains == 1 and config.vlans is None:
        return "ports"
    return "shared" if config.sut == "ext" and config.vlans is None else "vlan"


def _list_cloud_vlans(config: Config, networks: Networks) -> tuple[tuple[int, int], ...]:
    """Return the configured VLANs, or placeholders for those that the cloud assigns; empty if chains have no tags.

    Raises: ConfigError if chains cannot be distinguished.
    """
    if config.tunnel.kind != "none" or not config.openstack.tagged:
        if config.tunnel.kind == "none" and config.chains > 1 and networks != "shared":
            raise ConfigError(
                f"openstack.tagged: {config.chains} chains on separate networks require tags (false); write networks: "
                "shared, or remove openstack.tagged"
            )
        return ()
    if config.vlans is not None:
        return tuple(zip(*(_check_vlans(config, networks, *side) for side in enumerate(config.vlans)), strict=True))
    vlans = tuple(_default_vlans(config.chains))
    return vlans[:1] * config.chains if networks == "shared" else vlans


def _default_vlans(chain_count: int) -> Iterator[tuple[int, int]]:
    left, right = FIRST_VLANS
    for chain in range(chain_count):
        yield left + chain, right + chain


def _check_vlans(config: Config, networks: Networks, side: int, ids: Sequence[int]) -> tuple[int, ...]:
    if networks == "shared":
        return _share_vlan(config, side, ids)
    if len(ids) != config.chains:
        raise ConfigError(
            f"vlans[{side}]: {format_count(len(ids), 'VLAN')} for {format_count(config.chains, 'chain')}, each chain "
            f"has one on the {SIDES[side]}; write {config.chains}, or chains: {len(ids)}"
        )
    duplicates = [vlan for vlan, count in collections.Counter(ids).items() if count > 1]
    if duplicates:
        raise ConfigError(
            f"vlans[{side}]: duplicate VLAN ({duplicates[0]}); assign a different one to each chain, or write "
            "networks: shared"
        )
    return tuple(ids)


def _share_vlan(config: Config, side: int, ids: Sequence[int]) -> tuple[int, ...]:
    if len(set(ids)) != 1:
        raise ConfigError(
            f"vlans[{side}]: networks: shared has one VLAN for all chains ({', '.join(map(str, ids)) or 'none'}); "
            "write one, or networks: vlan"
        )
    return tuple(ids[:1]) * config.chains
