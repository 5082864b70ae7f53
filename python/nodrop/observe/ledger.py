"""From counters read before and after a trial to a ledger of its lost frames. Pure.

A way is cut into hops at the places where somebody counts frames. What came to a hop and did not get past it was lost
there: that much always adds up to the trial's loss. Drop counters then say why; they never say more than was lost.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.model.facts import StageFacts
from nodrop.model.ledger import Cause, Hop, LossLedger, Side, Way
from nodrop.model.trial import TrialResult
from nodrop.observe.difference import Difference
from nodrop.observe.wording import ip_text, reason_text

PROCESS = "vnf"
"""Name in the counters of what the processes that forward show of themselves, each of its own interfaces."""

NO_CAUSES = frozenset({"received", "sent", "consumed", "originated", "receive_dropped", "send_dropped"})
"""Of the forwarding process's counters for a port, those that are no reason of its own to drop what came in there."""


class Draft:
    """A hop in the making."""

    def __init__(self, place: str, side: Side, in_count: int, out_count: int) -> None:
        self.place, self.side = place, side
        self.in_count, self.out_count = in_count, out_count
        self.causes: list[Cause] = []

    @property
    def unnamed_count(self) -> int:
        """Frames lost here without a cause so far."""
        return self.in_count - self.out_count - sum(cause.count for cause in self.causes)

    def blame(self, name: str, text: str, count: int) -> int:
        """Name a cause for as many of the frames lost here as still lack one; gives how many it was."""
        taken = max(0, min(count, self.unnamed_count))
        if taken:
            self.causes.append(Cause(name=name, text=text, count=taken))
        return taken

    def done(self) -> Hop:
        """As a value."""
        return Hop(
            place=self.place,
            side=self.side,
            in_count=self.in_count,
            out_count=self.out_count,
            causes=tuple(self.causes),
        )


class Ends(NamedTuple):
    """The interfaces of one way, in the order frames pass them; those of the SUT are empty where there is none."""

    tester_out: str
    sut_in: str
    sut_out: str
    tester_in: str


class Mark(NamedTuple):
    """A place where frames are counted, and the hop that ends there."""

    place: str
    side: Side
    passed_count: int
    counter: str
    """Who counts, for remarks."""


class Track(NamedTuple):
    """One way: where it begins and ends, and the interfaces between."""

    tx_port: int
    rx_port: int
    ends: Ends


class Draw(NamedTuple):
    """One way with its hops in the making."""

    track: Track
    hops: dict[str, Draft]
    """By what they are: send, outward, ring, sut, homeward, receive."""


def loss_ledger(result: TrialResult, facts: StageFacts, grown: Difference) -> LossLedger:
    """Where the frames of a trial were lost.

    Args:
        result: the trial.
        facts: the lab it ran in; the SUT's n-th interface is wired to the tester's n-th.
        grown: what the host counted meanwhile.
    """
    remarks: list[str] = []
    ways = sorted({(stream.tx_port, stream.rx_port) for stream in result.streams})
    draws = [_draw(result, Track(*way, _ends(facts, *way)), grown, remarks) for way in ways]
    for draw in draws:
        _blame_interfaces(draw, grown)
    _blame_tester(result, draws, grown)
    _blame_kernel(draws, grown)
    return LossLedger(ways=tuple(_way(draw) for draw in draws), remarks=tuple(remarks))


def _ends(facts: StageFacts, tx_port: int, rx_port: int) -> Ends:
    tester = [interface.name for interface in facts.interfaces if interface.namespace == "tester"]
    sut = [interface.name for interface in facts.interfaces if interface.namespace == "sut"]
    if not sut:
        return Ends(tester[tx_port], "", "", tester[rx_port])
    return Ends(tester[tx_port], sut[tx_port], sut[rx_port], tester[rx_port])


def _draw(result: TrialResult, track: Track, grown: Difference, remarks: list[str]) -> Draw:
    """The hops of a way with their counts, which never grow along it and never fall below what was received."""
    ends = track.ends
    streams = [stream for stream in result.streams if (stream.tx_port, stream.rx_port) == track[:2]]
    offered_count = sum(stream.offered_count for stream in streams)
    received_count = sum(stream.received_count for stream in streams)
    unsent_count = sum(stream.intended_count for stream in streams) - offered_count if result.unsent_count else 0
    hops = {
        "send": Draft(
            f"the tester's sender on {ends.tester_out}", "tester", offered_count + unsent_count, offered_count
        )
    }
    passed_count = offered_count
    for kind, mark in _marks(ends, grown):
        if mark.passed_count > passed_count:
            remarks.append(f"{mark.counter} counted {mark.passed_count - passed_count} frames more than came to it")
        if mark.passed_count < received_count:
            remarks.append(f"{mark.counter} counted {received_count - mark.passed_count} frames fewer than arrived")
        settled_count = max(min(mark.passed_count, passed_count), received_count)
        hops[kind] = Draft(mark.place, mark.side, passed_count, settled_count)
        passed_count = settled_count
    hops["receive"] = Draft(f"the tester's receiver on {ends.tester_in}", "tester", passed_count, received_count)
    return Draw(track, hops)


def _marks(ends: Ends, grown: Difference) -> Iterator[tuple[str, Mark]]:
    """Where frames of a way are counted between the tester's two ends."""
    entered, left = f"sut/{ends.sut_in}", f"sut/{ends.sut_out}"
    arrived_count = grown.count(f"tester/{ends.tester_in}/rx_packets")
    if ends.sut_in:
        entered_count = grown.count(f"{entered}/rx_packets")
        yield "outward", Mark(f"the wire {ends.tester_out} → {ends.sut_in}", "wire", entered_count, ends.sut_in)
        taken, forwarder = f"{PROCESS}/{ends.sut_in}/received", "the SUT"
        if taken in grown:
            forwarder = "the VNF"
            yield "ring", Mark(f"the VNF's receive ring of {ends.sut_in}", "sut", grown.count(taken), forwarder)
        # A frame its interface tried to send and could not has left the SUT: it was refused at the wire's other end.
        left_count = grown.count(f"{left}/tx_packets", f"{left}/tx_dropped")
        yield "sut", Mark(f"{forwarder}, {ends.sut_in} to {ends.sut_out}", "sut", left_count, ends.sut_out)
    near = ends.sut_out or ends.tester_out
    yield "homeward", Mark(f"the wire {near} → {ends.tester_in}", "wire", arrived_count, ends.tester_in)


def _blame_interfaces(draw: Draw, grown: Difference) -> None:
    """Causes that only this way's frames can have had: queues and interfaces belong to one direction each."""
    ends, hops = draw.track.ends, draw.hops
    tester_out, tester_in = f"tester/{ends.tester_out}", f"tester/{ends.tester_in}"
    first, first_in = ("outward", f"sut/{ends.sut_in}") if ends.sut_in else ("homeward", tester_in)
    refused_count = grown.count(f"{tester_out}/tx_dropped", f"{tester_out}/tx_errors")
    told_count = _blame_arrival(hops["send"], first_in, refused_count, grown)
    hops["send"].blame("not_sent", "not sent in time", hops["send"].unnamed_count)
    _blame_queues(hops[first], tester_out, grown)
    if ends.sut_in:
        _blame_wire(hops["outward"], first_in, refused_count, told_count, grown)
        _blame_sut(ends, hops, grown)
        refused_count, told_count = grown.count(f"sut/{ends.sut_out}/tx_dropped"), 0
    _blame_wire(hops["homeward"], tester_in, refused_count, told_count, grown)


def _blame_sut(ends: Ends, hops: dict[str, Draft], grown: Difference) -> None:
    """Causes between the SUT's two interfaces."""
    sut_in, sut_out = f"sut/{ends.sut_in}", f"sut/{ends.sut_out}"
    if "ring" in hops:
        # The VNF's count has what the interface dropped before the ring in it.
        full_count = grown.count(f"{PROCESS}/{ends.sut_in}/receive_dropped") - grown.count(f"{sut_in}/rx_dropped")
        hops["ring"].blame("ring_full", "the ring was full", full_count)
        for name, count in grown.below(f"{PROCESS}/{ends.sut_in}"):
            if name not in NO_CAUSES:
                hops["sut"].blame(f"vnf_{name}", f"dropped as {name.replace('_', ' ')}", count)
    _blame_drivers(hops["sut"], sut_in, grown)
    _blame_queues(hops["sut"], sut_out, grown)
    refused_count = grown.count(f"{PROCESS}/{ends.sut_out}/send_dropped")
    hops["sut"].blame("send_refused", f"refused by {ends.sut_out}", refused_count)


def _blame_queues(hop: Draft, place: str, grown: Difference) -> None:
    for name, count in grown.below(f"{place}/qdisc"):
        kind, _, counter = name.partition("/")
        if counter == "dropped":
            hop.blame("queue_dropped", f"dropped by the queueing discipline {kind} of {_interface(place)}", count)


def _blame_drivers(hop: Draft, place: str, grown: Difference) -> None:
    for name, count in grown.below(f"{place}/driver"):
        hop.blame("driver_dropped", f"dropped by the driver of {_interface(place)} ({name})", count)


def _blame_wire(hop: Draft, place: str, refused_count: int, told_count: int, grown: Difference) -> None:
    """A frame refused at the far end of a wire is counted there, at the near end, or both; or its sender was told."""
    dropped_count = grown.count(f"{place}/rx_dropped", f"{place}/rx_errors", f"{place}/rx_fifo")
    _blame_arrival(hop, place, max(refused_count, dropped_count) - told_count, grown)


def _blame_arrival(hop: Draft, place: str, refused_count: int, grown: Difference) -> int:
    """Why so many frames were not let in at an interface; gives how many of them were lost at this hop."""
    interface, left_count = _interface(place), refused_count
    backlog_count = sum(count for name, count in grown.below("host/softnet") if name.endswith("/dropped"))
    text = f"the host's backlog before {interface} was full (net.core.netdev_max_backlog)"
    left_count -= hop.blame("backlog_full", text, min(left_count, backlog_count))
    for reason, count in sorted(_reasons(place, grown).items(), key=lambda item: -item[1]):
        left_count -= hop.blame(reason, f"{reason_text(reason)} at {interface}", min(left_count, count))
    left_count -= hop.blame("receive_refused", f"refused by {interface}: down, or its MTU too small", left_count)
    return refused_count - left_count


def _interface(place: str) -> str:
    return place.partition("/")[2]


def _blame_tester(result: TrialResult, draws: Sequence[Draw], grown: Difference) -> None:
    """What the tester's receive path dropped behind its interfaces; the engine tells it for all ports together."""
    interfaces = {f"tester/{draw.track.ends.tester_in}/rx_dropped" for draw in draws}
    behind_count = result.tester_drop_count - grown.count(*interfaces)
    hops = [draw.hops["receive"] for draw in draws]
    _share(hops, "tester_dropped", "the tester's receive queue was full", behind_count)


def _blame_kernel(draws: Sequence[Draw], grown: Difference) -> None:
    """Causes that the kernel tells for the SUT's namespace, not for a direction.

    Where a process forwards, the kernel drops every frame that the process has taken its copy of: those say nothing.
    """
    hops = [draw.hops["sut"] for draw in draws if "sut" in draw.hops and "ring" not in draw.hops]
    reasons: dict[str, int] = {}
    for name, count in grown.below("sut/kernel"):
        reason, _, _interface = name.partition("/")
        reasons[reason] = reasons.get(reason, 0) + count
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
        _share(hops, reason, reason_text(reason), count)
    for version in ("ip", "ip6"):
        for name, count in grown.below(f"sut/{version}"):
            _share(hops, f"{version}_{name}", ip_text(name), count)


def _reasons(place: str, grown: Difference) -> dict[str, int]:
    """Kernel drop reasons on one interface."""
    namespace, interface = place.split("/")
    named = ((*name.partition("/"), count) for name, count in grown.below(f"{namespace}/kernel"))
    return {reason: count for reason, _, where, count in named if where == interface}


def _share(hops: Sequence[Draft], name: str, text: str, count: int) -> None:
    """Blame one cause at several hops, in proportion to what each still has to explain."""
    open_counts = [hop.unnamed_count for hop in hops]
    remaining_count, remaining_open = min(count, sum(open_counts)), sum(open_counts)
    for hop, open_count in zip(hops, open_counts, strict=True):
        share_count = round(remaining_count * open_count / remaining_open) if remaining_open else 0
        remaining_count -= hop.blame(name, text, share_count)
        remaining_open -= open_count


def _way(draw: Draw) -> Way:
    hops = tuple(hop.done() for hop in draw.hops.values())
    return Way(tx_port=draw.track.tx_port, rx_port=draw.track.rx_port, hops=hops)
