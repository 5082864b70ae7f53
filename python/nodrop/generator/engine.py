"""nodrop's own packet engine as a traffic generator."""

import math
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.base import OnWindow, TrialInterrupted, lost_trial_fields
from nodrop.generator.engine_process import EngineDied, EngineProcess, Reply
from nodrop.generator.path_check import find_faults, no_path_error, to_direction_check
from nodrop.generator.stations import (
    NextHops,
    address_to_next_hops,
    next_hop_queries,
    parse_next_hops,
    resolve_request,
    stations_by_port,
    stream_request,
)
from nodrop.model.engine_plan import CapturePlan, EnginePlan
from nodrop.model.facts import PortFacts
from nodrop.model.neighbor import Announcement, NeighborPlan, NextHop
from nodrop.model.pattern import FlatLoad
from nodrop.model.result import DirectionCheck
from nodrop.model.traffic import Traffic
from nodrop.model.trial import (
    DISTURBED_MAX_RATIO,
    EXTENSION_MAX_RATIO,
    FIXED,
    SEARCH,
    WARM_UP,
    WINDOW_S,
    Doubt,
    Trial,
    TrialResult,
    Validity,
    ValidityStatus,
)

ANSWER_TIMEOUT_S = 30.0
"""Time for a reply beyond what a request asks for. Opening ports waits for the kernel's RTNL lock and RCU grace
periods: kernel threads get little CPU time beside threads that poll at a high priority."""
SILENCE_MAX_S = 3.0
"""Longest time between a report of a trial and the next one or the reply, beyond the time between two reports; frames
in flight take up to 2 s of it."""
ANNOUNCEMENT_CATCH_UP_S = 10.0
"""A late announcement is as good, so none is left out after a stall."""
ANNOUNCEMENTS_MAX = 3
UNVERIFIED_PPS = 1.0
"""Rate of the streams from announced stations while frames to these verify the announcement; it cannot be 0."""
CHECK_TIMEOUT_S = 3.0
STOP_TIMEOUT_S = 3.0
PROGRESS_S = 1.0
"""Time between two reports of progress: each takes CPU time, on the tester's CPU."""
LOSS_CHECK_S = 0.008
"""Time between two checks for losses."""
DISTURBANCE_CHECK_S = 0.004
"""The same if disturbed time is separated: it is marked in whole checks."""
REPLY_FIELDS = (
    "begin_unix_ns",
    "duration_s",
    "stopped_early",
    "stopped_by",
    "streams",
    "corrupted_count",
    "directions",
    "senders",
    "tester_drop_count",
    "tester_cpu_ratio",
    "neighbors",
    "undisturbed_counts",
    "other_work",
    "cpu_speeds",
    "capture",
)
"""Fields of the engine's `trial` reply that a TrialResult takes unchanged."""
COMPARISON_COUNTS = "compared_count", "misdelivered_count"


class EngineMeasurer:
    """Runs trials on `nodrop-engine`; see `nodrop.generator.base.Measurer`.

    A crash of the engine makes one trial invalid; the next trial runs on a new engine.
    """

    def __init__(
        self,
        plan: EnginePlan,
        traffic: Traffic,
        neighbors: NeighborPlan | None = None,
        *,
        netns_pid: int,
        interfaces: tuple[str, ...],
        check_alive: Callable[[], None],
        capture: CapturePlan | None = None,
        sut_pids: tuple[int, ...] = (),
        separates_disturbances: bool = False,
        sut_shares_cpu: bool = False,
        progress_s: float = PROGRESS_S,
    ) -> None:
        """Prepare to use `interfaces`, ordered by the streams' port index, in the network namespace of process
        `netns_pid`, with the stations and next hops of `neighbors`. `check_alive` is called while waiting and raises
        when the path under test is down. `sut_pids`: the SUT's processes on this machine. `separates_disturbances`:
        whether the time in which other work disturbs them or the tester is separated. `sut_shares_cpu`: whether the SUT
        runs on the tester's CPUs. `progress_s`: time between calls of `on_window`."""
        self._plan = plan
        self._traffic = traffic
        self._neighbors = neighbors or NeighborPlan()
        self._netns_pid = netns_pid
        self._interfaces = interfaces
        self._check_alive = check_alive
        self._capture = capture
        self._sut_pids = sut_pids
        self._separates_disturbances = separates_disturbances
        self._sut_shares_cpu = sut_shares_cpu
        self._progress_s = progress_s
        self._engine: EngineProcess | None = None
        self._ports: tuple[PortFacts, ...] = ()
        self._next_hops: NextHops = {}
        self._announced_s = -math.inf
        self._unreached_count = 0

    def __enter__(self) -> Self:
        """Start the engine, open its ports, resolve its next hops. Raises GeneratorError."""
        self._open()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop traffic and the engine; never raises."""
        if self._engine:
            self._engine.end()
            self._engine = None

    @property
    def version(self) -> str:
        """Version of the engine in use."""
        return str(self._open().hello["version"])

    @property
    def commit(self) -> str:
        """Commit that the engine was built from."""
        return str(self._open().hello["commit"])

    @property
    def ports(self) -> tuple[PortFacts, ...]:
        """The ports as opened."""
        self._open()
        return self._ports

    @property
    def notes(self) -> tuple[str, ...]:
        """Stations that test frames did not reach after their announcement; otherwise the engine follows the plan."""
        announcement = self._neighbors.announcement
        if not announcement or not self._unreached_count:
            return ()
        return (
            f"after {ANNOUNCEMENTS_MAX} announcements, {self._unreached_count} of {announcement.frame_count} stations "
            "were not reached by a test frame: the SUT lost the announcements or the frames",
        )

    def check_path(self) -> tuple[DirectionCheck, ...]:
        """Send learning frames along every stream. Raises GeneratorError naming each failing chain and direction."""
        request = {"op": "check", "timeout_s": CHECK_TIMEOUT_S}
        try:
            reply = self._open().request(request, CHECK_TIMEOUT_S + ANSWER_TIMEOUT_S)
        except EngineDied as error:
            raise GeneratorError(f"the path check failed: {error}") from None
        pairs = zip(self._traffic.streams, reply["directions"], strict=True)
        checks = tuple(to_direction_check(stream, direction) for stream, direction in pairs)
        found = find_faults(self._traffic, checks, self._interfaces, self._next_hops)
        if found:
            raise no_path_error(found, self._traffic, checks, self._next_hops)
        return checks

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        """Run one trial. Raises GeneratorError if it could not be started at all."""
        started_at = datetime.now(UTC).isoformat()
        progress = [0.0, 0]

        def hear(window: Reply) -> None:
            counts = window["offered_count"], window["received_count"], window["lost_count"]
            progress[:] = window["elapsed_s"], window["offered_count"]
            on_window(window["elapsed_s"], *counts)

        timeout_s = trial.duration_s * (1.0 + EXTENSION_MAX_RATIO) + ANSWER_TIMEOUT_S
        self._repeat_announcement()
        engine = self._open()
        try:
            reply = engine.request(
                self._request(trial, index, phase), timeout_s, hear, self._progress_s + SILENCE_MAX_S
            )
        except KeyboardInterrupt as interrupt:
            counts = _stop_trial(engine) if phase == FIXED else None
            if counts is None:
                raise
            result = TrialResult(trial=trial, index=index, phase=phase, started_at=started_at, **counts)
            raise TrialInterrupted(str(interrupt), result) from None
        except EngineDied as error:
            self.__exit__()
            counts = lost_trial_fields(
                self._traffic,
                Doubt.invalid("engine_died", error=str(error), elapsed_s=progress[0], offered_count=progress[1]),
            )
        else:
            counts = _result_fields(reply)
        return TrialResult(trial=trial, index=index, phase=phase, started_at=started_at, **counts)

    def _open(self) -> EngineProcess:
        """Return the engine with its ports open, starting one if there is none."""
        if self._engine is None:
            engine = EngineProcess(self._netns_pid, self._check_alive)
            try:
                self._ports = self._connect(engine)
            except EngineDied as error:
                engine.end()
                raise GeneratorError(f"cannot open ports {', '.join(self._interfaces)}: {error}") from None
            except BaseException:
                engine.end()
                raise
            self._engine = engine
        return self._engine

    def _repeat_announcement(self) -> None:
        """Open the ports again if the announcement is old."""
        announcement = self._neighbors.announcement
        if announcement and self._engine and time.monotonic() - self._announced_s > announcement.repeat_s:
            try:
                self._ports = self._connect(self._engine)
            except EngineDied:  # another engine announces when it opens its ports
                self.__exit__()

    def _connect(self, engine: EngineProcess) -> tuple[PortFacts, ...]:
        """Open the ports, a second time if resolved next hops have other MAC addresses than planned."""
        opened = engine.request(self._open_request(self._traffic), ANSWER_TIMEOUT_S)
        found = self._next_hops = self._resolve(engine)
        traffic = address_to_next_hops(self._traffic, found)
        if self._neighbors.announcement:
            opened = self._announce(engine, self._neighbors.announcement, traffic)
        elif traffic != self._traffic:
            opened = engine.request(self._open_request(traffic), ANSWER_TIMEOUT_S)
        return tuple(_port_facts(port, facts, found) for port, facts in enumerate(opened["ports"]))

    def _announce(self, engine: EngineProcess, announcement: Announcement, traffic: Traffic) -> Reply:
        """Announce stations, again if a test frame to one of them is lost; return the reply of opening the ports.

        A SUT that was off its CPU for too long has missed some, and would lose their frames in every trial.
        """
        load_pps, count = announcement.load_pps, announcement.frame_count
        tx_port = announcement.traffic.streams[0].tx_port
        for _ in range(ANNOUNCEMENTS_MAX):
            engine.request(self._open_request(announcement.traffic), ANSWER_TIMEOUT_S)
            self._send_once(engine, [load_pps], count)
            opened = engine.request(self._open_request(traffic), ANSWER_TIMEOUT_S)
            loads_pps = [UNVERIFIED_PPS if stream.tx_port == tx_port else load_pps for stream in traffic.streams]
            reply = self._send_once(engine, loads_pps, count)
            pairs = zip(traffic.streams, reply["streams"], strict=True)
            counts = [each for stream, each in pairs if stream.tx_port != tx_port]
            # A frame that a sender without a CPU left unsent proves no station reached.
            self._unreached_count = sum(count - each["received_count"] for each in counts)
            # Another announcement does not help a SUT that forwards nothing: the path check names the reason.
            if not self._unreached_count or not any(each["received_count"] for each in counts):
                break
        self._announced_s = time.monotonic()
        return opened

    def _send_once(self, engine: EngineProcess, loads_pps: list[float], frame_count: int) -> Reply:
        """Send that many frames of each stream with the highest load, however late; return the engine's reply."""
        duration_s = frame_count / max(loads_pps)
        trial = Trial(intended_load_pps=sum(loads_pps), duration_s=duration_s)
        request = self._request(trial, 0, WARM_UP) | {
            "loads_pps": loads_pps,
            "catch_up_max_s": ANNOUNCEMENT_CATCH_UP_S,
            "disturbances": None,
        }
        return engine.request(request, duration_s + ANNOUNCEMENT_CATCH_UP_S + ANSWER_TIMEOUT_S)

    def _resolve(self, engine: EngineProcess) -> dict[tuple[int, int], NextHop]:
        """Resolve the next hop of each chain on its link. Raises GeneratorError naming those that did not reply."""
        plan = self._neighbors
        if not next_hop_queries(plan):
            return {}
        reply = engine.request(resolve_request(plan), plan.timeout_s * plan.tries + ANSWER_TIMEOUT_S)
        return parse_next_hops(plan, reply)

    def _open_request(self, traffic: Traffic) -> dict[str, Any]:
        slots, backend = self._plan.queue_slots, self._plan.backend
        names = self._plan.devices or self._interfaces
        ports: list[dict[str, Any]] = [{"backend": backend, "interface": name, "queue_slots": slots} for name in names]
        for port, its in stations_by_port(self._neighbors).items():
            ports[port]["stations"] = [station.model_dump() for station in its]
        streams = [stream_request(stream) for stream in traffic.streams]
        return {
            "op": "open",
            "ports": ports,
            "streams": streams,
            "cores": self._plan.cores,
            "huge_pages": self._plan.huge_pages,
            "announce_every_s": self._neighbors.announce_every_s,
        }

    def _request(self, trial: Trial, index: int, phase: str) -> dict[str, Any]:
        return {
            "op": "trial",
            "trial_id": index,
            **self._build_loads(trial),
            "duration_s": trial.duration_s,
            "burst": trial.burst,
            "pattern": (FlatLoad() if phase == WARM_UP else self._traffic.pattern).model_dump(),
            "stop": trial.stop.model_dump() if trial.stop else None,
            "window_s": WINDOW_S,
            "look_s": DISTURBANCE_CHECK_S if self._separates_disturbances else LOSS_CHECK_S,
            "progress_s": self._progress_s,
            "catch_up_max_s": self._plan.catch_up_max_s,
            "latency_every": self._plan.latency_every,
            "loss_run_max": self._plan.loss_run_max if phase == FIXED else 0,
            "window_latency": phase == FIXED,
            "histograms": True,
            "capture": capture_request(self._capture, index, phase),
            "sut_pids": self._sut_pids,
            "disturbances": None
            if not self._separates_disturbances
            else {
                "sut_pids": self._sut_pids,
                "sut_shares_cpu": self._sut_shares_cpu,
                "extension_max_s": _get_extension_max_s(trial) if phase == SEARCH else 0.0,
                "disturbed_ratio_max": DISTURBED_MAX_RATIO,
            },
        }

    def _build_loads(self, trial: Trial) -> dict[str, Any]:
        if not trial.load_phases:
            return {"loads_pps": [trial.intended_load_pps * ratio for ratio in self._traffic.load_ratios]}
        first, *later = trial.load_phases
        changes = [{"at_s": phase.begin_s, "loads_pps": phase.loads_pps} for phase in later]
        return {"loads_pps": first.loads_pps, "load_changes": changes}


def _get_extension_max_s(trial: Trial) -> float:
    return trial.duration_s * EXTENSION_MAX_RATIO if trial.extension_max_s is None else trial.extension_max_s


def _stop_trial(engine: EngineProcess) -> dict[str, Any] | None:
    """Stop the running trial; return its counts as fields of a TrialResult, None if the engine does not report them."""
    try:
        reply = engine.request({"op": "stop"}, ANSWER_TIMEOUT_S, silence_max_s=STOP_TIMEOUT_S)
    except (EngineDied, GeneratorError, ValueError):
        return None
    if reply["reply"] != "trial":
        return None
    doubts = [
        doubt | {"verdict": ValidityStatus.SUSPECT} if doubt["code"] == "aborted" else doubt
        for doubt in reply["doubts"]
    ]
    return _result_fields(reply | {"doubts": doubts})


def _port_facts(port: int, facts: Reply, next_hops: NextHops) -> PortFacts:
    its = tuple(next_hop for (tx_port, _), next_hop in sorted(next_hops.items()) if tx_port == port)
    return PortFacts(**facts, next_hop=its[0] if its else None, next_hops=its if len(its) > 1 else ())


def _result_fields(reply: Reply) -> dict[str, Any]:
    """Return the engine's `trial` reply as fields of a TrialResult."""
    validity = Validity.of((*(Doubt(**doubt) for doubt in reply["doubts"]), *_list_misdelivery(reply)))
    disturbed = reply["windows"]["disturbed_time"]
    windows = reply["windows"] | {"disturbed_time": disturbed if disturbed["time_s"] else None}
    return {name: reply[name] for name in REPLY_FIELDS} | {"windows": windows, "validity": validity}


def _list_misdelivery(reply: Reply) -> Iterator[Doubt]:
    """Yield a doubt if a frame arrived with other headers than the SUT must write, which is worse than its loss."""
    compared, misdelivered = (sum(each[key] for each in reply["streams"]) for key in COMPARISON_COUNTS)
    if misdelivered:
        yield Doubt.invalid("misdelivered", misdelivered_count=misdelivered, compared_count=compared)


def capture_request(plan: CapturePlan | None, index: int, phase: str) -> dict[str, Any] | None:
    """Return the `capture` of a trial's request; None if the trial is not captured."""
    if plan is None or phase == WARM_UP or plan.trials not in ("all", "search" if phase == SEARCH else "latency"):
        return None
    return {**plan.model_dump(exclude={"trials"}), "file": capture_file(plan.file, index)}


def capture_file(file: str, index: int) -> str:
    """Return the capture file of a trial: `seen-12.pcapng` for `seen.pcapng`."""
    path = Path(file)
    return str(path.with_name(f"{path.stem}-{index}{path.suffix or '.pcapng'}"))
