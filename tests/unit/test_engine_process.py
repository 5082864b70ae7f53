"""Waiting for the engine's replies: the limits of time and silence."""

import json
from collections import deque

import pytest

from nodrop.generator import engine_process
from nodrop.generator.engine_process import PROTOCOL_VERSION, EngineDied, EngineProcess

TRIAL = {"reply": "trial"}


class ScriptedChild:
    """A child whose output arrives at given times of a clock that only its reader moves."""

    pid = 7
    has_closed_output = False

    def __init__(self, lines: list[tuple[float, dict]], away_s: float) -> None:
        self.now_s = 0.0
        self.is_killed = False
        self._lines = deque(lines)
        self._away_s = away_s

    def send(self, line: bytes) -> None:
        """Take a request."""

    def read_line(self, timeout_s: float) -> str | None:
        """Return the next line that has arrived; after a timeout, the reader gets no CPU time for `away_s`."""
        if self._lines and self._lines[0][0] <= self.now_s + timeout_s:
            at_s, reply = self._lines.popleft()
            self.now_s = max(self.now_s, at_s)
            return json.dumps(reply)
        self.now_s += timeout_s + self._away_s
        return None

    def kill(self) -> None:
        """End."""
        self.is_killed = True

    def end(self, timeout_s: float) -> None:
        """End."""


def request(
    monkeypatch: pytest.MonkeyPatch,
    lines: list[tuple[float, dict]],
    away_s: float = 0.0,
    thread_states: str = "SST",
    wait_ratio: float = 0.0,
) -> dict:
    hello = {"reply": "hello", "protocol": PROTOCOL_VERSION}
    child = ScriptedChild([(0.0, hello), *lines], away_s)
    monkeypatch.setattr(engine_process, "find_binary", lambda *_: "nodrop-engine")
    monkeypatch.setattr(engine_process, "JsonChild", lambda *_: child)
    monkeypatch.setattr(engine_process, "read_thread_states", lambda _: thread_states)
    monkeypatch.setattr(engine_process, "describe_threads", lambda _: ", ".join(thread_states))
    monkeypatch.setattr(engine_process, "read_cpu_waits_s", lambda _: child.now_s * wait_ratio)
    monkeypatch.setattr(engine_process.time, "monotonic", lambda: child.now_s)
    engine = EngineProcess(None, lambda: None)
    try:
        return engine.request({}, 60.0, lambda _: None, 3.0)
    except EngineDied:
        assert child.is_killed
        raise
    finally:
        engine.end()


def test_a_reply_that_waits_while_this_process_gets_no_cpu_time_is_read(monkeypatch) -> None:
    window = {"reply": "window"}
    lines = [(1.5, window), (2.5, window), (3.5, window), (5.0, TRIAL)]
    assert request(monkeypatch, lines, away_s=6.0) == TRIAL


def test_an_engine_without_a_report_is_killed(monkeypatch) -> None:
    with pytest.raises(EngineDied, match=r"did not report for 3.*\(its threads: S, S, T\)"):
        request(monkeypatch, [(30.0, TRIAL)])


@pytest.mark.parametrize("thread_states", ["RSS", "DSS"])
def test_an_engine_that_waits_for_the_machine_has_its_time_limit(monkeypatch, thread_states) -> None:
    assert request(monkeypatch, [(30.0, TRIAL)], thread_states=thread_states) == TRIAL
    with pytest.raises(EngineDied, match="did not reply within 60"):
        request(monkeypatch, [(90.0, TRIAL)], thread_states=thread_states)


def test_an_engine_that_waits_for_a_cpu_between_two_looks_has_its_time_limit(monkeypatch) -> None:
    assert request(monkeypatch, [(30.0, TRIAL)], wait_ratio=0.2) == TRIAL
    with pytest.raises(EngineDied, match="did not report for 3"):
        request(monkeypatch, [(30.0, TRIAL)], wait_ratio=0.05)


def test_an_engine_that_reports_has_its_time_limit(monkeypatch) -> None:
    windows = [(float(at_s), {"reply": "window"}) for at_s in range(1, 120)]
    with pytest.raises(EngineDied, match="did not reply within 60"):
        request(monkeypatch, windows)
