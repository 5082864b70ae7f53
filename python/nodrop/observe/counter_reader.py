"""Reading of the counters of every hop in a lab with `nodrop-observe`, before and after a trial."""

import time
from collections.abc import Iterator, Mapping
from typing import Self

from nodrop.errors import StageError
from nodrop.model.choices import SutKind
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.model.ledger import ChainHops, HopCount, LossLedger
from nodrop.model.trial import StreamCounts, TrialResult
from nodrop.observe.devices import list_devices
from nodrop.observe.ledger import build_loss_ledger
from nodrop.observe.path_hops import PROCESS, CounterDelta, count_probe_frames, find_late_counts, format_interfaces
from nodrop.system.json_child import JsonChild
from nodrop.system.native_binaries import find_binary
from nodrop.system.receive_backlog import has_receive_backlog
from nodrop.system.thread_states import FOR_CPU, read_thread_states

ANSWER_TIMEOUT_S = 5.0
END_TIMEOUT_S = 2.0
SETTLING_MAX_S, SETTLING_STEP_S = 0.5, 0.01
STARVATION_MAX_S = 5.0
"""The same while a process or frames wait for a CPU, or frames such as a balancer's probes pass: beside threads of a
high priority it may take seconds."""
FORWARDED_BY_THE_KERNEL: frozenset[SutKind] = frozenset({"bridge", "router"})
"""SUTs whose losses the kernel gives reasons for. Counting reasons slows the tester's receivers a little, see
docs/concepts/where-packets-were-lost.md, so other SUTs run without."""


class HopCounterReader:
    """Adds a loss ledger to every trial; see `nodrop.observe.base.Observer`.

    Unreadable counters never end a run: the ledger is then empty and gives the reason.
    """

    def __init__(
        self, facts: StageFacts, lab: LabPlan, drop_reasons: bool = True, chains: Mapping[int, int] | None = None
    ) -> None:
        """Prepare to read a lab's counters; `chains` maps stream ids to chains."""
        self._facts = facts
        self._chains = chains or {}
        self._lab = lab
        self._drop_reasons = drop_reasons
        self._child: JsonChild | None = None
        self._before: dict[str, int] = {}
        self._reading_s = 0.0
        self._refusal = ""
        self._drops_refusal: str | None = None

    def __enter__(self) -> Self:
        """Start `nodrop-observe`."""
        try:
            self._start()
        except StageError as error:
            self._refusal = str(error)
        return self

    def __exit__(self, *exc: object) -> None:
        """End `nodrop-observe`; never raises."""
        if self._child:
            self._child.end(END_TIMEOUT_S)

    def begin_trial(self) -> None:
        """Read all counters."""
        self._reading_s = 0.0
        self._before = self._read_settled({})

    def end_trial(self, result: TrialResult) -> TrialResult:
        """Read all counters again and return the result with the ledger of the difference."""
        after = self._read_settled(self._before)
        delta = None if self._refusal else CounterDelta(self._before, after)
        if delta is None:
            ledger = LossLedger(remarks=(f"the host's counters were not read: {self._refusal}",))
        else:
            ledger = build_loss_ledger(result, self._lab, delta)
            if self._drops_refusal and ledger.unattributed_count:
                remark = f"the kernel's drop reasons were not counted: {self._drops_refusal}"
                ledger = ledger.replace(remarks=(*ledger.remarks, remark))
        counted = list_chain_hops(result, self._lab, self._chains, delta)
        ledger = ledger.replace(reading_s=self._reading_s)
        return result.replace(ledger=ledger, chain_hops=counted)

    def _read_settled(self, before: dict[str, int]) -> dict[str, int]:
        """Read until forwarding processes have published counts for all frames: they publish when idle."""
        start_s = time.monotonic()
        earlier: dict[str, int] = {}
        while late := find_late_counts(CounterDelta(before, counters := self._read())):
            elapsed_s = time.monotonic() - start_s
            is_moving = late != earlier or self._waits_for_cpu()
            if elapsed_s >= (STARVATION_MAX_S if is_moving else SETTLING_MAX_S):
                break
            earlier = late
            time.sleep(SETTLING_STEP_S)
        return counters

    def _waits_for_cpu(self) -> bool:
        """Return whether a process of the SUT runs, or would if it had a CPU, or frames wait for the kernel."""
        processes = self._facts.sut_processes
        return any(FOR_CPU in read_thread_states(process.pid) for process in processes) or has_receive_backlog()

    def _start(self) -> None:
        facts = self._facts
        arguments = ["--netns", f"tester={facts.tester_pid}"]
        behind = {"sut": facts.sut_pid} if facts.sut_pid else {}
        for name, pid in {**behind, **facts.router_pids}.items():
            arguments += ["--netns", f"{name}={pid}"]
        for process in facts.sut_processes:
            arguments += ["--process", f"{PROCESS}={process.pid}"]
        routed = self._lab.sut == "router" or bool(self._lab.routers)
        if self._drop_reasons and (routed or self._lab.sut in FORWARDED_BY_THE_KERNEL):
            arguments.append("--drops")
            # Only a router loses frames addressed to another station; on the tester's ports that reason applies to
            # every frame.
            arguments += ["--other-host"] if routed else []
        self._child = JsonChild([find_binary("nodrop-observe", StageError), *arguments])
        message = self._child.read_object(ANSWER_TIMEOUT_S)
        if message.get("event") != "ready":
            raise StageError(str(message.get("message", "nodrop-observe did not start")))
        self._drops_refusal = message.get("drops_refusal")

    def _read(self) -> dict[str, int]:
        if self._refusal or not self._child:
            return {}
        start_s = time.monotonic()
        try:
            self._child.send(b"read\n")
            counters = self._child.read_object(ANSWER_TIMEOUT_S)["counters"]
        except (OSError, KeyError):
            self._refusal = "nodrop-observe stopped replying"
            return {}
        self._reading_s += time.monotonic() - start_s
        return dict(counters)


DEVICE_NAMES = {"edge": "edge switch", "router": "router", "forwarder": "VNF", "balancer": "balancer"}


def list_chain_hops(
    result: TrialResult, lab: LabPlan, chains: Mapping[int, int], delta: CounterDelta | None
) -> tuple[ChainHops, ...]:
    """Return the frames counted at each hop, for all chains and directions with traffic.

    Args:
        result: the trial.
        lab: the plan of the lab that it ran in.
        chains: the chain of every stream, by stream id.
        delta: the host's counters; None if they were not read.
    """
    ways: dict[tuple[int, int, int], list[StreamCounts]] = {}
    for stream in result.streams:
        ways.setdefault((chains.get(stream.stream_id, 0), stream.tx_port, stream.rx_port), []).append(stream)
    return tuple(
        ChainHops(chain=chain, tx_port=tx_port, rx_port=rx_port, hops=tuple(_iter_hops(way, streams, lab, delta)))
        for way, streams in ways.items()
        for chain, tx_port, rx_port in (way,)
    )


def _iter_hops(
    way: tuple[int, int, int], streams: list[StreamCounts], lab: LabPlan, delta: CounterDelta | None
) -> Iterator[HopCount]:
    chain, tx_port, rx_port = way
    sender, receiver = (lab.tester_interfaces[port] for port in (tx_port, rx_port))
    yield _end(sender, "sends", sum(stream.offered_count for stream in streams))
    side = 0 if lab.port(chain, 0) == tx_port else 1
    probe_counts = count_probe_frames(lab, side, delta) if delta else {}
    for device in list_devices(lab, chain, side):
        for places, shared, verb, counter in (
            (device.entries, device.shared[0], "receives", "rx_packets"),
            (device.exits, device.shared[1], "sends", "tx_packets"),
        ):
            has_count = delta is not None and not shared
            interfaces = format_interfaces(places)
            yield HopCount(
                name=f"{DEVICE_NAMES[device.kind]} {interfaces} {verb}",
                interface=interfaces,
                frame_count=delta.count(*(f"{place}/{counter}" for place in places)) - probe_counts.get(places, 0)
                if delta is not None and has_count
                else None,
            )
    yield _end(receiver, "receives", sum(stream.received_count for stream in streams))


def _end(interface: str, verb: str, count: int) -> HopCount:
    return HopCount(name=f"tester {interface} {verb}", interface=interface, frame_count=count)
