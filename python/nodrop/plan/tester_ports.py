"""The tester's existing ports: interfaces of this machine, or ports of a TRex server."""

from typing import NamedTuple

from nodrop.config.schema import Config
from nodrop.model.trex import TrexPlan
from nodrop.plan.resolvers import Resolvers


class TesterPorts(NamedTuple):
    """Configured ports, in the order of the streams' port indices; empty if the lab creates its own."""

    key: str = "ports"
    """The key that names them."""
    names: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    """Empty if they could not be inspected."""
    speeds_bps: tuple[int | None, ...] = ()
    """None for a port that reports none; empty if they could not be inspected."""


def find_tester_ports(config: Config, trex: TrexPlan | None, resolvers: Resolvers) -> TesterPorts:
    """Return the configured ports and inspect them. Raises ConfigError, or the resolver's error."""
    if trex is None:
        names = config.ports
        macs = resolvers.inspect_ports(names) if names else ()
        return TesterPorts("ports", names, macs, tuple(map(resolvers.read_speed, names)))
    ports = resolvers.inspect_trex(trex)
    macs, speeds = tuple(port.mac for port in ports), tuple(port.speed_bps for port in ports)
    return TesterPorts("trex.ports", tuple(map(name_trex_port, trex.ports)), macs, speeds)


def name_trex_port(number: int) -> str:
    """Return the name of a TRex port in messages and results."""
    return f"trex{number}"
