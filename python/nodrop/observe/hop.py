"""The hops of one way through a lab, with the frames that came to each and got past it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from nodrop.model.ledger import Cause, Hop, Side
from nodrop.model.plan import LabPlan
from nodrop.model.trial import TrialResult
from nodrop.observe.difference import Difference

PROCESS = "vnf"
"""Name in the counters of what processes that forward show of themselves; their interfaces have names of their own."""

Kind = Literal["send", "wire", "ring", "forwarder", "receive"]


class Segment(NamedTuple):
    """A stretch of a way that ends where somebody counts frames."""

    kind: Kind
    near: str
    """Where it begins, as in the names of counters: `tester/tester0`."""
    far: str
    """Where it ends."""

    def place(self, grown: Difference) -> str:
        """What it is called."""
        near, far = interface_of(self.near), interface_of(self.far)
        forwarder = "the VNF" if is_process(near, grown) else "the SUT"
        return {
            "send": f"the tester's sender on {far}",
            "wire": f"the wire {near} → {far}",
            "ring": f"the VNF's receive ring of {far}",
            "forwarder": f"{forwarder}, {near} to {far}",
            "receive": f"the tester's receiver on {near}",
        }[self.kind]

    @property
    def side(self) -> Side:
        """Whose it is."""
        if self.kind in ("send", "receive"):
            return "tester"
        return "wire" if self.kind == "wire" and "tester" in (self.near[:6], self.far[:6]) else "sut"

    def passed_count(self, grown: Difference) -> int:
        """Frames that whoever stands at its end counted."""
        if self.kind == "ring":
            return grown.count(f"{PROCESS}/{interface_of(self.far)}/received")
        if self.kind == "wire":
            return grown.count(f"{self.far}/rx_packets")
        # A frame its interface tried to send and could not has got past: it was refused at the wire's other end.
        return grown.count(f"{self.far}/tx_packets", f"{self.far}/tx_dropped")


class Draft:
    """A hop in the making."""

    def __init__(self, segment: Segment, place: str, in_count: int, out_count: int) -> None:
        self.segment, self.place = segment, place
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
        side, causes = self.segment.side, tuple(self.causes)
        return Hop(place=self.place, side=side, in_count=self.in_count, out_count=self.out_count, causes=causes)


class Draw(NamedTuple):
    """One way with its hops in the making, and what its counters say that does not fit."""

    tx_port: int
    rx_port: int
    hops: list[Draft]
    remarks: list[str]


def draw(result: TrialResult, lab: LabPlan, way: tuple[int, int], grown: Difference) -> Draw:
    """A way hop by hop; counts never grow along it and never fall below what was received."""
    streams = [stream for stream in result.streams if (stream.tx_port, stream.rx_port) == way]
    offered_count = sum(stream.offered_count for stream in streams)
    received_count = sum(stream.received_count for stream in streams)
    unsent_count = sum(stream.intended_count for stream in streams) - offered_count if result.unsent_count else 0
    send, *between, receive = _segments(lab, *way, grown)
    others = _other_counts(result, *way, between)
    drawn = Draw(*way, [Draft(send, send.place(grown), offered_count + unsent_count, offered_count)], [])
    came_count = offered_count
    for segment in between:
        counted = segment.passed_count(grown) - others.get(segment.far, 0)
        drawn.remarks.extend(_remarks(segment, counted, came_count, received_count))
        passed_count = max(min(counted, came_count), received_count)
        drawn.hops.append(Draft(segment, segment.place(grown), came_count, passed_count))
        came_count = passed_count
    drawn.hops.append(Draft(receive, receive.place(grown), came_count, received_count))
    return drawn


def interface_of(place: str) -> str:
    """`sut0` of `sut/sut0`."""
    return place.partition("/")[2]


def is_process(interface: str, grown: Difference) -> bool:
    """Whether frames of an interface go to a process that shows its counters, not to the kernel."""
    return f"{PROCESS}/{interface}/received" in grown


def _segments(lab: LabPlan, tx_port: int, rx_port: int, grown: Difference) -> Iterator[Segment]:
    near = f"tester/{lab.tester_interfaces[tx_port]}"
    yield Segment("send", "", near)
    for entry, leave in _forwarders(lab, tx_port):
        yield Segment("wire", near, f"sut/{entry}")
        if is_process(entry, grown):
            yield Segment("ring", "", f"sut/{entry}")
        yield Segment("forwarder", f"sut/{entry}", f"sut/{leave}")
        near = f"sut/{leave}"
    last = f"tester/{lab.tester_interfaces[rx_port]}"
    yield Segment("wire", near, last)
    yield Segment("receive", last, "")


def _other_counts(result: TrialResult, tx_port: int, rx_port: int, between: list[Segment]) -> dict[str, int]:
    """ARP and neighbour discovery that interfaces counted as well: at the way's first what the tester's sending port
    said, at the last two what its receiving port heard.
    """
    said = {counts.port: counts.sent_count for counts in result.neighbors}
    heard = {counts.port: counts.heard_count for counts in result.neighbors}
    places = list(dict.fromkeys(segment.far for segment in between))
    return {places[0]: said.get(tx_port, 0)} | {place: heard.get(rx_port, 0) for place in places[-2:]}


def _forwarders(lab: LabPlan, tx_port: int) -> Iterator[tuple[str, str]]:
    """Interface in and interface out of every forwarder of a chain, in the order frames from this port meet them."""
    if not lab.forwarders:
        return
    first = tx_port // 2 * lab.hop_count
    chain = lab.forwarders[first : first + lab.hop_count]
    for forwarder in chain if tx_port % 2 == 0 else reversed(chain):
        near, far = (port.interface for port in forwarder.ports)
        yield (near, far) if tx_port % 2 == 0 else (far, near)


def _remarks(segment: Segment, counted: int, came_count: int, received_count: int) -> Iterator[str]:
    who = "the VNF" if segment.kind == "ring" else interface_of(segment.far)
    if counted > came_count:
        yield f"{who} counted {counted - came_count} frames more than came to it"
    if counted < received_count:
        yield f"{who} counted {received_count - counted} frames fewer than arrived"
