"""Functions that look up what a configuration only names: labs, results, files, filters, interfaces."""

from collections.abc import Callable
from typing import NamedTuple

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


def _reject_lab(name: str) -> LabPlan:
    raise ConfigError(f"lab: persistent labs cannot be looked up here ({name}); remove lab")


def _reject_result(name: str) -> RunResult:
    raise ConfigError(f"search.warm_start: results cannot be looked up here ({name}); remove search.warm_start")


def _reject_file(source: ReplaySource) -> ReplayContents:
    raise ConfigError(f"traffic.replay.file: files cannot be read here ({source.file}); remove traffic.replay.file")


def _accept_any_filter(_text: str, _section: str) -> None:
    """Accept every filter unchecked."""


def _list_no_interfaces(names: tuple[str, ...]) -> tuple[str, ...]:
    raise ConfigError(f"ports: interfaces cannot be inspected here ({', '.join(names)}); remove ports")


def _list_no_trex_ports(_plan: TrexPlan) -> tuple[TrexPort, ...]:
    """Return no ports, since servers are not queried."""
    return ()


def _reject_flavor(vmd: str, _host: str | None) -> CloudFlavor:
    raise ConfigError(f"openstack.flavor.vmd: descriptors cannot be read here ({vmd}); write the flavor itself")


def _get_no_speed(_interface: str) -> int | None:
    """Return no speed, since interfaces are not inspected."""
    return None


class Resolvers(NamedTuple):
    """Functions to look up names. Each raises ConfigError, or its room's error, for a missing object."""

    find_lab: Callable[[str], LabPlan] = _reject_lab
    """Returns the plan of a persistent lab."""
    find_result: Callable[[str], RunResult] = _reject_result
    """Returns the stored result of a file, a run ID or `latest`."""
    inspect_replay: InspectReplay = _reject_file
    check_filter: CheckFilter = _accept_any_filter
    inspect_ports: InspectPorts = _list_no_interfaces
    read_speed: ReadSpeed = _get_no_speed
    inspect_trex: InspectTrex = _list_no_trex_ports
    read_flavor: ReadFlavor = _reject_flavor
    supports_xdp_live: Callable[[], bool] = lambda: False
    """Returns whether the engine's back end `xdp_live` can send on this machine."""


NO_RESOLVERS = Resolvers()
"""For configurations without names to look up."""
