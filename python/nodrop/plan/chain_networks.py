"""How chains reach the tester, and by which VLANs; what does not go together is refused here."""

import collections
from collections.abc import Iterator, Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import Networks, SutKind
from nodrop.units import format_count

LEFT, RIGHT = 0, 1
"""The side traffic goes forward from, and the one it goes to."""
SIDES = ("left", "right")

CHAINS_ON_PORTS_MAX = 8
"""Chains that can have two tester ports each."""
FIRST_VLANS = (1000, 2000)
"""VLANs of the first chain where none are written; the next ones have the next."""
JOINS_NETWORKS: frozenset[SutKind] = frozenset({"bridge", "ovs"})
"""SUTs that join what is on their two sides: several in parallel would make a loop."""
WITHOUT_EDGE_SWITCH: frozenset[SutKind] = frozenset({"wire", "ext", "openstack"})
"""SUTs without an edge switch of ours before them."""


def uses_cloud(config: Config) -> bool:
    """Whether a cloud is asked for the VLANs of the chains: where they are staged there, or others did."""
    external = config.openstack.external
    return config.sut == "openstack" or (config.sut == "ext" and (external.left or external.right) is not None)


def choose_networks(config: Config) -> Networks:
    """What was asked for, or what fits. Raises ConfigError where it does not go with the rest."""
    networks = _automatic(config) if config.networks == "auto" else config.networks
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
    """VLANs of every chain, left and right; none where frames have no tag. Raises ConfigError."""
    if uses_cloud(config):
        return _of_cloud(config, networks)
    if config.vlans is None:
        return tuple(_chosen(config.chains)) if networks == "vlan" else ()
    sides = [_checked(config, networks, side, ids) for side, ids in enumerate(config.vlans)]
    return tuple(zip(*sides, strict=True))


def _automatic(config: Config) -> Networks:
    if uses_cloud(config):
        return "vlan" if config.openstack.tagged or config.chains == 1 else "shared"
    if config.chains == 1 and config.vlans is None:
        return "ports"
    return "shared" if config.sut == "ext" and config.vlans is None else "vlan"


def _of_cloud(config: Config, networks: Networks) -> tuple[tuple[int, int], ...]:
    """Those written, or others in place of those the cloud will tell; none where frames have no tag of a chain's own.

    Raises: ConfigError where chains cannot be told apart.
    """
    if config.tunnel.kind != "none" or not config.openstack.tagged:
        if config.tunnel.kind == "none" and config.chains > 1 and networks != "shared":
            raise ConfigError(
                f"openstack.tagged: {config.chains} chains on separate networks require tags (false); write networks: "
                "shared, or remove openstack.tagged"
            )
        return ()
    if config.vlans is not None:
        return tuple(zip(*(_checked(config, networks, *side) for side in enumerate(config.vlans)), strict=True))
    chosen = tuple(_chosen(config.chains))
    return chosen[:1] * config.chains if networks == "shared" else chosen


def _chosen(chain_count: int) -> Iterator[tuple[int, int]]:
    left, right = FIRST_VLANS
    for chain in range(chain_count):
        yield left + chain, right + chain


def _checked(config: Config, networks: Networks, side: int, ids: Sequence[int]) -> tuple[int, ...]:
    if networks == "shared":
        return _shared(config, side, ids)
    if len(ids) != config.chains:
        raise ConfigError(
            f"vlans[{side}]: {format_count(len(ids), 'VLAN')} for {format_count(config.chains, 'chain')}, each chain "
            f"has one on the {SIDES[side]}; write {config.chains}, or chains: {len(ids)}"
        )
    duplicates = [vlan for vlan, count in collections.Counter(ids).items() if count > 1]
    if duplicates:
        raise ConfigError(
            f"vlans[{side}]: duplicate VLAN ({duplicates[0]}); assign a different one to each chain, or write "
            "networks: "
            "shared"
        )
    return tuple(ids)


def _shared(config: Config, side: int, ids: Sequence[int]) -> tuple[int, ...]:
    if len(set(ids)) != 1:
        raise ConfigError(
            f"vlans[{side}]: networks: shared has one VLAN for all chains ({', '.join(map(str, ids)) or 'none'}); "
            "write one, or networks: vlan"
        )
    return tuple(ids[:1]) * config.chains
