"""The engine from its callers' side: JSON lines in, JSON lines out, over ports in memory."""

import json
import math
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hdrh.histogram import HdrHistogram

from nodrop.errors import GeneratorError
from nodrop.formatting.messages import format_message
from nodrop.model.trial import BurstTimes, Doubt, StopRule
from nodrop.system.native_binaries import find_binary

SCHEMA = json.loads((Path(__file__).parents[2] / "schema" / "engine.json").read_text())
REQUEST, REPLY = (jsonschema.Draft202012Validator(SCHEMA[name]) for name in ("request", "reply"))
PORTS = [{"backend": "loopback", "interface": name, "queue_slots": 65536} for name in ("near", "far")]
TRIAL: dict[str, Any] = {"op": "trial", "trial_id": 7, "loads_pps": [1000, 2000], "duration_s": 0.2, "window_s": 0.05}


ETHERNET, IPV4, UDP = (
    {"kind": "ethernet", "src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"},
    {"kind": "ipv4", "src": "198.18.0.1", "dst": "198.19.0.1"},
    {"kind": "udp", "src_port": 49152, "dst_port": 9},
)


def stream(stream_id: int, tx_port: int, **changes: object) -> dict[str, object]:
    return {
        "stream_id": stream_id,
        "tx_port": tx_port,
        "rx_port": 1 - tx_port,
        "sizes": [{"frame_bytes": 64}],
        "layers": [ETHERNET, IPV4, UDP],
        "ranges": [{"layer": 2, "field": "src_port", "values": {"mode": "increment", "count": 4}}],
        **changes,
    }


FAULT_KEYS = ("drop_every", "repeat_every", "delay_every", "delay_frames", "corrupt_every")
FAULTS = [
    (10, 0, 0, 0, 0),
    (0, 7, 0, 0, 0),
    (0, 0, 20, 5, 0),
    (0, 0, 0, 0, 30),
    (9, 11, 13, 17, 19),
    (5, 2, 3, 40, 7),
]

OPEN: dict[str, Any] = {"op": "open", "ports": PORTS, "streams": [stream(0, 0), stream(1, 1)]}


class Engine:
    """A running engine; every line in and out is checked against the schema."""

    def __init__(self) -> None:
        program = find_binary("nodrop-engine", GeneratorError)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, request: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        reply: dict[str, Any] = json.loads(self.process.stdout.readline())
        REPLY.validate(reply)
        return reply

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        REQUEST.validate(request)
        self.say(request)
        while (reply := self.hear())["reply"] == "window":
            pass
        return reply

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@pytest.fixture
def engine() -> Iterator[Engine]:
    running = Engine()
    assert running.hear()["reply"] == "hello"
    yield running
    running.process.kill()
    running.process.wait()


@pytest.mark.parametrize("planted", FAULTS)
def test_planted_faults_are_counted_exactly(engine: Engine, planted: tuple[int, ...]) -> None:
    faults = dict(zip(FAULT_KEYS, planted, strict=True))
    engine.ask({**OPEN, "ports": [PORTS[0], {**PORTS[1], "faults": faults}]})
    reply = engine.ask({**TRIAL, "loads_pps": [5000, 5000]})
    spoiled, whole = reply["streams"]
    came, lost, repeated, corrupted = spoil(spoiled["offered_count"], faults)
    extents = extents_of(came)
    assert spoiled["offered_count"] > 0
    assert (spoiled["lost_count"], spoiled["duplicate_count"]) == (lost, repeated)
    assert (reply["corrupted_count"], spoiled["out_of_order_count"]) == (corrupted, len(extents))
    if extents:
        reordering = spoiled["reordering"]
        assert (reordering["count"], reordering["extent_max"]) == (len(extents), max(extents))
        assert reordering["extent_mean"] == pytest.approx(sum(extents) / len(extents))
    assert (whole["lost_count"], whole["duplicate_count"], whole["out_of_order_count"]) == (0, 0, 0)


def spoil(count: int, faults: dict[str, int]) -> tuple[list[int], int, int, int]:
    """Return first arrivals in order, and lost, repeated and corrupted frames, of `count` frames in order."""

    def hits(fault: str, number: int) -> bool:
        return bool(faults[fault]) and number % faults[fault] == 0

    delivered: list[int] = []
    delayed: list[tuple[int, int]] = []
    corrupted = 0
    for number in range(1, count + 1):
        if hits("drop_every", number):
            pass
        elif hits("delay_every", number):
            delayed.append((number + max(1, faults["delay_frames"]), number))
        else:
            is_corrupted = hits("corrupt_every", number)
            corrupted += is_corrupted
            delivered += [number] * ((not is_corrupted) + hits("repeat_every", number))
        while delayed and delayed[0][0] <= number:
            delivered.append(delayed.pop(0)[1])
    came = list(dict.fromkeys(delivered))
    return came, count - len(came), len(delivered) - len(came), corrupted


def extents_of(came: list[int]) -> list[int]:
    """RFC 4737 section 4.2.2: of each frame after a later one, the frames since the first such, itself included."""
    firsts = ((at, next((i for i, before in enumerate(came[:at]) if before > n), None)) for at, n in enumerate(came))
    return [at - first for at, first in firsts if first is not None]


def test_faults_are_refused_where_frames_are_real(engine: Engine) -> None:
    port = {**PORTS[0], "backend": "af_packet", "faults": {"drop_every": 2}}
    reply = engine.ask({**OPEN, "ports": [port, PORTS[1]]})
    assert reply["kind"] == "request"
    assert "supported only by in-memory ports" in reply["message"]


def test_a_trial_counts_both_streams_at_their_own_loads(engine: Engine) -> None:
    assert engine.ask(OPEN)["thread_count"] == 1
    assert all(each["received_count"] > 0 for each in engine.ask({"op": "check", "timeout_s": 1})["directions"])
    reply = engine.ask(TRIAL)
    assert reply["trial_id"] == 7
    assert [each["intended_count"] for each in reply["streams"]] == [200, 400]
    assert all(each["received_count"] == each["offered_count"] > 100 for each in reply["streams"])
    assert engine.ask({"op": "close"})["reply"] == "closed"


def test_a_latency_histogram_is_one_that_other_programs_read(engine: Engine) -> None:
    engine.ask(OPEN)
    latency = engine.ask({**TRIAL, "histograms": True})["directions"][0]["latency"]
    histogram = HdrHistogram.decode(latency["hdr"].encode())
    assert histogram.get_total_count() == latency["count"]
    for permille, name in ((500, "p50_ns"), (990, "p99_ns"), (999, "p999_ns")):
        rank = -(-latency["count"] * permille // 1000)  # the engine rounds up, the library to the nearest rank
        value_ns = histogram.get_value_at_percentile(100 * rank / latency["count"])
        assert value_ns == pytest.approx(latency[name], rel=0.002)
    assert histogram.get_max_value() == pytest.approx(latency["max_ns"], rel=0.002)


@pytest.mark.parametrize(
    ("request_", "kind", "says"),
    [
        ({"op": "dance"}, "protocol", "dance"),
        ({**OPEN, "color": "red"}, "protocol", "color"),
        ({**TRIAL, "stop": {"bored_s": 1}}, "protocol", "bored_s"),
        (TRIAL, "request", "no ports are open"),
        ({**OPEN, "streams": [stream(0, 0, sizes=[{"frame_bytes": 63}])]}, "request", "at least 64 bytes"),
        ({**OPEN, "streams": [stream(0, 0, layers=[ETHERNET | {"dst": "me"}, IPV4, UDP])]}, "request", "MAC address"),
        ({**OPEN, "streams": [stream(0, 0, layers=[ETHERNET, UDP])]}, "request", "udp cannot follow ethernet"),
        ({**OPEN, "streams": [stream(0, 0, rx_port=5)]}, "request", "no port with index 5"),
        ({**OPEN, "cores": [4095]}, "port", "4095"),
        (
            {**OPEN, "ports": [{**PORTS[0], "backend": "af_packet", "interface": "no0"}]},
            "port",
            "no0: does not exist in this network namespace",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason_and_the_engine_goes_on(
    request_: dict[str, Any], kind: str, says: str, engine: Engine
) -> None:
    engine.say(request_)
    reply = engine.hear()
    assert (reply["reply"], reply["kind"]) == ("error", kind)
    assert says in reply["message"]
    assert engine.ask(OPEN)["reply"] == "opened"


def test_a_request_to_stop_reaches_a_running_trial(engine: Engine) -> None:
    engine.ask(OPEN)
    engine.say({**TRIAL, "duration_s": 60})
    assert engine.hear()["reply"] == "window"
    reply = engine.ask({"op": "stop"})
    assert reply["stopped_early"] and reply["duration_s"] < 5
    assert [doubt["code"] for doubt in reply["doubts"] if doubt["verdict"] == "invalid"] == ["aborted"]
    assert Doubt.invalid("aborted") in [Doubt(**doubt) for doubt in reply["doubts"]]


BURST: dict[str, Any] = {**TRIAL, "loads_pps": [5000, 2000], "burst": True}


def test_a_burst_has_exactly_its_frames_at_its_load(engine: Engine) -> None:
    engine.ask(OPEN)
    reply = engine.ask(BURST)
    for stream, sender, count in zip(reply["streams"], reply["senders"], (1000, 400), strict=True):
        assert [stream[f"{key}_count"] for key in ("intended", "offered", "received")] == [count] * 3
        burst = BurstTimes(**sender["burst"])
        duration_ns = burst.last_sent_ns - burst.first_sent_ns
        interval_ns = 0.2e9 / count
        # A frame may be late by two intervals, or a hundredth of all; what exceeds them moves the timetable.
        late_count = max(2, count / 100)
        assert abs(duration_ns - (count - 1) * interval_ns) <= burst.shift_ns + late_count * interval_ns
        assert burst.gap_max_ns >= interval_ns * 0.99
        assert burst.ahead_max_count <= late_count + 1
        assert reply["duration_s"] >= 0.2 + burst.shift_ns / 1e9 - 1e-6
        # Arrivals have times of the other clock, which are known to much less than a microsecond.
        assert burst.first_sent_ns - 1000 <= stream["first_arrival_ns"] <= stream["last_arrival_ns"]


def test_only_a_burst_has_times_of_a_burst(engine: Engine) -> None:
    engine.ask(OPEN)
    reply = engine.ask(TRIAL)
    assert [sender["burst"] for sender in reply["senders"]] == [None, None]
    assert {stream[key] for stream in reply["streams"] for key in ("first_arrival_ns", "last_arrival_ns")} == {None}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pattern": {"kind": "burst", "period_s": 0.1, "duty_ratio": 0.5}}, "use the pattern flat"),
        ({"load_changes": [{"at_s": 0.1, "loads_pps": [1000, 1000]}]}, "leave out load_changes"),
    ],
)
def test_a_burst_has_one_load(changes: dict[str, Any], says: str, engine: Engine) -> None:
    engine.ask(OPEN)
    reply = engine.ask({**BURST, **changes})
    assert (reply["reply"], reply["kind"]) == ("error", "request")
    assert says in reply["message"]


def test_a_doubt_has_parameters_that_its_sentence_contains(engine: Engine) -> None:
    engine.ask({**OPEN, "ports": [{**port, "queue_slots": 0} for port in PORTS]})
    reply = engine.ask(TRIAL)
    (doubt,) = [Doubt(**doubt) for doubt in reply["doubts"] if doubt["code"] == "tester_drops"]
    assert doubt == Doubt.invalid("tester_drops", dropped_count=reply["tester_drop_count"])
    assert f"{reply['tester_drop_count']} frames in its own receive path" in format_message(doubt)


@pytest.mark.parametrize(
    ("rule", "clause"),
    [
        (StopRule(elapsed_s=0.2), "elapsed"),
        (StopRule(lost_count=0, after_loss_s=0, quiet_s=0.2, elapsed_s=0.2), "quiet"),
    ],
)
def test_a_stop_rule_as_the_model_writes_it_ends_a_trial_by_its_clause(
    rule: StopRule, clause: str, engine: Engine
) -> None:
    engine.ask(OPEN)
    reply = engine.ask({**TRIAL, "duration_s": 60, "stop": rule.model_dump()})
    assert (reply["stopped_early"], reply["stopped_by"]) == (True, clause)
    assert 0.2 <= reply["duration_s"] < 5
    for stream, load_pps in zip(reply["streams"], TRIAL["loads_pps"], strict=True):
        assert stream["intended_count"] == math.ceil(load_pps * reply["duration_s"])
    assert [doubt for doubt in reply["doubts"] if doubt["verdict"] == "invalid"] == []


def test_windows_tell_of_losses_and_add_up_to_them(engine: Engine) -> None:
    engine.ask(OPEN)
    engine.say(TRIAL)
    while (reply := engine.hear())["reply"] == "window":
        assert reply["lost_count"] == 0
    assert [sum(column) for column in reply["windows"]["lost_count"]] == [0, 0]
    assert {len(column) for column in reply["windows"]["lost_count"]} == {len(reply["windows"]["end_s"])}


def test_the_end_of_its_input_ends_a_running_trial_and_the_engine(engine: Engine) -> None:
    engine.ask(OPEN)
    engine.say({**TRIAL, "duration_s": 60})
    engine.hear()
    assert engine.process.stdin
    engine.process.stdin.close()
    assert engine.process.wait(timeout=60) == 0


def test_an_idle_engine_uses_no_cpu(engine: Engine) -> None:
    engine.ask(OPEN)
    engine.ask(TRIAL)
    before_s = engine.cpu_s()
    time.sleep(1)
    assert engine.cpu_s() - before_s <= 0.1


def test_frames_are_told_without_ports_and_may_be_as_small_as_their_headers(engine: Engine) -> None:
    tagged = stream(0, 0, layers=[ETHERNET, {"kind": "vlan", "id": 7}, IPV4, UDP], sizes=[{"frame_bytes": 64}])
    tagged["ranges"] = [{"layer": 3, "field": "dst_port", "values": {"mode": "list", "values": [9, 80]}, "every": 3}]
    station = {"mac": "02:00:00:00:00:01", "addresses": ["198.18.0.1", "198.18.1.0/24", "2001:2::1"]}
    reply = engine.ask({"op": "frames", "streams": [tagged], "stations": [station]})
    (report,) = reply["streams"]
    assert len(bytes.fromhex(report["frames"][0])) == 60
    assert report["layers"][-1] == {"at": 38, "bytes": 8}
    assert report["fields"] == [
        {
            "range": 0,
            "field": "dst_port",
            "at": 40,
            "width": 2,
            "words": {"mode": "table", "words": [9, 80]},
            "count": 2,
            "every": 3,
            "period": None,
        }
    ]
    assert [(each["layer"], each["at"], each["follows"]) for each in report["checksums"]] == [
        (2, 28, []),
        (3, 44, [0]),
    ]
    assert [frame[24:28] for frame in reply["announcements"][0]] == ["0806", "86dd"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"streams": [stream(0, 0, sizes=[{"frame_bytes": 63}])]}, "frame size 63"),
        ({"streams": [stream(0, 0, sizes=[])]}, "sizes: 0 sizes with a total weight of 0"),
        ({"streams": [stream(0, 0, replay={"file": "x.pcap"})]}, "replayed frames already have headers"),
        ({"stations": [{"mac": "nobody", "addresses": []}]}, "expected six hexadecimal bytes"),
    ],
)
def test_frames_that_cannot_be_are_refused(engine: Engine, request_: dict[str, Any], words: str) -> None:
    reply = engine.ask({"op": "frames", **request_})
    assert reply["reply"] == "error"
    assert words in reply["message"]
