"""The hops of one way through a lab, with the frames that came to each and got past it.

Chains that share their tester ports also share a way: what several chains' interfaces counted at one hop is added up.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from nodrop.model.lab_plan import LabPlan
from nodrop.model.ledger import Cause, Hop, Side
from nodrop.model.trial import TrialResult
from nodrop.observe.devices import DeviceKind, chains_between, devices


class CounterDelta:
    """Counters by name, as much as they grew; a counter that is not there counted nothing."""

    def __init__(self, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        self._grown = {name: max(0, count - before.get(name, 0)) for name, count in after.items()}
        self._under: dict[str, list[tuple[str, int]]] = {}
        for name, count in self._grown.items():
            if count:
                self._file(name, count)

    def __contains__(self, name: str) -> bool:
        """Whether the host has this counter."""
        return name in self._grown

    def count(self, *names: str) -> int:
        """Growth of these counters together."""
        return sum(self._grown.get(name, 0) for name in names)

    def under(self, place: str) -> Iterator[tuple[str, int]]:
        """Counters that grew whose name starts with this place, as the rest of their name and their growth."""
        yield from self._under.get(place, ())

    def _file(self, name: str, count: int) -> None:
        """Under every place it is in: with many chains, going through all counters for each place takes too long."""
        at = name.find("/")
        while at >= 0:
            self._under.setdefault(name[:at], []).append((name[at + 1 :], count))
            at = name.find("/", at + 1)


PROCESS = "vnf"
"""Name in the counters of what processes that forward show of themselves; their interfaces have names of their own."""

NAMESPACE_OF_PROCESSES, RECEIVED = "sut", "/rx_packets"

Kind = Literal["send", "wire", "path", "ring", "device", "receive"]
Interfaces = tuple[str, ...]
"""Interfaces as in the names of counters, one for each chain, or one that chains share: `sut/sut0`."""


class Segment(NamedTuple):
    """A stretch of a way that ends where somebody counts frames."""

    kind: Kind
    nears: Interfaces
    """Where it begins."""
    fars: Interfaces
    """Where it ends."""
    device: DeviceKind = "forwarder"
    """Which device it leads through, or into whose ring."""

    def place(self, delta: CounterDelta) -> str:
        """DeviceKind it is called."""
        near, far = format_interfaces(self.nears), format_interfaces(self.fars)
        who = self._forwarder_name(delta)
        return {
            "send": f"the tester's sender on {far}",
            "wire": f"the wire {near} → {far}",
            "path": f"the SUT, {near} → {far}",
            "ring": f"{who}'s receive ring of {far}",
            "device": f"{who}, {near} to {far}",
            "receive": f"the tester's receiver on {near}",
        }[self.kind]

    def _forwarder_name(self, delta: CounterDelta) -> str:
        if self.device != "forwarder":
            return {"edge": "the edge switch", "router": "the router in the path"}[self.device]
        return "the VNF" if self.kind == "ring" or is_forwarded_by_process(self.nears, delta) else "the SUT"

    @property
    def side(self) -> Side:
        """Whose it is; an edge switch and routers in the path lie between tester and SUT."""
        if self.kind in ("send", "receive"):
            return "tester"
        if self.device != "forwarder":
            return "wire"
        if self.kind == "path":
            return "sut"
        at_tester = any(place.startswith("tester/") for place in (*self.nears, *self.fars))
        return "wire" if self.kind == "wire" and at_tester else "sut"

    def passed_count(self, delta: CounterDelta) -> int:
        """Frames that whoever stands at its end counted."""
        if self.kind == "ring":
            return delta.count(*(f"{PROCESS}/{interface_of(far)}/received" for far in self.fars))
        if self.kind in ("wire", "path"):
            return delta.count(*(f"{far}/rx_packets" for far in self.fars))
        # A frame its interface tried to send and could not has got past: it was refused at the wire's other end.
        return delta.count(*(f"{far}/{name}" for far in self.fars for name in ("tx_packets", "tx_dropped")))


class HopDraft:
    """A hop in the making."""

    def __init__(self, segment: Segment, place: str, in_count: int, out_count: int) -> None:
        self.segment, self.place = segment, place
        self.in_count, self.out_count = in_count, out_count
        self.causes: list[Cause] = []

    @property
    def unattributed_count(self) -> int:
        """Frames lost here without a cause so far."""
        return self.in_count - self.out_count - sum(cause.count for cause in self.causes)

    def attribute(self, name: str, text: str, count: int) -> int:
        """Name a cause for as many of the frames lost here as still lack one; gives how many it was."""
        taken = max(0, min(count, self.unattributed_count))
        if taken:
            self.causes.append(Cause(name=name, text=text, count=taken))
        return taken

    def build(self) -> Hop:
        """As a value."""
        side, causes = self.segment.side, tuple(self.causes)
        return Hop(place=self.place, side=side, in_count=self.in_count, out_count=self.out_count, causes=causes)


class PathDraft(NamedTuple):
    """One way with its hops in the making, and what its counters say that does not fit."""

    tx_port: int
    rx_port: int
    hops: list[HopDraft]
    remarks: list[str]


def draft_path(result: TrialResult, lab: LabPlan, way: tuple[int, int], delta: CounterDelta) -> PathDraft:
    """A way hop by hop; counts never grow along it and never fall below what was received."""
    streams = [stream for stream in result.streams if (stream.tx_port, stream.rx_port) == way]
    offered_count = sum(stream.offered_count for stream in streams)
    received_count = sum(stream.received_count for stream in streams)
    unsent_count = sum(stream.intended_count for stream in streams) - offered_count if result.unsent_count else 0
    send, *between, receive = _segments(lab, *way, delta)
    others = _other_counts(result, *way, between)
    draft = PathDraft(*way, [HopDraft(send, send.place(delta), offered_count + unsent_count, offered_count)], [])
    came_count = offered_count
    for segment in between:
        counted = segment.passed_count(delta) - others.get(segment.fars, 0)
        draft.remarks.extend(_remarks(segment, counted, came_count, received_count))
        passed_count = max(min(counted, came_count), received_count)
        draft.hops.append(HopDraft(segment, segment.place(delta), came_count, passed_count))
        came_count = passed_count
    draft.hops.append(HopDraft(receive, receive.place(delta), came_count, received_count))
    return draft


def interface_of(place: str) -> str:
    """`sut0` of `sut/sut0`."""
    return place.partition("/")[2]


def format_interfaces(interfaces: Interfaces) -> str:
    """`sut0`, or the first and the last of several."""
    first, last = (interface_of(place) for place in (interfaces[0], interfaces[-1])) if interfaces else ("", "")
    return first if first == last else f"{first} … {last}"


def is_forwarded_by_process(interfaces: Interfaces, delta: CounterDelta) -> bool:
    """Whether frames of interfaces go to processes that show their counters, not to the kernel."""
    return bool(interfaces) and f"{PROCESS}/{interface_of(interfaces[0])}/received" in delta


def has_pending_counts(delta: CounterDelta) -> bool:
    """Whether a process has not shown yet what became of all frames that its interfaces received."""
    received = (item for item in delta.under(NAMESPACE_OF_PROCESSES) if item[0].endswith(RECEIVED))
    for name, count in received:
        own = f"{PROCESS}/{name.removesuffix(RECEIVED)}"
        if f"{own}/received" in delta and count > delta.count(f"{own}/received", f"{own}/receive_dropped"):
            return True
    return False


def _segments(lab: LabPlan, tx_port: int, rx_port: int, delta: CounterDelta) -> Iterator[Segment]:
    near: Interfaces = (f"tester/{lab.tester_interfaces[tx_port]}",)
    yield Segment("send", (), near)
    paths = [devices(lab, chain, side) for chain, side in chains_between(lab, tx_port, rx_port)]
    for alike in zip(*paths, strict=True):
        # Chains that share an interface name it each, and it counts once.
        entry = tuple(dict.fromkeys(device.entry for device in alike))
        leave = tuple(dict.fromkeys(device.exit for device in alike))
        what = alike[0].kind
        yield Segment("wire", near, entry)
        if is_forwarded_by_process(entry, delta):
            yield Segment("ring", (), entry, what)
        yield Segment("device", entry, leave, what)
        near = leave
    last = (f"tester/{lab.tester_interfaces[rx_port]}",)
    yield Segment("path" if lab.sut in ("ext", "openstack") else "wire", near, last)
    yield Segment("receive", last, ())


def _other_counts(result: TrialResult, tx_port: int, rx_port: int, between: list[Segment]) -> dict[Interfaces, int]:
    """ARP and neighbour discovery that interfaces counted as well: on the way to the first forwarder what the tester's
    sending port said, from the last one on what its receiving port heard.
    """
    said = {counts.port: counts.sent_count for counts in result.neighbors}
    heard = {counts.port: counts.heard_count for counts in result.neighbors}
    own = [
        position for position, segment in enumerate(between) if segment.kind == "device" and segment.device != "edge"
    ]
    first, last = (own[0], own[-1]) if own else (len(between), len(between))
    before = {segment.fars: said.get(tx_port, 0) for segment in between[: max(first, 1)]}
    return before | {segment.fars: heard.get(rx_port, 0) for segment in between[last:]}


def _remarks(segment: Segment, counted: int, came_count: int, received_count: int) -> Iterator[str]:
    who = (
        {"edge": "the edge switch"}.get(segment.device, "the VNF")
        if segment.kind == "ring"
        else format_interfaces(segment.fars)
    )
    if counted > came_count:
        yield f"{who} counted {counted - came_count} frames more than came to it"
    if counted < received_count:
        yield f"{who} counted {received_count - counted} frames fewer than arrived"
