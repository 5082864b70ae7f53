"""From counters read before and after a trial to a ledger of its lost frames. Pure.

A way is cut into hops at the places where somebody counts frames. What came to a hop and did not get past it was lost
there: that much always adds up to the trial's loss. Drop counters then say why; they never say more than was lost.
"""

from collections.abc import Sequence
from itertools import pairwise

from nodrop.model.lab_plan import LabPlan
from nodrop.model.ledger import LossLedger, DirectionLedger
from nodrop.model.trial import TrialResult
from nodrop.observe.cause_text import ip_text, reason_text
from nodrop.observe.path_hops import PROCESS, Difference, Draft, Draw, Places, draw, interface_of, is_process, named

NO_CAUSES = frozenset({"received", "sent", "originated", "receive_dropped", "send_dropped"})
"""Of a forwarding process's counters for a port, those that are no reason of its own to drop what came in there."""


def loss_ledger(result: TrialResult, lab: LabPlan, grown: Difference) -> LossLedger:
    """Where the frames of a trial were lost.

    Args:
        result: the trial.
        lab: what it ran in.
        grown: what the host counted meanwhile.
    """
    ways = sorted({(stream.tx_port, stream.rx_port) for stream in result.streams})
    draws = [draw(result, lab, way, grown) for way in ways]
    for drawn in draws:
        _blame_counters(drawn, grown)
    hops = [hop for drawn in draws for hop in drawn.hops]
    _blame_tester(result, draws, grown)
    _blame_kernel([hop for hop in hops if hop.segment.kind == "device"], grown)
    return LossLedger(
        ways=tuple(
            DirectionLedger(tx_port=drawn.tx_port, rx_port=drawn.rx_port, hops=tuple(hop.done() for hop in drawn.hops))
            for drawn in draws
        ),
        remarks=tuple(remark for drawn in draws for remark in drawn.remarks),
    )


def _blame_counters(drawn: Draw, grown: Difference) -> None:
    """Causes that only this way's frames can have had: queues and interfaces belong to one direction each."""
    send, first_wire, *_ = drawn.hops
    (sender,) = send.segment.fars
    refused_count = grown.count(f"{sender}/tx_dropped", f"{sender}/tx_errors")
    told_count = _blame_arrival(send, first_wire.segment.fars, refused_count, grown)
    send.blame("not_sent", "not sent in time", send.unnamed_count)
    _blame_queues(first_wire, (sender,), grown)
    for before, hop in pairwise(drawn.hops):
        if hop.segment.kind == "wire":
            _blame_wire(hop, told_count if hop is first_wire else 0, grown)
        elif hop.segment.kind == "ring":
            _blame_ring(hop, _refused_count([before], grown), grown)
        elif hop.segment.kind == "device":
            _blame_device(hop, grown)


def _blame_ring(hop: Draft, refused_count: int, grown: Difference) -> None:
    """The process's count has what the interface refused before the ring in it."""
    rings = (f"{PROCESS}/{interface_of(far)}/receive_dropped" for far in hop.segment.fars)
    hop.blame("ring_full", "the ring was full", grown.count(*rings) - refused_count)


def _refused_count(wires: Sequence[Draft], grown: Difference) -> int:
    """Frames that interfaces, the far ends of these wires, dropped before they counted them as received.

    Where an XDP program hands frames to AF_XDP sockets, drivers count those that find the ring full both as received
    and as dropped: no more were refused than the wires lost.
    """
    lost_count = sum(wire.in_count - wire.out_count for wire in wires)
    return min(lost_count, grown.count(*(f"{far}/rx_dropped" for far in wires[0].segment.fars)))


def _blame_device(hop: Draft, grown: Difference) -> None:
    """Causes between two interfaces of what forwards; those of several chains' together."""
    own: dict[str, int] = {}
    for near in hop.segment.nears:
        for name, count in grown.below(f"{PROCESS}/{interface_of(near)}"):
            own[name] = own.get(name, 0) + count
    for name in own.keys() - NO_CAUSES:
        hop.blame(f"vnf_{name}", f"dropped as {name.replace('_', ' ')}", own[name])
    for near in hop.segment.nears:
        for name, count in grown.below(f"{near}/driver"):
            hop.blame("driver_dropped", f"dropped by the driver of {interface_of(near)} ({name})", count)
    _blame_queues(hop, hop.segment.fars, grown)
    refused = (f"{PROCESS}/{interface_of(far)}/send_dropped" for far in hop.segment.fars)
    hop.blame("send_refused", f"refused by {named(hop.segment.fars)}", grown.count(*refused))


def _blame_queues(hop: Draft, places: Places, grown: Difference) -> None:
    for place in places:
        for name, count in grown.below(f"{place}/qdisc"):
            kind, _, counter = name.partition("/")
            if counter == "dropped":
                text = f"dropped by the queueing discipline {kind} of {interface_of(place)}"
                hop.blame("queue_dropped", text, count)


def _blame_wire(hop: Draft, told_count: int, grown: Difference) -> None:
    """A frame refused at the far end of a wire is counted there, at the near end, or both; or its sender was told."""
    nears, fars = hop.segment.nears, hop.segment.fars
    refused_count = grown.count(*(f"{near}/{name}" for near in nears for name in ("tx_dropped", "tx_errors")))
    dropped = ("rx_dropped", "rx_errors", "rx_fifo")
    dropped_count = grown.count(*(f"{far}/{name}" for far in fars for name in dropped))
    _blame_arrival(hop, fars, max(refused_count, dropped_count) - told_count, grown)


def _blame_arrival(hop: Draft, places: Places, refused_count: int, grown: Difference) -> int:
    """Why so many frames were not let in at interfaces; gives how many of them were lost at this hop."""
    where, left_count = named(places), refused_count
    backlog_count = sum(count for name, count in grown.below("host/softnet") if name.endswith("/dropped"))
    text = f"the host's backlog before {where} was full (net.core.netdev_max_backlog)"
    left_count -= hop.blame("backlog_full", text, min(left_count, backlog_count))
    for reason, count in sorted(_reasons(places, grown).items(), key=lambda item: -item[1]):
        left_count -= hop.blame(reason, f"{reason_text(reason)} at {where}", min(left_count, count))
    left_count -= hop.blame("receive_refused", f"refused by {where}: down, or its MTU too small", left_count)
    return refused_count - left_count


def _blame_tester(result: TrialResult, draws: Sequence[Draw], grown: Difference) -> None:
    """What the tester's receivers did not take; the engine tells it for all ports together.

    Frames that arrived with other content than was sent count as lost; where on the way they changed, nobody sees.
    """
    hops = [drawn.hops[-1] for drawn in draws]
    wires: dict[Places, list[Draft]] = {}
    for drawn in draws:
        wires.setdefault(drawn.hops[-1].segment.nears, []).append(drawn.hops[-2])
    behind_count = result.tester_drop_count - sum(_refused_count(into, grown) for into in wires.values())
    _share(hops, "tester_dropped", "the tester's receive queue was full", behind_count)
    _share(hops, "corrupted", "arrived with other content than was sent", result.corrupted_count)


def _blame_kernel(hops: Sequence[Draft], grown: Difference) -> None:
    """Causes that the kernel tells for a namespace, not for a direction.

    Where a process forwards, the kernel drops every frame that the process has taken its copy of: those say nothing.
    """
    by_namespace: dict[str, list[Draft]] = {}
    for hop in hops:
        if not is_process(hop.segment.nears, grown):
            by_namespace.setdefault(_namespace(hop.segment.nears[0]), []).append(hop)
    for namespace, concerned in by_namespace.items():
        reasons: dict[str, int] = {}
        for name, count in grown.below(f"{namespace}/kernel"):
            reason = name.partition("/")[0]
            reasons[reason] = reasons.get(reason, 0) + count
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            _share(concerned, reason, reason_text(reason), count)
        for version in ("ip", "ip6"):
            for name, count in grown.below(f"{namespace}/{version}"):
                _share(concerned, f"{version}_{name}", ip_text(name), count)


def _reasons(places: Places, grown: Difference) -> dict[str, int]:
    """Kernel drop reasons on these interfaces, which are in one namespace."""
    interfaces, counts = {interface_of(place) for place in places}, dict[str, int]()
    for name, count in grown.below(f"{_namespace(places[0])}/kernel"):
        reason, _, where = name.partition("/")
        if where in interfaces:
            counts[reason] = counts.get(reason, 0) + count
    return counts


def _namespace(place: str) -> str:
    return place.partition("/")[0]


def _share(hops: Sequence[Draft], name: str, text: str, count: int) -> None:
    """Blame one cause at several hops, in proportion to what each still has to explain."""
    open_counts = [hop.unnamed_count for hop in hops]
    remaining_count, remaining_open = min(count, sum(open_counts)), sum(open_counts)
    for hop, open_count in zip(hops, open_counts, strict=True):
        share_count = round(remaining_count * open_count / remaining_open) if remaining_open else 0
        remaining_count -= hop.blame(name, text, share_count)
        remaining_open -= open_count
