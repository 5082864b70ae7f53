"""Open vSwitch with its user-space datapath, as processes of the lab: no service, no kernel module, nothing on disk.

    holder ─┬─► ovsdb-server   in the SUT's network namespace and its own mount namespace, /run an empty tmpfs
            └─► ovs-vswitchd   in the same namespaces

Database and sockets are on that tmpfs, which disappears with the last of the two processes.

Source: ovsdb-server(1), ovs-vswitchd(8), ovs-vsctl(8), ovs-ofctl(8).
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nodrop.errors import StageError
from nodrop.model.lab_plan import ForwarderPort, LabPlan
from nodrop.stage import namespace
from nodrop.stage.sut_process import SutChild, raise_priority

RUN_DIRECTORY = "/run"
DATABASE, SOCKET = "/run/conf.db", "/run/db.sock"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
PROGRAMS = ("ovsdb-server", "ovs-vswitchd", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl")
SYSTEM_DIRECTORIES = os.pathsep.join(("/usr/sbin", "/sbin"))
TOOL_TIMEOUT_S = 30.0
SOCKET_TIMEOUT_S = 5.0
BRIDGE = "br0"
CREATE_FIRST = '"$1" create "$2" "$3" && shift 3 && exec "$@"'
"""Shell script: create the database, then become the server."""


@contextlib.contextmanager
def open_vswitch(plan: LabPlan, sut_pid: int) -> Iterator[tuple[SutChild, ...]]:
    """Run a switch that connects the two ports of each forwarder and nothing else; end it on exit.

    Raises: StageError with what is missing or the message of an Open vSwitch program.
    """
    programs = find_programs()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(_database_server(programs, sut_pid))
        tools = _OvsTools(programs, _enter_mounts_of(sut_pid, server.pid))
        tools.run("ovs-vsctl", "--no-wait", "init")
        switch = stack.enter_context(_switch(programs, sut_pid, server.pid, plan.forwarders[0].core))
        _connect(plan, tools)
        yield switch, server


class _OvsTools:
    """Runs the tools of Open vSwitch in the namespaces of its processes."""

    def __init__(self, programs: dict[str, str], enter: Callable[[], None]) -> None:
        self._programs = programs
        self._enter = enter

    def run(self, tool: str, *arguments: str, stdin_text: str = "") -> None:
        """Run a tool with `stdin_text` on its standard input. Raises StageError with the tool's message."""
        database_options = (f"--db=unix:{SOCKET}", f"--timeout={TOOL_TIMEOUT_S:g}") if tool == "ovs-vsctl" else ()
        command = [self._programs[tool], *database_options, *arguments]
        process = subprocess.run(
            command,
            preexec_fn=self._enter,
            env=_collect_environment(),
            input=stdin_text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if process.returncode:
            raise StageError(f"SUT ovs: {tool} {arguments[0]} failed: {process.stderr.strip()}")


def _connect(plan: LabPlan, tools: _OvsTools) -> None:
    """Create one bridge, with flows from each port of a pair to the other."""
    tools.run("ovs-vsctl", "add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev", "fail-mode=secure")
    numbers = {port.interface: str(number) for number, port in enumerate(_list_ports(plan), start=1)}
    added: list[str] = []
    for interface, number in numbers.items():
        added += ["--", "add-port", BRIDGE, interface]
        added += ["--", "set", "interface", interface, f"ofport_request={number}"]
    tools.run("ovs-vsctl", *added[1:])
    pairs = (pair for forwarder in plan.forwarders for pair in (forwarder.ports, forwarder.ports[::-1]))
    flows = (
        f"in_port={numbers[source.interface]},actions=output:{numbers[destination.interface]}\n"
        for source, destination in pairs
    )
    tools.run("ovs-ofctl", "add-flows", BRIDGE, "-", stdin_text="".join(flows))


def _list_ports(plan: LabPlan) -> Iterator[ForwarderPort]:
    for forwarder in plan.forwarders:
        yield from forwarder.ports


@contextlib.contextmanager
def _database_server(programs: dict[str, str], sut_pid: int) -> Iterator[SutChild]:
    """Run ovsdb-server and wait for its socket. It creates the mount namespace that later processes join."""
    arguments = [DATABASE, f"--remote=punix:{SOCKET}", f"--unixctl={RUN_DIRECTORY}/ovsdb.ctl", "-vconsole:err"]
    prepared = ["sh", "-c", CREATE_FIRST, "sh", programs["ovsdb-tool"], DATABASE, SCHEMA]
    with _run_process(
        "ovsdb-server", [*prepared, programs["ovsdb-server"], *arguments], _enter_new_mounts(sut_pid)
    ) as server:
        # The socket is visible in the server's mount namespace only.
        _await_socket(Path(f"/proc/{server.pid}/root{SOCKET}"), server)
        yield server


@contextlib.contextmanager
def _switch(programs: dict[str, str], sut_pid: int, server_pid: int, core: int | None) -> Iterator[SutChild]:
    enter = _enter_mounts_of(sut_pid, server_pid)

    def enter_bound() -> None:
        enter()
        raise_priority()
        if core is not None:
            os.sched_setaffinity(0, {core})

    arguments = [f"unix:{SOCKET}", f"--unixctl={RUN_DIRECTORY}/vswitchd.ctl", "-vconsole:err"]
    with _run_process("ovs-vswitchd", [programs["ovs-vswitchd"], *arguments], enter_bound) as switch:
        yield switch


@contextlib.contextmanager
def _run_process(name: str, command: list[str], enter: Callable[[], None]) -> Iterator[SutChild]:
    # preexec_fn is safe: the holder has one thread.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=enter, env=_collect_environment())  # noqa: PLW1509
    child = SutChild(name, name, process)
    try:
        yield child
    finally:
        child.stop()


def _enter_new_mounts(sut_pid: int) -> Callable[[], None]:
    """Return the setup of the first process: it enters the SUT's network, gets a /run of its own and dies with the
    holder."""
    holder = os.getpid()

    def enter() -> None:
        namespace.set_network_of(sut_pid)
        namespace.unshare_mounts()
        namespace.mount_tmpfs(RUN_DIRECTORY)
        namespace.die_with_parent(holder)

    return enter


def _enter_mounts_of(sut_pid: int, server_pid: int) -> Callable[[], None]:
    """Return the setup of later processes: they join both namespaces and die with the holder."""
    holder = os.getpid()

    def enter() -> None:
        namespace.set_network_of(sut_pid)
        namespace.set_mounts_of(server_pid)
        namespace.die_with_parent(holder)

    return enter


def _await_socket(path: Path, server: SutChild) -> None:
    deadline = time.monotonic() + SOCKET_TIMEOUT_S
    while not path.exists():
        if server.has_ended():
            raise StageError(f"SUT ovs: {server.describe_end()} before it was ready")
        if time.monotonic() > deadline:
            raise StageError(f"SUT ovs: ovsdb-server is not ready after {SOCKET_TIMEOUT_S:g} s")
        time.sleep(0.01)


def find_programs() -> dict[str, str]:
    """Return the path of each program of Open vSwitch. Raises StageError that says what to install."""
    search_path = os.pathsep.join((os.environ.get("PATH", os.defpath), SYSTEM_DIRECTORIES))
    paths = {name: shutil.which(name, path=search_path) for name in PROGRAMS}
    missing = [name for name, path in paths.items() if not path]
    if missing or not Path(SCHEMA).exists():
        raise StageError(
            f"SUT ovs: {', '.join(missing) or SCHEMA} not found; install Open vSwitch (apt-get install "
            "openvswitch-switch, dnf install openvswitch); its service need not run"
        )
    return {name: path for name, path in paths.items() if path}


def _collect_environment() -> dict[str, str]:
    return os.environ | {"OVS_RUNDIR": RUN_DIRECTORY, "OVS_LOGDIR": RUN_DIRECTORY, "OVS_DBDIR": RUN_DIRECTORY}
