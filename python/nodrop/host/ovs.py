"""Open vSwitch from its database: bridges, ports and datapath.

Source: ovs-vswitchd.conf.db(5); RFC 7047 section 5.1 for sets, maps and references; ovn-controller(8).
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.host import nat
from nodrop.host.inputs import Source
from nodrop.host.netdevs import CLASS
from nodrop.host.pci import ADDRESS
from nodrop.model.chd import VSwitch
from nodrop.model.observation import Observation

OVS_VSCTL = "ovs-vsctl"
TABLES = ("Open_vSwitch", "Bridge", "Port", "Interface")
NOT_VIRTUAL = ("internal", "patch", "dpdk", "vxlan", "geneve", "gre", "erspan", "stt", "lisp", "system-tunnel")
"""Interface types that do not connect a VM."""
BRIDGES_MAX = 4096
"""Upper limit of bridges in a plausible answer."""
_MASK = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,512})")

OvsRow = Mapping[str, Any]


class OvsDatabase(NamedTuple):
    """The database content, each row with plain values."""

    root: OvsRow
    bridges: tuple[OvsRow, ...]
    interfaces: Mapping[str, tuple[OvsRow, ...]]
    """By the reference of their port."""


def describe_ovs(source: Source, masquerading: nat.MasqueradeRules) -> Iterator[VSwitch]:
    """Yield every bridge of Open vSwitch; one switch without ports if it has none or does not answer."""
    if not is_running(source):
        return
    answer = source.programs(OVS_VSCTL, "--timeout=1", "--format=json", "--", *_list_arguments())
    database = _parse_database(answer.text) if answer.text is not None else None
    if database is None:
        yield _build_unanswered(source, answer.why or f"{OVS_VSCTL} answered in an unknown form")
        return
    for bridge in database.bridges or ({"name": "ovs", "datapath_type": ""},):
        yield _build_switch(source, database, bridge, masquerading)


def is_running(source: Source) -> bool:
    """Return whether the socket of an Open vSwitch database exists."""
    place = os.environ.get("OVS_RUNDIR", "/run/openvswitch") if source.live else "/run/openvswitch"
    return source.tree.exists(f"{place}/db.sock")


def _list_arguments() -> list[str]:
    return " -- ".join(f"list {table}" for table in TABLES).split()


def _build_unanswered(source: Source, reason: str) -> VSwitch:
    unknown: Observation[Any] = source.moment.unknown(reason, OVS_VSCTL)
    return VSwitch(
        name="ovs",
        kind=source.moment.reported("ovs", "/run/openvswitch/db.sock"),
        version=unknown,
        acceleration=unknown,
        mode=unknown,
        cpus=unknown,
        capacity_bps=unknown,
        used_bps=unknown,
        virtual_interface_count=unknown,
        ports=unknown,
    )


def _build_switch(source: Source, database: OvsDatabase, bridge: OvsRow, masquerading: nat.MasqueradeRules) -> VSwitch:
    moment, name = source.moment, str(bridge.get("name", ""))[:64] or "unnamed"
    interfaces = [each for port in _wrap_list(bridge.get("ports")) for each in database.interfaces.get(str(port), ())]
    kind = _get_kind(database, bridge, name)
    physical = tuple(dict.fromkeys(port for each in interfaces if (port := _find_physical(source, each))))
    return VSwitch(
        name=name,
        kind=moment.reported(kind, f"{OVS_VSCTL} list Bridge"),
        version=_observe_version(source, database.root),
        acceleration=moment.reported(_get_acceleration(database, bridge), f"{OVS_VSCTL} list Open_vSwitch"),
        mode=nat.infer_mode(source, name, masquerading),
        cpus=_observe_cpus(source, database, bridge),
        capacity_bps=moment.unknown("not measured"),
        used_bps=moment.unknown("not measured"),
        virtual_interface_count=moment.reported(
            sum(_is_virtual(source, each) for each in interfaces), f"{OVS_VSCTL} list Interface"
        ),
        ports=moment.reported(physical, f"{OVS_VSCTL} list Interface"),
    )


def _get_kind(database: OvsDatabase, bridge: OvsRow, name: str) -> str:
    external_ids = database.root.get("external_ids") or {}
    if "ovn-remote" in external_ids and name == external_ids.get("ovn-bridge", "br-int"):
        return "ovn"
    return "ovs-dpdk" if _has_dpdk(database, bridge) else "ovs"


def _has_dpdk(database: OvsDatabase, bridge: OvsRow) -> bool:
    return bridge.get("datapath_type") == "netdev" and database.root.get("dpdk_initialized") is True


def _get_acceleration(database: OvsDatabase, bridge: OvsRow) -> str:
    offloads = (database.root.get("other_config") or {}).get("hw-offload") == "true"
    return "hardware" if offloads else "dpdk" if _has_dpdk(database, bridge) else "none"


def _observe_version(source: Source, root: OvsRow) -> Observation[str]:
    if isinstance(version := root.get("ovs_version"), str) and version:
        return source.moment.reported(version, f"{OVS_VSCTL} get Open_vSwitch . ovs_version")
    answer = source.programs("ovs-vswitchd", "--version")
    match = re.search(r"\(Open vSwitch\) (\S+)", answer.text or "")
    if not match:
        return source.moment.unknown(answer.why or "ovs-vswitchd names none", "ovs-vswitchd --version")
    return source.moment.inferred(match[1], "ovs-vswitchd --version", "of the program installed; the database has none")


def _observe_cpus(source: Source, database: OvsDatabase, bridge: OvsRow) -> Observation[tuple[int, ...]]:
    """Return the CPUs its threads poll on. The kernel datapath, and one without DPDK ports, use none."""
    path = f"{OVS_VSCTL} get Open_vSwitch . other_config:pmd-cpu-mask"
    if not _has_dpdk(database, bridge):
        return source.moment.inferred((), path, "without DPDK no thread of it polls")
    mask = (database.root.get("other_config") or {}).get("pmd-cpu-mask")
    if mask is None:
        return source.moment.unknown("not set: Open vSwitch takes a core of each node with ports", path)
    match = _MASK.fullmatch(str(mask))
    if not match:
        return source.moment.unknown(f"holds {str(mask)[:40]!r}, a mask expected", path)
    bits = int(match[1], 16)
    return source.moment.reported(tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1), path)


def _find_physical(source: Source, interface: OvsRow) -> str:
    """Return the name of a physical interface, or the PCI address of a card driven by DPDK; empty: neither."""
    name, kind = str(interface.get("name", "")), interface.get("type")
    if kind == "dpdk":
        arguments = str((interface.get("options") or {}).get("dpdk-devargs", ""))
        match = ADDRESS.search(arguments.lower())
        return match[0] if match and "representor" not in arguments else ""
    return name if kind in ("", "system") and source.tree.exists(f"{CLASS}/{name}/device") else ""


def _is_virtual(source: Source, interface: OvsRow) -> bool:
    if "iface-id" in (interface.get("external_ids") or {}) or "representor" in str(interface.get("options")):
        return True
    return interface.get("type") not in NOT_VIRTUAL and not _find_physical(source, interface)


def _parse_database(text: str) -> OvsDatabase | None:
    """Parse the answer: one JSON document per table and line."""
    try:
        root, bridges, ports, interfaces = (tuple(_list_rows(json.loads(line))) for line in text.splitlines())
        by_reference = {each["_uuid"]: each for each in interfaces}
        return OvsDatabase(
            root=root[0] if root else {},
            bridges=bridges[:BRIDGES_MAX],
            interfaces={
                port["_uuid"]: tuple(by_reference[i] for i in _wrap_list(port["interfaces"]) if i in by_reference)
                for port in ports
            },
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _list_rows(table: Any) -> Iterator[OvsRow]:
    for row in table["data"]:
        yield dict(zip(table["headings"], map(_decode_value, row), strict=True))


def _decode_value(value: Any) -> Any:
    """Convert an OVSDB value: `["set", [...]]`, `["map", [[key, value], ...]]`, `["uuid", "..."]`, or a scalar."""
    if not isinstance(value, list):
        return value
    kind, content = value
    if kind == "uuid":
        return str(content)
    if kind == "map":
        return {str(_decode_value(key)): _decode_value(each) for key, each in content}
    return [_decode_value(each) for each in content]


def _wrap_list(value: Any) -> list[Any]:
    """Return a column as a list; it may contain one value or a set."""
    return value if isinstance(value, list) else [] if value is None else [value]
