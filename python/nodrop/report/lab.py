"""The state of a lab as text."""

from collections.abc import Iterator

from nodrop.model.facts import ChainFacts, StageFacts
from nodrop.units import format_seconds

CHAINS_SHOWN_MAX = 8
"""With more chains only the first ones and the last are shown."""
INTERFACES_SHOWN_MAX = 12


def format_lab(facts: StageFacts) -> Iterator[str]:
    """Yield SUT, namespaces, interfaces and chains of a lab."""
    yield f"SUT         {facts.sut}"
    yield f"privilege   {facts.privilege}"
    if facts.up_s is not None:
        yield f"up after    {format_seconds(facts.up_s)}"
    for namespace, pid in {"tester": facts.tester_pid, "sut": facts.sut_pid, **facts.router_pids}.items():
        yield f"{namespace:<12}network namespace of process {pid}"
        yield from _format_interfaces(facts, namespace)
    if len(facts.chains) > 1:
        yield from _format_chains(facts.chains)


def _format_interfaces(facts: StageFacts, namespace: str) -> Iterator[str]:
    interfaces = [interface for interface in facts.interfaces if interface.namespace == namespace]
    for interface in interfaces[:INTERFACES_SHOWN_MAX]:
        yield f"  {interface.name:<10}{interface.driver}, MAC {interface.mac}, MTU {interface.mtu_bytes}"
    if len(interfaces) > INTERFACES_SHOWN_MAX:
        yield f"  and {len(interfaces) - INTERFACES_SHOWN_MAX} more, see nodrop lab exec {namespace} -- ip link"


def _format_chains(chains: tuple[ChainFacts, ...]) -> Iterator[str]:
    yield f"chains      {len(chains)}"
    listed = chains if len(chains) <= CHAINS_SHOWN_MAX else (*chains[: CHAINS_SHOWN_MAX - 1], chains[-1])
    for position, chain in enumerate(listed):
        if position == CHAINS_SHOWN_MAX - 1 and len(chains) > CHAINS_SHOWN_MAX:
            yield "  ..."
        vlans = f", VLANs {chain.vlans[0]} and {chain.vlans[1]}" if chain.vlans else ""
        macs = f", MACs {chain.macs[0]} and {chain.macs[1]}" if chain.macs else ""
        pids = f", {'process' if len(chain.pids) == 1 else 'processes'} {', '.join(map(str, chain.pids))}"
        idle = f", idle {', '.join(chain.idle_interfaces)}" if chain.idle_interfaces else ""
        yield f"  {chain.chain:<4}{' '.join(chain.interfaces)}{vlans}{macs}{pids if chain.pids else ''}{idle}"
