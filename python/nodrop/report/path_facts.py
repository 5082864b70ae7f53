"""What was found of the path before any traffic: the tester's ports, and the chains between them."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from nodrop.model.facts import Facts
from nodrop.model.layer import Ethernet, Ipv6, Vlan
from nodrop.model.result import RunResult
from nodrop.model.traffic import Stream
from nodrop.report.cloud import cloud_of, cloud_table
from nodrop.report.tables import plain_table
from nodrop.units import format_bps, format_seconds


def facts_parts(result: RunResult) -> Iterator[RenderableType]:
    """Ports, chains, and the time it took; nothing where nothing was found."""
    if not result.facts:
        return
    yield _ports_table(result.facts)
    yield ""
    yield _chains_table(result, result.facts)
    yield ""
    if (cloud := cloud_of(result)) and cloud.servers:
        yield cloud_table(cloud)
        yield ""
    up_s = result.facts.stage.up_s
    lab = f"The lab was up after {format_seconds(up_s)}, all" if up_s is not None else "All"
    yield f"- {lab} was done after {format_seconds(result.wall_s)}."


def _ports_table(facts: Facts) -> Table:
    table = plain_table("port", "interface", "MAC address", "MTU", "speed", "packets by")
    interfaces = {found.name: found for found in facts.stage.interfaces if found.namespace == "tester"}
    for index, port in enumerate(facts.ports):
        found = interfaces.get(port.interface)
        speed_bps = found.link_speed_bps if found else None
        table.add_row(
            str(index),
            port.interface,
            found.mac if found else "-",
            f"{found.mtu_bytes} B" if found else "-",
            format_bps(speed_bps) if speed_bps else "-",
            port.backend,
        )
    return table


def _chains_table(result: RunResult, facts: Facts) -> Table:
    """Every chain both ways: where its frames are sent to, and how many of the check came through."""
    answers = {
        (index, hop.chain): hop.mac for index, port in enumerate(facts.ports) for hop in (port.next_hops or ())
    } | {(index, 0): port.next_hop.mac for index, port in enumerate(facts.ports) if port.next_hop}
    checks = {check.stream_id: check for check in result.checks}
    table = plain_table("chain", "way", "VLAN", "sent from", "sent to", "found by", "arrived")
    for stream in result.plan.traffic.streams:
        ethernet = next((layer for layer in stream.layers if isinstance(layer, Ethernet)), None)
        answer = answers.get((stream.tx_port, stream.chain))
        check = checks.get(stream.stream_id)
        table.add_row(
            str(stream.chain),
            f"{stream.tx_port}→{stream.rx_port}",
            _vlans_text(stream),
            ethernet.src if ethernet else "-",
            answer or (ethernet.dst if ethernet else "-"),
            _asked_how(stream) if answer else "cloud" if result.plan.cloud else "plan",
            f"{check.received_count} of {check.sent_count}" if check else "none",
        )
    return table


def _asked_how(stream: Stream) -> str:
    return "ND" if any(isinstance(layer, Ipv6) for layer in stream.layers) else "ARP"


def _vlans_text(stream: Stream) -> str:
    return ", ".join(str(layer.id) for layer in stream.layers if isinstance(layer, Vlan)) or "-"
