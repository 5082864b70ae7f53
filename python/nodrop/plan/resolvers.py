"""Functions that look up what a configuration only names: labs, results, files, filters, interfaces."""

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.cloud import CloudFlavor
from nodrop.model.lab_plan import LabPlan
from nodrop.model.result import RunResult
from nodrop.model.traffic import ReplayContents, ReplaySource
from nodrop.model.trex import TrexPlan, TrexPort

InspectReplay = Callable[[ReplaySource], ReplayContents]
"""Returns what a capture file contains."""
CheckFilter = Callable[[str, str], None]
"""Raises ConfigError for an invalid filter; the second argument is its section."""
InspectPorts = Callable[[tuple[str, ...]], tuple[str, ...]]
"""Returns the MAC address of each of these existing interfaces."""
InspectTrex = Callable[[TrexPlan], tuple[TrexPort, ...]]
"""Returns the ports of a TRex server, in the plan's order; starts the server if configured and none runs."""
ReadFlavor = Callable[[str, str | None], CloudFlavor]
"""Returns the flavor for a VM Descriptor's file, placed on the host of a Compute Host Descriptor's file, or on this
one."""
ReadSpeed = Callable[[str], int | None]
"""Returns the speed of an interface, in bits per second; None if it reports none."""


def _reject(problem: str) -> Callable[..., Any]:
    """Return a function that raises ConfigError, with its first argument in place of `{}`."""

    def raise_error(name: object, *_: object) -> NoReturn:
        raise ConfigError(problem.format(name))

    return raise_error


def _reject_interfaces(names: tuple[str, ...]) -> tuple[str, ...]:
    raise ConfigError(f"ports: interfaces cannot be inspected here ({', '.join(names)}); remove ports")


class Resolvers(NamedTuple):
    """Functions to look up names. Each raises ConfigError, or its room's error, for a missing object."""

    find_lab: Callable[[str], LabPlan] = _reject("lab: persistent labs cannot be looked up here ({}); remove lab")
    """Returns the plan of a persistent lab."""
    find_result: Callable[[str], RunResult] = _reject(
        "search.warm_start: results cannot be looked up here ({}); remove search.warm_start"
    )
    """Returns the stored result of a file, a run ID or `latest`."""
    inspect_replay: InspectReplay = _reject(
        "traffic.replay.file: files cannot be read here ({.file}); remove traffic.replay.file"
    )
    check_filter: CheckFilter = lambda _text, _section: None
    """Accepts every filter by default."""
    inspect_ports: InspectPorts = _reject_interfaces
    read_speed: ReadSpeed = lambda _interface: None
    inspect_trex: InspectTrex = lambda _plan: ()
    read_flavor: ReadFlavor = _reject(
        "openstack.flavor.vmd: descriptors cannot be read here ({}); write the flavor itself"
    )
    supports_xdp_live: Callable[[], bool] = lambda: False
    """Returns whether the engine's back end `xdp_live` can send on this machine."""


NO_RESOLVERS = Resolvers()
"""For configurations without names to look up."""


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
