"""A TRex server that nodrop starts where it is installed, once for all runs of this process, and ends with it."""

import atexit
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from nodrop.errors import GeneratorError
from nodrop.generator.trex.installation import PROMPT, check_start, command_line, diagnose, find_release, platform_yaml
from nodrop.generator.trex.rpc import TrexNoReply, connection_error
from nodrop.generator.trex.session import TrexSession
from nodrop.model.trex import TrexPlan, TrexStart
from nodrop.system import runtime_dirs
from nodrop.system.json_child import await_exit, poll_exit
from nodrop.system.log_files import LOGGER
from nodrop.system.tcp_listeners import is_local

POLL_S = 0.25
REACH_TIMEOUT_S = 1.0
SHUTDOWN_MAX_S = 10.0
"""Time for a server to end after a shutdown request."""
SUPERVISOR = "nodrop.generator.trex.supervisor"

_running: dict[tuple[str, int], "StartedTrex"] = {}


class StartedTrex:
    """A TRex server that this process started."""

    def __init__(self, plan: TrexPlan) -> None:
        """Start it and wait until it replies. Raises GeneratorError with the end of its log."""
        assert plan.start
        check_start(plan.start)
        self.plan = plan
        _check_reachable(plan)
        self.directory = find_release(plan.start.directory)
        self.log = log_path(plan.rpc_port)
        file = self.log.with_suffix(".yaml")
        _write_private(file, platform_yaml(plan, plan.start))
        words = command_line(plan, plan.start, file)
        _write_private(self.log, f"{PROMPT}cd {self.directory}\n{PROMPT}{' '.join(words)}\n")
        with self.log.open("ab") as log:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-m", SUPERVISOR, *words],
                cwd=self.directory,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._await_answer(plan.start.start_timeout_s)
        except BaseException:
            self._end_process()
            raise

    def fits(self, plan: TrexPlan) -> bool:
        """Return whether it runs with the settings of this plan."""
        same = self.plan.start == plan.start and self.plan.histograms == plan.histograms
        return poll_exit(self._supervisor) is None and same

    def stop(self) -> None:
        """Shut it down by request first, so that it releases its cards; never raises."""
        if poll_exit(self._supervisor) is None:
            _shut_down(self.plan)
            await_exit(self._supervisor, SHUTDOWN_MAX_S)
        self._end_process()

    def _end_process(self) -> None:
        assert self._supervisor.stdin
        self._supervisor.stdin.close()
        self._supervisor.wait()

    def _await_answer(self, timeout_s: float) -> None:
        plan = self.plan
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            status = poll_exit(self._supervisor)
            if status is not None:
                raise self._failure(f"it exited with status {status}")
            if connection_error(plan.host, plan.rpc_port, REACH_TIMEOUT_S) is None:
                with suppress(TrexNoReply), TrexSession(plan):
                    return
            time.sleep(POLL_S)
        raise self._failure(f"no reply within {timeout_s:g} s")

    def _failure(self, what: str) -> GeneratorError:
        log = self.log.read_text(errors="replace")
        return GeneratorError(f"TRex in {self.directory} did not start: {what}: {diagnose(log)}")


def ensure_running(plan: TrexPlan) -> StartedTrex | None:
    """Ensure that a server runs as planned; return it if this process started it, None if not.

    A running server is used if it has the planned ports; else, or for a restart, it is shut down, which it refuses
    while
    another user holds its ports, unless `plan.take_over`.

    Raises: GeneratorError.
    """
    start = plan.start
    if start is None or not is_local(plan.host):
        return None
    key = plan.host, plan.rpc_port
    ours = _running.get(key)
    if ours and ours.fits(plan):
        return ours
    if ours:
        del _running[key]
        ours.stop()
    elif connection_error(plan.host, plan.rpc_port, REACH_TIMEOUT_S) is None:
        difference = "trex.start.restart is set" if start.restart else _difference(plan, start)
        if not difference:
            return None
        LOGGER.warning("shutting down the TRex at %s, port %d: %s", plan.host, plan.rpc_port, difference)
        _shut_down_other(plan, difference)
    _running[key] = StartedTrex(plan)
    return _running[key]


def stop_all() -> None:
    """End all servers that this process started; never raises."""
    while _running:
        _running.popitem()[1].stop()


atexit.register(stop_all)


def log_path(rpc_port: int) -> Path:
    """Return the path of the log of a server started at this port, in a directory only this user can write."""
    return runtime_dirs.ensure_runtime_subdir("trex") / f"{rpc_port}.log"


def log_text(rpc_port: int) -> str | None:
    """Return the log of the last server started at this port; None if none was."""
    try:
        return log_path(rpc_port).read_text(errors="replace")
    except FileNotFoundError:
        return None


def _check_reachable(plan: TrexPlan) -> None:
    """Raise GeneratorError if no server could be reached: the loopback of a new namespace is down."""
    error = connection_error(plan.host, plan.rpc_port, REACH_TIMEOUT_S)
    if error and not isinstance(error, ConnectionRefusedError):
        raise GeneratorError(
            f"trex.host: {plan.host} cannot be reached in this network namespace ({error.strerror or error}); bring "
            "its loopback interface up: ip link set lo up"
        )


def _difference(plan: TrexPlan, start: TrexStart) -> str:
    """Return how a running server differs from the planned one; empty if it does not."""
    with TrexSession(plan) as session:
        missing = sorted({*plan.ports} - {port.number for port in session.ports})
        if missing:
            return f"it has no port {', '.join(map(str, missing))}"
        cores = session.core_count
    expected = start.thread_count
    return "" if cores == expected else f"it sends on {cores} threads instead of {expected}"


def _shut_down_other(plan: TrexPlan, why: str) -> None:
    try:
        with TrexSession(plan) as session:
            session.call("shutdown", user=plan.user, force=plan.take_over)
    except TrexNoReply:
        pass  # it ended before it could reply
    except GeneratorError as error:
        raise GeneratorError(
            f"trex.start: the server at {plan.host}, port {plan.rpc_port}, differs from the plan ({why}) and refuses "
            f"to shut down: {error}"
        ) from None
    end_s = time.monotonic() + SHUTDOWN_MAX_S
    while connection_error(plan.host, plan.rpc_port, REACH_TIMEOUT_S) is None:
        if time.monotonic() > end_s:
            raise GeneratorError(
                f"the TRex at {plan.host}, port {plan.rpc_port}, still runs {SHUTDOWN_MAX_S:g} s after a shutdown "
                f"request ({why}); end it by hand"
            )
        time.sleep(POLL_S)


def _shut_down(plan: TrexPlan) -> None:
    with suppress(GeneratorError), TrexSession(plan.replace(timeout_s=REACH_TIMEOUT_S)) as session:
        session.call("shutdown", user=plan.user, force=True)


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
        file.write(text)
