"""Servers observed during a run."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from tests.waiting import await_true

from nodrop.errors import StageError
from nodrop.stage.openstack.stage import ServerMonitor

THREAD = "openstack servers"
NAMES = frozenset({"vm0", "vm1"})
WELL = {"vm0": {"status": "ACTIVE"}, "vm1": {"status": "ACTIVE"}}


def watch_until(look: Callable[[], Mapping[str, Any]], until: Callable[[ServerMonitor], bool]) -> str | None:
    """Return what a watch reports after a change of the cloud."""
    watch = ServerMonitor(look, NAMES, every_s=0.01)
    watch.start()
    await_true(lambda: until(watch), "the watch sees the change")
    watch.stop()
    return watch.fault


def test_a_server_that_left_active_is_named() -> None:
    message = watch_until(lambda: WELL | {"vm1": {"status": "SHUTOFF"}}, lambda watch: bool(watch.fault))
    assert message and message.startswith("server vm1 was ACTIVE when the run began and is SHUTOFF")


def test_a_server_that_is_gone_is_named() -> None:
    message = watch_until(lambda: {"vm1": WELL["vm1"]}, lambda watch: bool(watch.fault))
    assert message and message.startswith("server vm0 was deleted during the run")


def test_a_cloud_that_does_not_answer_ends_no_run() -> None:
    looks = []

    def look() -> Mapping[str, Any]:
        looks.append(1)
        if len(looks) < 3:
            raise StageError("no answer")
        return WELL

    assert watch_until(look, lambda _: len(looks) >= 5) is None
    assert len(looks) >= 5


def test_a_watch_that_is_stopped_looks_no_more() -> None:
    watch = ServerMonitor(lambda: WELL, NAMES, every_s=0.01)
    watch.start()
    watch.stop()
    await_true(lambda: THREAD not in {thread.name for thread in threading.enumerate()}, "its thread ends")
