"""The target of NFVbench's keys: whether chains are staged in a cloud, and whether TRex sends."""

import ipaddress
from typing import Any, NamedTuple

from nodrop.config.nfvbench.schema import Generator, NfvbenchConfig

TREX = "trex"
LOCAL = frozenset({"localhost", ""})


class TrexProfile(NamedTuple):
    """A generator profile of TRex with ports."""

    profile: dict[str, Any]
    """All values of the profile."""
    interfaces: tuple[str, ...]
    """PCI addresses or names, in the order of TRex's port numbers."""

    @property
    def is_local(self) -> bool:
        """Whether TRex may be started on this machine; NFVbench only connects to a remote one."""
        host = str(self.profile.get("ip") or "")
        try:
            return host in LOCAL or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


def has_cloud(config: NfvbenchConfig) -> bool:
    """Return whether a cloud is configured."""
    return bool(config.openrc_file or config.clouds_detail)


def is_staged(config: NfvbenchConfig) -> bool:
    """Return whether chains are staged in a cloud."""
    return has_cloud(config) and config.service_chain != "EXT" and not config.l2_loopback.on


def find_profile(config: NfvbenchConfig) -> Generator | None:
    """Return the selected generator profile. Raises ValueError if several have its name."""
    name = config.traffic_generator.default_profile
    profiles = [each for each in config.traffic_generator.generator_profile if each.name == name]
    if len(profiles) > 1:
        raise ValueError(f"{len(profiles)} generator profiles are named {name!r}; give each its own name")
    return profiles[0] if profiles else None


def find_trex(config: NfvbenchConfig) -> TrexProfile | None:
    """Return TRex's profile if TRex sends: the profile names ports, and the path between them is not a local lab.

    Raises: ValueError for an invalid profile.
    """
    profile = find_profile(config)
    if profile is None or profile.tool.lower() != TREX:
        return None
    if not is_staged(config) and config.service_chain != "EXT" and not config.l2_loopback.on:
        return None
    values = profile.model_dump()
    interfaces = _list_interfaces(values)
    return TrexProfile(values, interfaces) if interfaces else None


def find_usable_trex(config: NfvbenchConfig) -> TrexProfile | None:
    """Return the same; None also for an invalid profile, which `find_trex` reports."""
    try:
        return find_trex(config)
    except ValueError:
        return None


def _list_interfaces(profile: dict[str, Any]) -> tuple[str, ...]:
    """Return the ports by number; empty if the profile names none. Raises ValueError."""
    interfaces = profile.get("interfaces") or ()
    if not isinstance(interfaces, list | tuple) or not all(isinstance(each, dict) for each in interfaces):
        raise ValueError("interfaces of a generator profile: not a list; write [{port: 0, pci: '03:00.0'}, ...]")
    names_by_port = {each.get("port"): str(each.get("pci") or "") for each in interfaces}
    if not any(names_by_port.values()):
        return ()
    numbers = list(range(len(interfaces)))
    if sorted(names_by_port, key=str) != numbers:
        raise ValueError(
            f"interfaces of generator profile {profile['name']}: wrong port numbers "
            f"({', '.join(map(str, names_by_port))}); number them {' and '.join(map(str, numbers))}"
        )
    if not all(names_by_port.values()):
        raise ValueError(
            f"interfaces of generator profile {profile['name']}: pci is missing for one of them; write it for all"
        )
    return tuple(names_by_port[number] for number in numbers)
