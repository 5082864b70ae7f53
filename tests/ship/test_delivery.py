"""Shipped records arrive at aggregators of other projects: once, complete, and also after an outage."""

import datetime
import errno
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.lab.bench import FULL_RATE
from tests.running import make_environment, make_plan
from tests.ship.aggregators import Aggregator, build_forward_server, free_port, install_secure_server
from tests.suts import Step
from tests.waiting import stretch

from nodrop.export.fluentd.buffer import RecordBuffer, get_buffer_path
from nodrop.export.fluentd.sender import Sender
from nodrop.model.event import TrialDone
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.model.shipping import Aggregator as Destination
from nodrop.run.event_sinks import open_sinks
from nodrop.run.execute import execute

pytestmark = pytest.mark.ship

Find = Callable[[str], Path]
Start = Callable[..., Aggregator]
REFUSED = os.strerror(errno.ECONNREFUSED).lower()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    return functools.cache(lambda: build_forward_server(tmp_path_factory.mktemp("forward")))


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    return functools.cache(lambda: install_secure_server(tmp_path_factory.mktemp("secure")))


@pytest.fixture
def forward(require_tool: Find, built: Callable[[], Path], tmp_path: Path) -> Start:
    """Return a function that starts the OpenTelemetry Collector's receiver; each port has one file of records."""
    require_tool("go")

    def start(port: int, unacknowledged: int = 0) -> Aggregator:
        command = [str(built()), "-listen", f"127.0.0.1:{port}", "-unacknowledged", str(unacknowledged)]
        return Aggregator(command, tmp_path / f"{port}.jsonl")

    return start


@pytest.fixture
def secure(require_tool: Find, installed: Callable[[], Path], tmp_path: Path) -> Start:
    """Return a function that starts the Fluent project's server for Node."""
    node = require_tool("node")
    require_tool("npm")

    def start(port: int, **security: Any) -> Aggregator:
        command = [str(node), str(installed()), json.dumps({"port": port, **security})]
        return Aggregator(command, tmp_path / f"{port}.jsonl")

    return start


def plan_for(directory: Path, *entries: dict[str, Any], **keys: Any) -> Plan:
    """Return the plan of a run that sends logs and results to each of these, buffered in `buffer`."""
    sent = {"logging_tag": "nodrop.log", "result_tag": "nodrop.result"}
    fluentd = [sent | entry for entry in entries]
    return make_plan(directory / "results", ship__fluentd=fluentd, ship__buffer_dir=str(directory / "buffer"), **keys)


def run_and_ship(plan: Plan) -> tuple[RunResult, list[str]]:
    """Run the plan against a model of a SUT; return the result and the messages to the user."""
    messages: list[str] = []
    with open_sinks(plan, messages.append) as sinks:
        result = execute(plan, sinks, make_environment(Step(1e6)))
    return result, messages


def fields_by_tag(records: list[dict[str, Any]], tag: str) -> list[dict[str, Any]]:
    """Return the fields of the records of a tag, including the message if any."""
    chosen = [record for record in records if record["fields"]["fluent.tag"] == tag]
    return [record["fields"] | ({"message": record["message"]} if record["message"] else {}) for record in chosen]


def test_logs_and_results_arrive_with_the_figures_of_the_result(forward: Start, tmp_path: Path) -> None:
    port = free_port()
    plan = plan_for(tmp_path, {"port": port}, label="rack 7", user_info={"site": "north", "rack": {"row": 3}})
    with forward(port) as aggregator:
        result, messages = run_and_ship(plan)
        records = aggregator.records(8)
    assert messages == []
    ndr, pdr = fields_by_tag(records, "nodrop.result")
    for record, goal in ((ndr, result.goals[0]), (pdr, result.goals[1])):
        assert goal.lower
        trial = result.trials[goal.lower.trial_index]
        assert record["type"] == goal.goal.label
        assert record["rate_pps"] == round(trial.offered_load_pps)
        assert record["rate_bps"] == pytest.approx(trial.offered_load_pps * 84 * 8, rel=1e-6)
        assert record["drop_percentage"] == pytest.approx(100 * trial.lost_count / trial.offered_count, abs=1e-6)
        assert record["drop_limit"] == 100 * goal.goal.loss_ratio
        assert (record["user_label"], record["site"], record["rack"]) == ("rack 7", "north", {"row": 3})
        assert (record["frame_size"], record["service_chain"], record["flow_count"]) == ("64", "PVP", 512)
        assert datetime.datetime.strptime(record["@timestamp"], "%Y-%m-%dT%H:%M:%S.%f%z").utcoffset() is not None
    logs = fields_by_tag(records, "nodrop.log")
    assert [log["loglevel"] for log in logs[:1] + logs[-1:]] == ["START", "RUN_SUMMARY"]
    assert (logs[-1]["message"], logs[-1]["numerrors"], logs[-1]["numwarnings"]) == ("GOOD RUN", 0, 0)
    assert len(logs) == len(records) - 2 > len(result.trials)
    assert {log["runlogdate"] for log in logs} == {ndr["runlogdate"]} == {pdr["runlogdate"]}


def test_what_could_not_be_delivered_arrives_once_with_the_next_run(forward: Start, tmp_path: Path) -> None:
    port = free_port()
    plan = plan_for(tmp_path, {"port": port})
    _, messages = run_and_ship(plan)
    (sentence,) = messages
    assert f"for 127.0.0.1:{port} are buffered in {tmp_path / 'buffer'}: {REFUSED}" in sentence
    buffered_count = int(sentence.split()[0])
    with forward(port) as aggregator:
        _, messages = run_and_ship(plan)
        records = aggregator.records(2 * buffered_count)
    assert messages == []
    assert len(records) == 2 * buffered_count
    results = fields_by_tag(records, "nodrop.result")
    assert len({(record["run_id"], record["type"]) for record in results}) == len(results) == 4


def test_ship_delivers_what_is_left_and_says_so(forward: Start, tmp_path: Path) -> None:
    port = free_port()
    _, (sentence,) = run_and_ship(plan_for(tmp_path, {"port": port}))
    buffered_count = int(sentence.split()[0])
    command = [sys.executable, "-m", "nodrop", "ship", "--buffer-dir", str(tmp_path / "buffer")]
    undelivered = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (undelivered.returncode, undelivered.stdout) == (
        7,
        f"127.0.0.1:{port}: 0 delivered, {buffered_count} waiting: {REFUSED}\n",
    )
    with forward(port) as aggregator:
        delivered = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (delivered.returncode, delivered.stdout) == (
            0,
            f"127.0.0.1:{port}: {buffered_count} delivered, 0 waiting\n",
        )
        assert len(aggregator.records(buffered_count)) == buffered_count


def test_an_aggregator_that_comes_back_during_a_run_gets_what_waited_for_it(forward: Start, tmp_path: Path) -> None:
    port = free_port()
    plan = plan_for(tmp_path, {"port": port})
    started: list[Aggregator] = []
    messages: list[str] = []
    try:
        with open_sinks(plan, messages.append) as sinks:

            def forward_event(event: Any) -> None:
                sinks(event)
                if isinstance(event, TrialDone) and event.result.index == 2:
                    started.append(forward(port))

            execute(plan, forward_event, make_environment(Step(1e6)))
        assert messages == []
        levels = [log["loglevel"] for log in fields_by_tag(started[0].records(0), "nodrop.log")]
    finally:
        for server in started:
            server.__exit__()
    assert (levels[0], levels[-1], levels.count("START")) == ("START", "RUN_SUMMARY", 1)


def test_two_aggregators_each_get_all_and_one_that_is_away_holds_up_neither(forward: Start, tmp_path: Path) -> None:
    up, down = free_port(), free_port()
    plan = plan_for(tmp_path, {"port": up}, {"port": down, "logging_tag": None, "result_tag": "other"})
    with forward(up) as aggregator:
        _, (sentence,) = run_and_ship(plan)
        first = aggregator.records(10)
    assert sentence.startswith(f"2 records for 127.0.0.1:{down} are buffered")
    with forward(down) as aggregator:
        subprocess.run(
            [sys.executable, "-m", "nodrop", "ship", "--buffer-dir", str(tmp_path / "buffer")], check=True, text=True
        )
        second = aggregator.records(2)
    assert fields_by_tag(second, "other") == [
        record | {"fluent.tag": "other"} for record in fields_by_tag(first, "nodrop.result")
    ]


def test_records_kept_before_kill_9_arrive_afterwards(forward: Start, tmp_path: Path) -> None:
    port = free_port()
    program = (
        "import sys, pathlib, itertools\n"
        "from nodrop.export.fluentd.sender import Sender\n"
        "from nodrop.model.shipping import Aggregator\n"
        f"sender = Sender(pathlib.Path({str(tmp_path)!r}), Aggregator(host='127.0.0.1', port={port}), 2**20)\n"
        "for number in itertools.count():\n"
        "    sender.enqueue('tag', {'number': number})\n"
        "    print(number, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        for _ in range(50):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        last_number = 49 + len(writer.stdout.readlines())
    with forward(port) as aggregator:
        subprocess.run([sys.executable, "-m", "nodrop", "ship", "--buffer-dir", str(tmp_path)], check=True)
        numbers = [record["fields"]["number"] for record in aggregator.records(last_number + 1)]
    assert numbers[: last_number + 1] == list(range(last_number + 1))
    assert len(numbers) <= last_number + 2, "at most the record that was being stored"


def test_only_records_whose_acknowledgement_was_lost_arrive_twice(forward: Start, tmp_path: Path) -> None:
    port = free_port()
    destination = Destination(host="127.0.0.1", port=port)
    with RecordBuffer(get_buffer_path(tmp_path, destination)) as buffer:
        buffer.describe(destination)
        for number in range(3):
            buffer.append("first", 1_700_000_000_123_456_789, {"number": number})
        for number in range(3, 5):
            buffer.append("second", 1_700_000_000_123_456_789, {"number": number})
    command = [sys.executable, "-m", "nodrop", "ship", "--buffer-dir", str(tmp_path)]
    with forward(port, unacknowledged=1) as aggregator:
        assert subprocess.run(command, check=False).returncode == 7
        assert subprocess.run(command, check=False).returncode == 0
        records = aggregator.records(8)
    assert [record["fields"]["number"] for record in records] == [0, 1, 2, 0, 1, 2, 3, 4]
    assert {record["time"] for record in records} == {"2023-11-14T22:13:20.123456789Z"}


def certificate(directory: Path, name: str) -> dict[str, str]:
    """Create a certificate for a name; return the files of the certificate, its key and its authority."""
    authority = trustme.CA()
    issued = authority.issue_cert(name)
    files = {part: str(directory / f"{name}-{part}.pem") for part in ("authority", "certificate", "key")}
    authority.cert_pem.write_to_path(files["authority"])
    issued.private_key_pem.write_to_path(files["key"])
    Path(files["certificate"]).write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    return files


def secret(directory: Path, name: str, text: str) -> str:
    path = directory / name
    path.write_text(f"{text}\n")
    return str(path)


def test_with_tls_shared_key_and_user_records_arrive_and_no_secret_is_kept(secure: Start, tmp_path: Path) -> None:
    port = free_port()
    tls = certificate(tmp_path, "127.0.0.1")
    entry = {
        "port": port,
        "tls": {"ca_file": tls["authority"]},
        "shared_key_file": secret(tmp_path, "shared", "a-shared-key"),
        "username": "probe",
        "password_file": secret(tmp_path, "password", "a-password"),
    }
    security = {"shared_key": "a-shared-key", "user": "probe", "password": "a-password"}
    with secure(port, certificate=tls["certificate"], key=tls["key"], **security) as aggregator:
        result, messages = run_and_ship(plan_for(tmp_path, entry))
        records = aggregator.records(12)
    assert messages == []
    assert {"nodrop.log", "nodrop.result"} == {record["tag"] for record in records}
    assert len([record for record in records if record["tag"] == "nodrop.result"]) == 2
    stored = [path.read_bytes() for path in [*tmp_path.rglob("result.json"), *(tmp_path / "buffer").iterdir()]]
    for hidden in ("a-shared-key", "a-password"):
        assert hidden not in repr(result)
        assert all(hidden.encode() not in content for content in stored)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"shared_key_file": "wrong"}, "rejected the handshake: shared key mismatch"),
        ({"password_file": "wrong"}, "rejected the handshake: username/password mismatch"),
        ({"username": None, "password_file": None}, "requires a user; set username and password_file"),
        ({"shared_key_file": None, "username": None, "password_file": None}, "requires a shared key"),
        ({"tls": True}, "certificate rejected: "),
        ({"tls": None}, "accepts connections but does not reply"),
    ],
)
def test_an_aggregator_that_is_not_convinced_gets_nothing_and_the_user_is_told_why(
    secure: Start, tmp_path: Path, change: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodrop.export.fluentd.sender.ANSWER_S", 1.0)
    port = free_port()
    tls = certificate(tmp_path, "127.0.0.1")
    secret(tmp_path, "wrong", "another")
    entry: dict[str, Any] = {
        "port": port,
        "tls": {"ca_file": tls["authority"]},
        "shared_key_file": secret(tmp_path, "shared", "a-shared-key"),
        "username": "probe",
        "password_file": secret(tmp_path, "password", "a-password"),
        "logging_tag": None,
    }
    changed = {key: str(tmp_path / "wrong") if value == "wrong" else value for key, value in change.items()}
    security = {"shared_key": "a-shared-key", "user": "probe", "password": "a-password"}
    with secure(port, certificate=tls["certificate"], key=tls["key"], **security) as aggregator:
        _, (sentence,) = run_and_ship(plan_for(tmp_path, entry | changed))
        assert sentence.startswith(f"2 records for 127.0.0.1:{port} are buffered")
        assert reason in sentence
        assert aggregator.records(0) == []


def test_a_sender_that_lives_long_gets_through_to_an_aggregator_that_restarts(forward: Start, tmp_path: Path) -> None:
    port = free_port()
    destination = Destination(host="127.0.0.1", port=port)
    sender = Sender(tmp_path, destination, 2**20)
    for number in range(3):
        with forward(port) as aggregator:
            sender.enqueue("tag", {"number": number})
            assert len(aggregator.records(number + 1)) == number + 1
    assert list(sender.finish(5.0).warnings()) == []


def test_a_run_from_nfvbenchs_configuration_arrives(
    require_privilege: None,  # noqa: ARG001
    forward: Start,
    tmp_path: Path,
) -> None:
    port = free_port()
    (tmp_path / "nfvbench.cfg").write_text(
        f"fluentd: [{{logging_tag: nfvbench, result_tag: resultnfvbench, ip: 127.0.0.1, port: {port}}}]\n"
        "rate: 2kpps\nduration_sec: 1\nframe_sizes: [64, 128]\nuser_label: rack7\n"
    )
    command = [sys.executable, "-m", "nodrop", "run", "-c", "nfvbench.cfg", "--user-info", '{"site": "north"}', "-q"]
    command += FULL_RATE
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    with forward(port) as aggregator:
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=stretch(120))
        records = aggregator.records(0)
    small, large = fields_by_tag(records, "resultnfvbench")
    assert (small["frame_size"], large["frame_size"]) == ("64", "128")
    for record in (small, large):
        assert (record["type"], record["user_label"], record["site"]) == ("single_run", "rack7", "north")
        assert record["total_orig_rate_pps"] == 2000
        both_pps = record["forward_tx_rate_pps"] + record["reverse_tx_rate_pps"]
        assert both_pps == pytest.approx(record["total_tx_rate_pps"], abs=2)
        on_wire_bits = (int(record["frame_size"]) + 20) * 8
        assert record["total_tx_rate_bps"] == pytest.approx(record["total_tx_rate_pps"] * on_wire_bits, rel=1e-3)
    levels = [log["loglevel"] for log in fields_by_tag(records, "nfvbench")]
    assert (levels[0], levels[-1]) == ("START", "RUN_SUMMARY")
