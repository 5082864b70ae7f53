"""Receivers of a run's events: the log, the files, and failures to deliver."""

import errno
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, Listener, make_environment, make_plan
from tests.suts import SlowTester, Step

from nodrop.cli.outputs import Outputs
from nodrop.errors import ConfigError
from nodrop.export.fluentd.records import LogRecords
from nodrop.export.jsonl import JsonlWriter
from nodrop.run.event_sinks import open_sinks
from nodrop.run.execute import execute
from nodrop.simulation import SutFunction
from nodrop.system.log_files import LOGGER, SeverityCounter


def shown_messages(directory: Path, sut: SutFunction = MILLION, **keys: Any) -> list[str]:
    """Execute a run with these keys of `ship`; return what the user was shown."""
    message: list[str] = []
    plan = make_plan(directory / "results", **{f"ship__{key}": value for key, value in keys.items()})
    with open_sinks(plan, message.append) as tell:
        execute(plan, tell, make_environment(sut))
    return message


def test_the_log_has_every_trial_and_how_the_run_ended(tmp_path: Path) -> None:
    assert shown_messages(tmp_path, log_file=str(tmp_path / "log")) == []
    lines = (tmp_path / "log").read_text().splitlines()
    levels = [line.split()[1] for line in lines]
    (result,) = [json.loads(path.read_text()) for path in (tmp_path / "results").glob("*/result.json")]
    assert sum(" trial " in line for line in lines) == len(result["trials"])
    assert set(levels) == {"INFO"}
    assert " is complete after " in lines[-1]


def test_debug_adds_details(tmp_path: Path) -> None:
    shown_messages(tmp_path, log_file=str(tmp_path / "log"), debug=True)
    assert " DEBUG   trial 0 begins: " in (tmp_path / "log").read_text()


def test_debug_without_a_file_goes_to_standard_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shown_messages(tmp_path, debug=True)
    assert " DEBUG   trial 0 begins: " in capsys.readouterr().err


def test_a_log_as_json_has_an_object_a_line_with_fields_for_programs(tmp_path: Path) -> None:
    shown_messages(tmp_path, log_file=str(tmp_path / "log"), log_format="json")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert all({"@timestamp", "loglevel", "message", "run_id"} <= set(line) for line in lines)
    trials = [line for line in lines if "trial" in line]
    assert [line["trial"] for line in trials] == list(range(len(trials)))
    assert all(0 <= line["loss_ratio"] <= 1 for line in trials)


def test_a_tester_that_fell_short_is_a_warning(tmp_path: Path) -> None:
    shown_messages(tmp_path, SlowTester(capacity_pps=1e6, tester_pps=5e5), log_file=str(tmp_path / "log"))
    assert " WARNING " in (tmp_path / "log").read_text()


def test_a_fixed_rate_that_the_tester_does_not_reach_is_a_warning(tmp_path: Path) -> None:
    message: list[str] = []
    plan = make_plan(tmp_path, rate="10kpps", duration="1s", ship__log_file=str(tmp_path / "log"))
    with open_sinks(plan, message.append) as tell:
        execute(plan, tell, make_environment(SlowTester(capacity_pps=1e6, tester_pps=5e3)))
    (warning,) = [line for line in (tmp_path / "log").read_text().splitlines() if " WARNING " in line]
    assert "only 50 % of it sent" in warning


def test_a_goal_without_any_load_is_an_error(tmp_path: Path) -> None:
    message: list[str] = []
    plan = make_plan(tmp_path, search__min_load="20kpps", ship__log_file=str(tmp_path / "log"))
    with open_sinks(plan, message.append) as tell:
        execute(plan, tell, make_environment(Step(1e4)))
    assert " ERROR   NDR 0 %: none." in (tmp_path / "log").read_text()


def test_an_error_before_the_run_began_is_in_the_log(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, ship__log_file=str(tmp_path / "log"))
    with pytest.raises(ConfigError), open_sinks(plan, lambda _: None):
        raise ConfigError("key: unsupported value")
    assert (tmp_path / "log").read_text().endswith(" ERROR   key: unsupported value\n")


def test_the_log_is_added_to_and_other_loggers_are_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "log").write_text("before\n")
    root = logging.getLogger()
    before = root.level, list(root.handlers), LOGGER.level, list(LOGGER.handlers)
    shown_messages(tmp_path, log_file=str(tmp_path / "log"))
    assert (root.level, list(root.handlers), LOGGER.level, list(LOGGER.handlers)) == before
    assert (tmp_path / "log").read_text().startswith("before\n20")
    assert caplog.records, "who embeds nodrop and listens to the root logger hears it"


def test_every_event_is_a_line_of_json_and_lines_are_added(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "cut off')
    listener = Listener()
    message: list[str] = []
    plan = make_plan(tmp_path / "results", ship__events_file=str(path))
    with open_sinks(plan, message.append) as tell:
        execute(plan, lambda event: (listener(event), tell(event))[0], make_environment(Step(1e6)))
    first, *lines = path.read_text().splitlines()
    assert first == '{"event": "cut off'
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == [type(event).__name__ for event in listener.events]
    assert len({event["run_id"] for event in events}) == 1
    assert events[-1]["result"]["goals"][0]["goal"]["label"] == "NDR"


def test_two_writers_of_events_do_not_mix_lines(tmp_path: Path) -> None:
    listener = Listener()
    execute(make_plan(tmp_path), listener, make_environment(Step(1e6)))
    one, other = JsonlWriter(tmp_path / "events"), JsonlWriter(tmp_path / "events")
    for event in listener.events:
        one(event)
        other(event)
    one.close()
    other.close()
    lines = (tmp_path / "events").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 2 * len(listener.events)


def test_the_metrics_are_written_at_the_end(tmp_path: Path) -> None:
    shown_messages(tmp_path, openmetrics_file=str(tmp_path / "nodrop.prom"))
    assert 'nodrop_goal_load_pps{bound="lower",frame_size="64",goal="NDR"}' in (tmp_path / "nodrop.prom").read_text()


@pytest.mark.parametrize("key", ["log_file", "events_file", "openmetrics_file"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path, key: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=f"ship.{key}: .*"):
        shown_messages(tmp_path, **{key: str(tmp_path / "file" / "below")})
    with pytest.raises(ConfigError, match=f"ship.{key}: .*"):
        shown_messages(tmp_path, **{key: str(tmp_path)})
    assert not list((tmp_path / "results").glob("*"))


def test_a_disk_that_fills_up_ends_the_log_and_not_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("there is no /dev/full")
    message = shown_messages(tmp_path, log_file="/dev/full", events_file="/dev/full")
    assert message == [
        f"ship.events_file: [Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}; the run continues without it"
    ]
    assert capsys.readouterr().err.count("cannot write the log") == 1
    assert list((tmp_path / "results").glob("*/result.json"))


def test_files_become_whose_they_are_to_be(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root may give files away")
    shown_messages(
        tmp_path, log_file=str(tmp_path / "log"), events_file=str(tmp_path / "events"), user_id=12345, group_id=23456
    )
    for name in ("log", "events"):
        status = (tmp_path / name).stat()
        assert (status.st_uid, status.st_gid) == (12345, 23456)


class MemorySender:
    """Stores records in memory."""

    def __init__(self) -> None:
        self.records: list[tuple[str, dict[str, Any]]] = []

    def enqueue(self, tag: str, record: Any) -> None:
        self.records.append((tag, dict(record)))


@pytest.mark.parametrize(
    ("warnings", "errors", "message", "level"),
    [(0, 0, "GOOD RUN", 20), (2, 0, "RUN WITH WARNINGS", 30), (1, 3, "RUN WITH ERRORS", 40)],
)
def test_a_run_is_summed_up_by_what_was_logged(warnings: int, errors: int, message: str, level: int) -> None:
    stored, tally = MemorySender(), SeverityCounter()
    records = LogRecords(stored, "tag", "date")
    for levelno, count in ((logging.WARNING, warnings), (logging.ERROR, errors)):
        for _ in range(count):
            tally.handle(logging.LogRecord("nodrop", levelno, "", 0, "said", None, None))
    records.log_start()
    records.handle(logging.LogRecord("nodrop", logging.INFO, "", 0, "said", None, None))
    records.log_summary(tally)
    (_, start), (_, text), (_, summary) = stored.records
    assert set(text) == {"loglevel", "message", "@timestamp", "runlogdate"}
    assert (start["loglevel"], start["numwarnings"]) == ("START", 0)
    assert (summary["message"], summary["numloglevel"]) == (message, level)
    assert (summary["numwarnings"], summary["numerrors"]) == (warnings, errors)


def test_files_of_json_become_whose_they_are_to_be(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root may give files away")
    plan = make_plan(tmp_path / "results", ship__user_id=12345)
    result = execute(plan, Listener(), make_environment(MILLION))
    Outputs(json_file=str(tmp_path / "own"), nfvbench_json=str(tmp_path / "theirs")).write([result], "{}")
    assert [(tmp_path / name).stat().st_uid for name in ("own", "theirs")] == [12345, 12345]
