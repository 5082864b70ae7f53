"""The hops of one way through a lab, with the frames that came to each and got past it.

Chains that share their tester ports also share a way: what several chains' interfaces counted at one hop is added up.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from nodrop.model.lab_plan import LabPlan
from nodrop.model.ledger import Cause, Hop, Side
from nodrop.model.trial import TrialResult
from nodrop.observe.devices import What, chains_between, devices


class Difference:
    """Counters by name, as much as they grew; a counter that is not there counted nothing."""

    def __init__(self, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        self._grown = {name: max(0, count - before.get(name, 0)) for name, count in after.items()}
        self._below: dict[str, list[tuple[str, int]]] = {}
        for name, count in self._grown.items():
            if count:
                self._file(name, count)

    def __contains__(self, name: str) -> bool:
        """Whether the host has this counter."""
        return name in self._grown

    def count(self, *names: str) -> int:
        """Growth of these counters together."""
        return sum(self._grown.get(name, 0) for name in names)

    def below(self, place: str) -> Iterator[tuple[str, int]]:
        """Counters that grew whose name starts with this place, as the rest of their name and their growth."""
        yield from self._below.get(place, ())

    def _file(self, name: str, count: int) -> None:
        """Under every place it is in: with many chains, going through all counters for each place takes too long."""
        at = name.find("/")
        while at >= 0:
            self._below.setdefault(name[:at], []).append((name[at + 1 :], count))
            at = name.find("/", at + 1)


PROCESS = "vnf"
"""Name in the counters of what processes that forward show of themselves; their interfaces have names of their own."""

NAMESPACE_OF_PROCESSES, RECEIVED = "sut", "/rx_packets"

Kind = Literal["send", "wire", "path", "ring", "device", "receive"]
Places = tuple[str, ...]
"""Interfaces as in the names of counters, one for each chain, or one that chains share: `sut/sut0`."""


class Segment(NamedTuple):
    """A stretch of a way that ends where somebody counts frames."""

    kind: Kind
    nears: Places
    """Where it begins."""
    fars: Places
    """Where it ends."""
    what: What = "forwarder"
    """Which device it leads through, or into whose ring."""

    def place(self, grown: Difference) -> str:
        """What it is called."""
        near, far = named(self.nears), named(self.fars)
        who = self._who(grown)
        return {
            "send": f"the tester's sender on {far}",
            "wire": f"the wire {near} → {far}",
            "path": f"the SUT, {near} → {far}",
            "ring": f"{who}'s receive ring of {far}",
            "device": f"{who}, {near} to {far}",
            "receive": f"the tester's receiver on {near}",
        }[self.kind]

    def _who(self, grown: Difference) -> str:
        if self.what != "forwarder":
            return {"edge": "the edge switch", "router": "the router in the path"}[self.what]
        return "the VNF" if self.kind == "ring" or is_process(self.nears, grown) else "the SUT"

    @property
    def side(self) -> Side:
        """Whose it is; an edge switch and routers in the path lie between tester and SUT."""
        if self.kind in ("send", "receive"):
            return "tester"
        if self.what != "forwarder":
            return "wire"
        if self.kind == "path":
            return "sut"
        at_tester = any(place.startswith("tester/") for place in (*self.nears, *self.fars))
        return "wire" if self.kind == "wire" and at_tester else "sut"

    def passed_count(self, grown: Difference) -> int:
        """Frames that whoever stands at its end counted."""
        if self.kind == "ring":
            return grown.count(*(f"{PROCESS}/{interface_of(far)}/received" for far in self.fars))
        if self.kind in ("wire", "path"):
            return grown.count(*(f"{far}/rx_packets" for far in self.fars))
        # A frame its interface tried to send and could not has got past: it was refused at the wire's other end.
        return grown.count(*(f"{far}/{name}" for far in self.fars for name in ("tx_packets", "tx_dropped")))


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
        counted = segment.passed_count(grown) - others.get(segment.fars, 0)
        drawn.remarks.extend(_remarks(segment, counted, came_count, received_count))
        passed_count = max(min(counted, came_count), received_count)
        drawn.hops.append(Draft(segment, segment.place(grown), came_count, passed_count))
        came_count = passed_count
    drawn.hops.append(Draft(receive, receive.place(grown), came_count, received_count))
    return drawn


def interface_of(place: str) -> str:
    """`sut0` of `sut/sut0`."""
    return place.partition("/")[2]


def named(places: Places) -> str:
    """`sut0`, or the first and the last of several."""
    first, last = (interface_of(place) for place in (places[0], places[-1])) if places else ("", "")
    return first if first == last else f"{first} … {last}"


def is_process(places: Places, grown: Difference) -> bool:
    """Whether frames of interfaces go to processes that show their counters, not to the kernel."""
    return bool(places) and f"{PROCESS}/{interface_of(places[0])}/received" in grown


def is_behind(grown: Difference) -> bool:
    """Whether a process has not shown yet what became of all frames that its interfaces received."""
    received = (item for item in grown.below(NAMESPACE_OF_PROCESSES) if item[0].endswith(RECEIVED))
    for name, count in received:
        own = f"{PROCESS}/{name.removesuffix(RECEIVED)}"
        if f"{own}/received" in grown and count > grown.count(f"{own}/received", f"{own}/receive_dropped"):
            return True
    return False


def _segments(lab: LabPlan, tx_port: int, rx_port: int, grown: Difference) -> Iterator[Segment]:
    near: Places = (f"tester/{lab.tester_interfaces[tx_port]}",)
    yield Segment("send", (), near)
    paths = [devices(lab, chain, side) for chain, side in chains_between(lab, tx_port, rx_port)]
    for alike in zip(*paths, strict=True):
        # Chains that share an interface name it each, and it counts once.
        entry = tuple(dict.fromkeys(device.entry for device in alike))
        leave = tuple(dict.fromkeys(device.leave for device in alike))
        what = alike[0].what
        yield Segment("wire", near, entry)
        if is_process(entry, grown):
            yield Segment("ring", (), entry, what)
        yield Segment("device", entry, leave, what)
        near = leave
    last = (f"tester/{lab.tester_interfaces[rx_port]}",)
    yield Segment("path" if lab.sut in ("ext", "openstack") else "wire", near, last)
    yield Segment("receive", last, ())


def _other_counts(result: TrialResult, tx_port: int, rx_port: int, between: list[Segment]) -> dict[Places, int]:
    """ARP and neighbour discovery that interfaces counted as well: on the way to the first forwarder what the tester's
    sending port said, from the last one on what its receiving port heard.
    """
    said = {counts.port: counts.sent_count for counts in result.neighbors}
    heard = {counts.port: counts.heard_count for counts in result.neighbors}
    own = [position for position, segment in enumerate(between) if segment.kind == "device" and segment.what != "edge"]
    first, last = (own[0], own[-1]) if own else (len(between), len(between))
    before = {segment.fars: said.get(tx_port, 0) for segment in between[: max(first, 1)]}
    return before | {segment.fars: heard.get(rx_port, 0) for segment in between[last:]}


def _remarks(segment: Segment, counted: int, came_count: int, received_count: int) -> Iterator[str]:
    who = {"edge": "the edge switch"}.get(segment.what, "the VNF") if segment.kind == "ring" else named(segment.fars)
    if counted > came_count:
        yield f"{who} counted {counted - came_count} frames more than came to it"
    if counted < received_count:
        yield f"{who} counted {received_count - counted} frames fewer than arrived"
