"""The tester's ports where they are there already: interfaces of this machine, or ports of a TRex server."""

from typing import NamedTuple

from nodrop.config.schema import Config
from nodrop.model.trex import TrexPlan
from nodrop.plan.resolvers import Resolvers


class TesterPorts(NamedTuple):
    """Ports that somebody named, in the order of the streams' port indices; none where the lab makes its own."""

    key: str = "ports"
    """The key they were named by."""
    names: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    """None where they could not be looked at."""
    speeds_bps: tuple[int | None, ...] = ()
    """None where one does not say; none at all where they could not be looked at."""


def find_tester_ports(config: Config, trex: TrexPlan | None, resolvers: Resolvers) -> TesterPorts:
    """What was named, looked at. Raises ConfigError, or the error of who looks."""
    if trex is None:
        names = config.ports
        macs = resolvers.inspect_ports(names) if names else ()
        return TesterPorts("ports", names, macs, tuple(map(resolvers.read_speed, names)))
    ports = resolvers.inspect_trex(trex)
    macs, speeds = tuple(port.mac for port in ports), tuple(port.speed_bps for port in ports)
    return TesterPorts("trex.ports", tuple(map(name_trex_port, trex.ports)), macs, speeds)


def name_trex_port(number: int) -> str:
    """What a port of TRex is called in messages and results."""
    return f"trex{number}"
