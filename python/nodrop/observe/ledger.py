"""Loss ledger of a trial, computed from counters before and after it. Pure.

A path is cut into hops at the interfaces that count frames. Frames that reached a hop and did not pass it were lost
at that hop, so that hop losses always add up to the trial's loss. Drop counters add causes, never more than the loss.
"""

from collections.abc import Sequence
from itertools import pairwise

from nodrop.model.lab_plan import LabPlan
from nodrop.model.ledger import DirectionLedger, LossLedger
from nodrop.model.trial import TrialResult
from nodrop.observe.path_hops import (
    PROCESS,
    CounterDelta,
    HopDraft,
    Interfaces,
    PathDraft,
    draft_path,
    format_interfaces,
    get_interface,
    is_forwarded_by_process,
)

NOT_CAUSES = frozenset({"received", "sent", "originated", "receive_dropped", "send_dropped"})
"""Counters of a forwarding process that are no cause of its own to drop a received frame."""
DROP_REASONS = {
    "NETFILTER_DROP": "dropped by a netfilter rule (nft, iptables)",
    "QDISC_DROP": "dropped by a queueing discipline",
    "QDISC_OVERLIMIT": "dropped by a queueing discipline at its limit",
    "TC_INGRESS": "dropped by a tc filter at ingress",
    "TC_EGRESS": "dropped by a tc filter at egress",
    "XDP": "dropped by an XDP program",
    "CPU_BACKLOG": "the host's backlog was full (net.core.netdev_max_backlog)",
    "NO_TX_TARGET": "no interface or next hop to send to",
    "FULL_RING": "a ring was full",
    "PKT_TOO_BIG": "larger than the MTU",
    "DEV_READY": "the interface was down",
    "DEV_HDR": "the interface could not add its link-layer header",
    "NOMEM": "the kernel had no memory left",
    "OTHERHOST": "addressed to another host's MAC",
    "UNHANDLED_PROTO": "of a protocol that no handler is registered for",
    "IP_INNOROUTES": "no route to the destination",
    "IP_OUTNOROUTES": "no route to the destination",
    "IP_INADDRERRORS": "with an IP address that is not valid on this host",
    "IP_RPFILTER": "from a source that reverse path filtering rejects",
    "IP_CSUM": "with a wrong IP checksum",
    "IP_INHDR": "with a wrong IP header",
    "NEIGH_QUEUEFULL": "waiting for a next hop's MAC, with the queue full",
    "NEIGH_FAILED": "the next hop's MAC could not be resolved",
    "BRIDGE_INGRESS_STP_STATE": "the bridge port was not forwarding",
    "MAC_INVALID_SOURCE": "from an invalid MAC address",
    "NOT_SPECIFIED": "dropped by the kernel without a reason",
}
"""Texts for the kernel's drop reasons (include/net/dropreason-core.h)."""

IP_COUNTERS = {
    "InHdrErrors": "with a wrong IP header or an expired TTL",
    "InAddrErrors": "with an IP address that is not valid on this host",
    "InUnknownProtos": "of an IP protocol that no handler is registered for",
    "InDiscards": "discarded by the IP layer on input",
    "OutDiscards": "discarded by the IP layer on output",
    "OutNoRoutes": "no route to the destination",
    "FragFails": "larger than the MTU, with fragmentation forbidden",
}
"""Texts for the counters of the IP layer (RFC 4293)."""


def build_loss_ledger(result: TrialResult, lab: LabPlan, delta: CounterDelta) -> LossLedger:
    """Compute where the frames of a trial were lost.

    Args:
        result: the trial.
        lab: the plan of the lab that it ran in.
        delta: the host's counters during the trial.
    """
    ways = sorted({(stream.tx_port, stream.rx_port) for stream in result.streams})
    drafts = [draft_path(result, lab, way, delta) for way in ways]
    for draft in drafts:
        _attribute_counters(draft, delta)
    hops = [hop for draft in drafts for hop in draft.hops]
    _attribute_tester(result, drafts, delta)
    _attribute_kernel([hop for hop in hops if hop.segment.kind == "device"], delta)
    return LossLedger(
        ways=tuple(
            DirectionLedger(tx_port=draft.tx_port, rx_port=draft.rx_port, hops=tuple(hop.build() for hop in draft.hops))
            for draft in drafts
        ),
        remarks=tuple(remark for draft in drafts for remark in draft.remarks),
    )


def _attribute_counters(draft: PathDraft, delta: CounterDelta) -> None:
    """Attribute causes that only this direction can have: queues and interfaces belong to one direction each."""
    send, first_wire, *_ = draft.hops
    (sender,) = send.segment.fars
    refused_count = delta.count(f"{sender}/tx_dropped", f"{sender}/tx_errors")
    sender_count = _attribute_arrival(send, first_wire.segment.fars, refused_count, delta)
    send.attribute("not_sent", "not sent in time", send.unattributed_count)
    _attribute_queues(first_wire, (sender,), delta)
    for before, hop in pairwise(draft.hops):
        if hop.segment.kind == "wire":
            _attribute_wire(hop, sender_count if hop is first_wire else 0, delta)
        elif hop.segment.kind == "ring":
            _attribute_ring(hop, _count_refused([before], delta), delta)
        elif hop.segment.kind == "device":
            _attribute_device(hop, delta)


def _attribute_ring(hop: HopDraft, refused_count: int, delta: CounterDelta) -> None:
    """Attribute drops at a receive ring; the process's count includes frames that the interface refused before the
    ring."""
    rings = (f"{PROCESS}/{get_interface(far)}/receive_dropped" for far in hop.segment.fars)
    hop.attribute("ring_full", "the ring was full", delta.count(*rings) - refused_count)


def _count_refused(wires: Sequence[HopDraft], delta: CounterDelta) -> int:
    """Return the frames dropped at the far ends of these wires before the interfaces counted them as received.

    Where an XDP program hands frames to AF_XDP sockets, drivers count a frame that finds the ring full both as received
    and as dropped. The wires' loss is therefore the limit.
    """
    lost_count = sum(wire.in_count - wire.out_count for wire in wires)
    return min(lost_count, delta.count(*(f"{far}/rx_dropped" for far in wires[0].segment.fars)))


def _attribute_device(hop: HopDraft, delta: CounterDelta) -> None:
    """Attribute drops between two interfaces of a forwarder, for several chains' interfaces together."""
    dropped_counts: dict[str, int] = {}
    for near in hop.segment.nears:
        for name, count in delta.under(f"{PROCESS}/{get_interface(near)}"):
            dropped_counts[name] = dropped_counts.get(name, 0) + count
    if hop.segment.device == "balancer":
        dropped_counts.pop("consumed", None)  # answers to its probes
    for name in dropped_counts.keys() - NOT_CAUSES:
        hop.attribute(f"vnf_{name}", f"dropped as {name.replace('_', ' ')}", dropped_counts[name])
    for near in hop.segment.nears:
        for name, count in delta.under(f"{near}/driver"):
            hop.attribute("driver_dropped", f"dropped by the driver of {get_interface(near)} ({name})", count)
    _attribute_queues(hop, hop.segment.fars, delta)
    refused = (f"{PROCESS}/{get_interface(far)}/send_dropped" for far in hop.segment.fars)
    hop.attribute("send_refused", f"refused by {format_interfaces(hop.segment.fars)}", delta.count(*refused))


def _attribute_queues(hop: HopDraft, interfaces: Interfaces, delta: CounterDelta) -> None:
    for place in interfaces:
        for name, count in delta.under(f"{place}/qdisc"):
            kind, _, counter = name.partition("/")
            if counter == "dropped":
                text = f"dropped by the queueing discipline {kind} of {get_interface(place)}"
                hop.attribute("queue_dropped", text, count)


def _attribute_wire(hop: HopDraft, sender_count: int, delta: CounterDelta) -> None:
    """Attribute drops on a wire: a frame refused at its far end is counted there, at the near end, at both, or by its
    sender."""
    nears, fars = hop.segment.nears, hop.segment.fars
    refused_count = delta.count(*(f"{near}/{name}" for near in nears for name in ("tx_dropped", "tx_errors")))
    dropped = ("rx_dropped", "rx_errors", "rx_fifo")
    dropped_count = delta.count(*(f"{far}/{name}" for far in fars for name in dropped))
    _attribute_arrival(hop, fars, max(refused_count, dropped_count) - sender_count, delta)


def _attribute_arrival(hop: HopDraft, interfaces: Interfaces, refused_count: int, delta: CounterDelta) -> int:
    """Attribute refused frames to causes at the receiving interfaces; return the number attributed to this hop."""
    where, remaining_count = format_interfaces(interfaces), refused_count
    backlog_count = sum(count for name, count in delta.under("host/softnet") if name.endswith("/dropped"))
    text = f"the host's backlog before {where} was full (net.core.netdev_max_backlog)"
    remaining_count -= hop.attribute("backlog_full", text, min(remaining_count, backlog_count))
    for reason, count in sorted(_collect_drop_reasons(interfaces, delta).items(), key=lambda item: -item[1]):
        remaining_count -= hop.attribute(
            reason, f"{describe_drop_reason(reason)} at {where}", min(remaining_count, count)
        )
    remaining_count -= hop.attribute(
        "receive_refused", f"refused by {where}: down, or its MTU too small", remaining_count
    )
    return refused_count - remaining_count


def _attribute_tester(result: TrialResult, drafts: Sequence[PathDraft], delta: CounterDelta) -> None:
    """Attribute drops of the tester's receivers, which the engine reports for all ports together.

    Corrupted frames count as lost; no counter shows at which hop they were corrupted.
    """
    hops = [draft.hops[-1] for draft in drafts]
    wires: dict[Interfaces, list[HopDraft]] = {}
    for draft in drafts:
        wires.setdefault(draft.hops[-1].segment.nears, []).append(draft.hops[-2])
    behind_count = result.tester_drop_count - sum(_count_refused(into, delta) for into in wires.values())
    _share_cause(hops, "tester_dropped", "the tester's receive queue was full", behind_count)
    _share_cause(hops, "corrupted", "arrived with different content than sent", result.corrupted_count)


def _attribute_kernel(hops: Sequence[HopDraft], delta: CounterDelta) -> None:
    """Attribute drops that the kernel counts for a namespace, not for a direction.

    Where a process forwards through packet sockets, the kernel drops its own copy of every frame: those drops are
    skipped.
    """
    by_namespace: dict[str, list[HopDraft]] = {}
    for hop in hops:
        if not is_forwarded_by_process(hop.segment.nears, delta):
            by_namespace.setdefault(_get_namespace(hop.segment.nears[0]), []).append(hop)
    for namespace, concerned in by_namespace.items():
        reasons: dict[str, int] = {}
        for name, count in delta.under(f"{namespace}/kernel"):
            reason = name.partition("/")[0]
            reasons[reason] = reasons.get(reason, 0) + count
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            _share_cause(concerned, reason, describe_drop_reason(reason), count)
        for version in ("ip", "ip6"):
            for name, count in delta.under(f"{namespace}/{version}"):
                _share_cause(concerned, f"{version}_{name}", describe_ip_counter(name), count)


def _collect_drop_reasons(interfaces: Interfaces, delta: CounterDelta) -> dict[str, int]:
    """Return the kernel's drop reasons on these interfaces, which are in one namespace."""
    names, counts = {get_interface(place) for place in interfaces}, dict[str, int]()
    for name, count in delta.under(f"{_get_namespace(interfaces[0])}/kernel"):
        reason, _, where = name.partition("/")
        if where in names:
            counts[reason] = counts.get(reason, 0) + count
    return counts


def _get_namespace(place: str) -> str:
    return place.partition("/")[0]


def _share_cause(hops: Sequence[HopDraft], name: str, text: str, count: int) -> None:
    """Attribute one cause to several hops, in proportion to their unattributed loss."""
    open_counts = [hop.unattributed_count for hop in hops]
    remaining_count, remaining_open = min(count, sum(open_counts)), sum(open_counts)
    for hop, open_count in zip(hops, open_counts, strict=True):
        share_count = round(remaining_count * open_count / remaining_open) if remaining_open else 0
        remaining_count -= hop.attribute(name, text, share_count)
        remaining_open -= open_count


def describe_drop_reason(reason: str) -> str:
    """Return the text for a drop reason of the kernel, followed by its name."""
    return f"{DROP_REASONS[reason]} [{reason}]" if reason in DROP_REASONS else f"dropped by the kernel [{reason}]"


def describe_ip_counter(counter: str) -> str:
    """Return the text for a counter of the IP layer."""
    return IP_COUNTERS.get(counter, counter)
