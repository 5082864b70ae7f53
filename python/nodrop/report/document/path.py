"""The path between the tester's ports: interfaces, chains as checked, and the servers of a cloud."""

from collections.abc import Iterator

from nodrop.model.cloud import CloudFacts, CloudServerFacts
from nodrop.model.facts import Facts, InterfaceFacts, PortFacts
from nodrop.model.layer import Ethernet, Ipv6, Vlan
from nodrop.model.result import RunResult
from nodrop.model.traffic import Stream
from nodrop.report.document import cells
from nodrop.report.document.blocks import Cell, Table
from nodrop.units import format_count, format_seconds

INTERFACES = (
    cells.make_text_column("port"),
    cells.make_text_column("interface"),
    cells.make_text_column("namespace"),
    cells.make_text_column("driver", is_detail=True),
    cells.make_text_column("MAC address"),
    cells.make_number_column("MTU", "bytes"),
    cells.make_number_column("speed", "bps"),
    cells.make_prose_column("packets by"),
)
CHAINS = (
    cells.make_number_column("chain"),
    cells.make_text_column("way"),
    cells.make_text_column("VLAN"),
    cells.make_text_column("source MAC"),
    cells.make_text_column("destination MAC"),
    cells.make_text_column("resolved by"),
    cells.make_text_column("received"),
)
SERVERS = (
    cells.make_text_column("VM"),
    cells.make_number_column("chain"),
    cells.make_text_column("host"),
    cells.make_text_column("zone"),
    cells.make_text_column("left MAC"),
    cells.make_text_column("right MAC"),
    cells.make_text_column("login address"),
    cells.make_text_column("re-created"),
)


def build_interface_table(facts: Facts) -> Table:
    """Return the tester's ports, then the other interfaces of the path."""
    ports = {port.interface: (str(index), port) for index, port in enumerate(facts.ports)}
    interfaces = {each.name: each for each in facts.stage.interfaces}
    rows = [_build_interface(name, interfaces.get(name), index, port) for name, (index, port) in ports.items()]
    rows += [_build_interface(name, each, "", None) for name, each in interfaces.items() if name not in ports]
    return Table(caption="Interfaces", columns=INTERFACES, rows=tuple(rows))


def build_path_check_table(result: RunResult, facts: Facts) -> Table:
    """Return the addresses of every stream and how many of its learning frames arrived."""
    hops = {(index, hop.chain): hop.mac for index, port in enumerate(facts.ports) for hop in (port.next_hops or ())}
    hops |= {(index, 0): port.next_hop.mac for index, port in enumerate(facts.ports) if port.next_hop}
    checks = {check.stream_id: check for check in result.checks}
    rows = []
    for stream in result.plan.traffic.streams:
        ethernet = next((layer for layer in stream.layers if isinstance(layer, Ethernet)), None)
        resolved = hops.get((stream.tx_port, stream.chain))
        check = checks.get(stream.stream_id)
        words = (
            f"{stream.tx_port}→{stream.rx_port}",
            ", ".join(str(layer.id) for layer in stream.layers if isinstance(layer, Vlan)),
            ethernet.src if ethernet else "",
            resolved or (ethernet.dst if ethernet else ""),
            _format_resolver(stream) if resolved else "cloud" if result.plan.cloud else "plan",
            f"{check.received_count} of {check.sent_count}" if check else "none",
        )
        rows.append((cells.make_number_cell(stream.chain), *map(cells.make_text_cell, words)))
    return Table(caption="Path check", columns=CHAINS, rows=tuple(rows))


def build_server_table(cloud: CloudFacts) -> Table:
    """Return every VM of a cloud with its chain, host and addresses."""
    return Table(caption="VMs", columns=SERVERS, rows=tuple(map(_build_server, cloud.servers)))


def describe_cloud(result: RunResult) -> Iterator[str]:
    """Yield time, requests and re-created VMs of a stage in a cloud."""
    cloud = result.facts.stage.cloud if result.facts else None
    if cloud is None or result.facts is None:
        return
    reused = sum(each.found for each in cloud.resources)
    resources = format_count(len(cloud.resources) - reused, "resource")
    up_s = result.facts.stage.up_s
    staged = f"staged in {format_seconds(up_s)}" if up_s is not None else "up since the previous run"
    hosts = sorted({server.host for server in cloud.servers if server.host})
    on = f" on {', '.join(hosts)}" if hosts else ""
    calls = ", ".join(f"{service} {count}" for service, count in sorted(cloud.api_call_counts.items()))
    yield (
        f"Cloud {cloud.cloud}: {format_count(len(cloud.servers), 'VM')}{on}, {staged}; {resources} created and "
        f"{reused} reused with {format_count(sum(cloud.api_call_counts.values()), 'request')} ({calls}) by "
        f"{'an administrator' if cloud.is_admin else 'a user without administrator rights'}."
    )
    again = sorted({server.chain for server in cloud.servers if server.restaged})
    if again:
        chains = f"{'chain' if len(again) == 1 else 'chains'} {', '.join(map(str, again))}"
        yield f"The first VMs of {chains} forwarded nothing and were re-created before any measurement."


def _build_interface(
    name: str, interface: InterfaceFacts | None, index: str, port: PortFacts | None
) -> tuple[Cell, ...]:
    backend = f"{port.backend} ({port.why})" if port and port.why else port.backend if port else ""
    return (
        cells.make_text_cell(index),
        cells.make_text_cell(name),
        cells.make_text_cell(interface.namespace if interface else ""),
        cells.make_text_cell(interface.driver if interface else ""),
        cells.make_text_cell(interface.mac if interface else ""),
        Cell(text=f"{interface.mtu_bytes} B", key=interface.mtu_bytes) if interface else cells.NOTHING,
        cells.make_bit_rate_cell(interface.link_speed_bps if interface else None),
        cells.make_text_cell(backend),
    )


def _build_server(server: CloudServerFacts) -> tuple[Cell, ...]:
    left_mac, right_mac = (*server.macs, "", "")[:2]
    words = (server.host or "", server.availability_zone or "", left_mac, right_mac, server.address or "")
    restaged = "yes" if server.restaged else "no"
    return (
        cells.make_text_cell(server.name),
        cells.make_number_cell(server.chain),
        *map(cells.make_text_cell, (*words, restaged)),
    )


def _format_resolver(stream: Stream) -> str:
    return "ND" if any(isinstance(layer, Ipv6) for layer in stream.layers) else "ARP"
