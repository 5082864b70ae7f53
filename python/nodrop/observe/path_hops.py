"""The hops of one direction through a lab, with the frames that reached and passed each.

Chains that share their tester ports also share a path: the counts of their interfaces at one hop are added up.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from nodrop.model.lab_plan import LabPlan
from nodrop.model.ledger import Cause, Hop, Side
from nodrop.model.trial import TrialResult
from nodrop.observe.devices import DeviceKind, iter_chains_between, list_devices


class CounterDelta:
    """Growth of counters between two readings, by name; a missing counter has not grown."""

    def __init__(self, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        self._grown = {name: max(0, count - before.get(name, 0)) for name, count in after.items()}
        self._under: dict[str, list[tuple[str, int]]] = {}
        for name, count in self._grown.items():
            if count:
                self._file(name, count)

    def __contains__(self, name: str) -> bool:
        """Return whether the host has this counter."""
        return name in self._grown

    def count(self, *names: str) -> int:
        """Return the growth of these counters together."""
        return sum(self._grown.get(name, 0) for name in names)

    def under(self, place: str) -> Iterator[tuple[str, int]]:
        """Yield the counters that grew under this name prefix, as the rest of their name and their growth."""
        yield from self._under.get(place, ())

    def _file(self, name: str, count: int) -> None:
        """Index a counter under every prefix of its name: with many chains, a scan per prefix takes too long."""
        at = name.find("/")
        while at >= 0:
            self._under.setdefault(name[:at], []).append((name[at + 1 :], count))
            at = name.find("/", at + 1)


PROCESS = "vnf"
"""Counter name prefix of forwarding processes, which count by interface."""

NAMESPACE_OF_PROCESSES = "sut"
PUBLISHED_AS = {"rx_packets": ("received", "receive_dropped"), "tx_packets": ("sent",)}
"""The kernel's counters of an interface, and those that the process publishes for the same frames."""

Kind = Literal["send", "wire", "path", "ring", "device", "receive"]
DEVICE_NAMES = {"edge": "the edge switch", "router": "the router in the path", "balancer": "the balancer"}
"""Devices between the tester and the forwarders, as in reports."""
Interfaces = tuple[str, ...]
"""Interfaces as in counter names (`sut/sut0`), one for each chain, or one that chains share."""


class Segment(NamedTuple):
    """A section of a path that ends at an interface or process that counts frames."""

    kind: Kind
    nears: Interfaces
    """The interfaces that it begins at."""
    fars: Interfaces
    """The interfaces that it ends at."""
    device: DeviceKind = "forwarder"
    """The kind of device that it crosses, or whose ring it ends in."""

    def place(self, delta: CounterDelta) -> str:
        """Return its description for users."""
        near, far = format_interfaces(self.nears), format_interfaces(self.fars)
        forwarder = self._forwarder_name(delta)
        return {
            "send": f"the tester's sender on {far}",
            "wire": f"the wire {near} → {far}",
            "path": f"the SUT, {near} → {far}",
            "ring": f"{forwarder}'s receive ring of {far}",
            "device": f"{forwarder}, {near} to {far}",
            "receive": f"the tester's receiver on {near}",
        }[self.kind]

    def _forwarder_name(self, delta: CounterDelta) -> str:
        if self.device != "forwarder":
            return DEVICE_NAMES[self.device]
        return "the VNF" if self.kind == "ring" or is_forwarded_by_process(self.nears, delta) else "the SUT"

    @property
    def side(self) -> Side:
        """The owner of the segment; an edge switch and routers in the path lie between tester and SUT."""
        if self.kind in ("send", "receive"):
            return "tester"
        if self.device not in ("forwarder", "balancer"):
            return "wire"
        if self.kind == "path":
            return "sut"
        at_tester = any(place.startswith("tester/") for place in (*self.nears, *self.fars))
        return "wire" if self.kind == "wire" and at_tester else "sut"

    def passed_count(self, delta: CounterDelta) -> int:
        """Return the frames counted at its end."""
        if self.kind == "ring":
            return delta.count(*(f"{PROCESS}/{get_interface(far)}/received" for far in self.fars))
        if self.kind in ("wire", "path"):
            return delta.count(*(f"{far}/rx_packets" for far in self.fars))
        # A frame that its interface failed to send has passed this segment: it was refused at the far end of the wire.
        return delta.count(*(f"{far}/{name}" for far in self.fars for name in ("tx_packets", "tx_dropped")))


class HopDraft:
    """A hop whose causes are still being attributed."""

    def __init__(self, segment: Segment, place: str, in_count: int, out_count: int) -> None:
        self.segment, self.place = segment, place
        self.in_count, self.out_count = in_count, out_count
        self.causes: list[Cause] = []

    @property
    def unattributed_count(self) -> int:
        """Frames lost at this hop without a cause so far."""
        return self.in_count - self.out_count - sum(cause.count for cause in self.causes)

    def attribute(self, name: str, text: str, count: int) -> int:
        """Attribute a cause to at most `count` unattributed frames; return how many."""
        attributed = max(0, min(count, self.unattributed_count))
        if attributed:
            self.causes.append(Cause(name=name, text=text, count=attributed))
        return attributed

    def build(self) -> Hop:
        """Return the finished hop."""
        side, causes = self.segment.side, tuple(self.causes)
        return Hop(place=self.place, side=side, in_count=self.in_count, out_count=self.out_count, causes=causes)


class PathDraft(NamedTuple):
    """One direction with its unfinished hops, and remarks on inconsistent counters."""

    tx_port: int
    rx_port: int
    hops: list[HopDraft]
    remarks: list[str]


def draft_path(result: TrialResult, lab: LabPlan, way: tuple[int, int], delta: CounterDelta) -> PathDraft:
    """Build the hops of a direction; counts never grow along it and never fall below the frames received."""
    streams = [stream for stream in result.streams if (stream.tx_port, stream.rx_port) == way]
    offered_count = sum(stream.offered_count for stream in streams)
    received_count = sum(stream.received_count for stream in streams)
    unsent_count = sum(stream.intended_count for stream in streams) - offered_count if result.unsent_count else 0
    send, *between, receive = _iter_segments(lab, *way, delta)
    neighbor_counts = _count_neighbor_frames(result, *way, between)
    probe_counts = count_probe_frames(lab, 0 if lab.port(0, 0) == way[0] else 1, delta)
    draft = PathDraft(*way, [HopDraft(send, send.place(delta), offered_count + unsent_count, offered_count)], [])
    came_count = offered_count
    for segment in between:
        other_count = neighbor_counts.get(segment.fars, 0) + probe_counts.get(segment.fars, 0)
        counted = segment.passed_count(delta) - other_count
        draft.remarks.extend(_list_remarks(segment, counted, came_count, received_count))
        passed_count = max(min(counted, came_count), received_count)
        draft.hops.append(HopDraft(segment, segment.place(delta), came_count, passed_count))
        came_count = passed_count
    draft.hops.append(HopDraft(receive, receive.place(delta), came_count, received_count))
    return draft


def count_probe_frames(lab: LabPlan, side: int, delta: CounterDelta) -> dict[Interfaces, int]:
    """Return the balancer's probes in the counts of a direction, by interfaces; those without an answer count up to the
    instances. Nothing else than the balancer tells them from test frames."""
    if not lab.balancer:
        return {}
    before, instances, behind = list_devices(lab, 0, side)
    sent_count = delta.count(*(f"{PROCESS}/{get_interface(place)}/originated" for place in before.exits))
    answered_count = delta.count(*(f"{PROCESS}/{get_interface(place)}/consumed" for place in behind.entries))
    return dict.fromkeys((before.exits, instances.entries), sent_count) | dict.fromkeys(
        (instances.exits, behind.entries), answered_count
    )


def get_interface(place: str) -> str:
    """Return `sut0` for `sut/sut0`."""
    return place.partition("/")[2]


def format_interfaces(interfaces: Interfaces) -> str:
    """Return `sut0`, or the first and the last of several interfaces."""
    first, last = (get_interface(place) for place in (interfaces[0], interfaces[-1])) if interfaces else ("", "")
    return first if first == last else f"{first} … {last}"


def is_forwarded_by_process(interfaces: Interfaces, delta: CounterDelta) -> bool:
    """Return whether processes that publish counters, not the kernel, forward the frames of these interfaces.

    The counters of a process that an event ended are gone, so that its part of the frames cannot be known.
    """
    receiving = [place for place in interfaces if delta.count(f"{place}/rx_packets")] or interfaces
    return bool(interfaces) and all(f"{PROCESS}/{get_interface(place)}/received" in delta for place in receiving)


def find_late_counts(delta: CounterDelta) -> dict[str, int]:
    """Return the counts that processes have published, where these are below those of their interfaces."""
    late = {}
    for name, count in delta.under(NAMESPACE_OF_PROCESSES):
        interface, _, counter = name.partition("/")
        published = [f"{PROCESS}/{interface}/{each}" for each in PUBLISHED_AS.get(counter, ())]
        if published and published[0] in delta and count > delta.count(*published):
            late[name] = delta.count(*published)
    return late


def _iter_segments(lab: LabPlan, tx_port: int, rx_port: int, delta: CounterDelta) -> Iterator[Segment]:
    near: Interfaces = (f"tester/{lab.tester_interfaces[tx_port]}",)
    yield Segment("send", (), near)
    paths = [list_devices(lab, chain, side) for chain, side in iter_chains_between(lab, tx_port, rx_port)]
    for alike in zip(*paths, strict=True):
        # Each chain lists a shared interface, which counts once.
        entry = tuple(dict.fromkeys(entry for device in alike for entry in device.entries))
        leave = tuple(dict.fromkeys(exit for device in alike for exit in device.exits))
        what = alike[0].kind
        yield Segment("wire", near, entry)
        if is_forwarded_by_process(entry, delta):
            yield Segment("ring", (), entry, what)
        yield Segment("device", entry, leave, what)
        near = leave
    last = (f"tester/{lab.tester_interfaces[rx_port]}",)
    yield Segment("path" if lab.sut in ("ext", "openstack") else "wire", near, last)
    yield Segment("receive", last, ())


def _count_neighbor_frames(
    result: TrialResult, tx_port: int, rx_port: int, between: list[Segment]
) -> dict[Interfaces, int]:
    """Return the ARP and neighbor discovery frames in each count: those sent by the tester's sending port up to the
    first forwarder, those received by its receiving port from the last forwarder on."""
    sent_counts = {counts.port: counts.sent_count for counts in result.neighbors}
    received_counts = {counts.port: counts.heard_count for counts in result.neighbors}
    devices = [(position, segment.device) for position, segment in enumerate(between) if segment.kind == "device"]
    forwarders = [position for position, device in devices if device not in ("edge", "balancer")]
    first, last = (forwarders[0], forwarders[-1]) if forwarders else (len(between), len(between))
    before = {segment.fars: sent_counts.get(tx_port, 0) for segment in between[: max(first, 1)]}
    return before | {segment.fars: received_counts.get(rx_port, 0) for segment in between[last:]}


def _list_remarks(segment: Segment, counted: int, came_count: int, received_count: int) -> Iterator[str]:
    name = DEVICE_NAMES.get(segment.device, "the VNF") if segment.kind == "ring" else format_interfaces(segment.fars)
    if counted > came_count:
        yield f"{name} counted {counted - came_count} more frames than reached it"
    if counted < received_count:
        yield f"{name} counted {received_count - counted} fewer frames than arrived"
