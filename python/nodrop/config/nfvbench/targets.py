"""Whether what NFVbench's keys ask for stands in a cloud, and whether TRex is to send."""

import ipaddress
from typing import Any, NamedTuple

from nodrop.config.nfvbench.schema import Generator, NfvbenchConfig

TREX = "trex"
LOCAL = frozenset({"localhost", ""})


class TrexProfile(NamedTuple):
    """The generator that is to be used, where that is TRex with ports of its own."""

    profile: dict[str, Any]
    """Everything that was written of it."""
    interfaces: tuple[str, ...]
    """PCI addresses or names in the order of its port numbers."""

    @property
    def is_local(self) -> bool:
        """Whether it may be started here: NFVbench only connects to one elsewhere."""
        host = str(self.profile.get("ip") or "")
        try:
            return host in LOCAL or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


def has_cloud(config: NfvbenchConfig) -> bool:
    """Whether there is a cloud to ask."""
    return bool(config.openrc_file or config.clouds_detail)


def is_staged(config: NfvbenchConfig) -> bool:
    """Whether chains are staged in a cloud."""
    return has_cloud(config) and config.service_chain != "EXT" and not config.l2_loopback.on


def find_profile(config: NfvbenchConfig) -> Generator | None:
    """The generator's profile by its name. Raises ValueError where several have it."""
    name = config.traffic_generator.default_profile
    found = [each for each in config.traffic_generator.generator_profile if each.name == name]
    if len(found) > 1:
        raise ValueError(f"the generator profile {name!r} asked, {len(found)} have that name; give each its own")
    return found[0] if found else None


def find_trex(config: NfvbenchConfig) -> TrexProfile | None:
    """TRex, where it is what sends: its profile names ports, and what is between them is not of this machine's making.

    Raises: ValueError for a profile that cannot be used.
    """
    profile = find_profile(config)
    if profile is None or profile.tool.lower() != TREX:
        return None
    if not is_staged(config) and config.service_chain != "EXT" and not config.l2_loopback.on:
        return None
    written = profile.model_dump()
    ports = _ports(written)
    return TrexProfile(written, ports) if ports else None


def find_usable_trex(config: NfvbenchConfig) -> TrexProfile | None:
    """The same; None also for a profile that cannot be used, of which `find_trex` complains."""
    try:
        return find_trex(config)
    except ValueError:
        return None


def _ports(profile: dict[str, Any]) -> tuple[str, ...]:
    """What its ports are, by number; none where it names none. Raises ValueError."""
    interfaces = profile.get("interfaces") or ()
    if not isinstance(interfaces, list | tuple) or not all(isinstance(each, dict) for each in interfaces):
        raise ValueError("interfaces of a generator profile: a list expected; write [{port: 0, pci: '03:00.0'}, ...]")
    named = {each.get("port"): str(each.get("pci") or "") for each in interfaces}
    if not any(named.values()):
        return ()
    numbers = list(range(len(interfaces)))
    if sorted(named, key=str) != numbers:
        raise ValueError(
            f"interfaces of generator profile {profile['name']}: ports {', '.join(map(str, named))} asked; number them "
            f"{' and '.join(map(str, numbers))}"
        )
    if not all(named.values()):
        raise ValueError(
            f"interfaces of generator profile {profile['name']}: pci is missing for one of them; write all"
        )
    return tuple(named[number] for number in numbers)
