"""The holder: the process in the tester's namespace whose lifetime is the lab's.

    caller ── stdin/stdout ──► holder (tester's namespace) ──► keeper (the SUT's namespace)
                                                           ├─► a keeper for each router in the path
                                                           └─► the SUT's processes, their ports in its namespace

The caller writes one LabRequest; the holder replies LabUp or LabFailed, later SutExited. For a pool, the caller may
write ChangeRequest, to which it replies InstanceChanges. It ends when its standard input closes or on SIGTERM. If it
is killed, the kernel kills the keepers and the SUT (PR_SET_PDEATHSIG); namespaces and links disappear with their last
process. With `--standing` it outlives its caller, once the caller has sent STAY.
"""

import argparse
import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NoReturn

from nodrop.errors import StageError
from nodrop.stage import namespace
from nodrop.stage.holder_protocol import STAY, ChangeRequest, LabFailed, LabRequest, LabUp, Message, SutExited
from nodrop.stage.lab_inspection import read_facts
from nodrop.stage.links import Namespaces
from nodrop.stage.pool_instances import PoolInstances
from nodrop.stage.sut import install_sut, wire_links
from nodrop.stage.sut_process import SutChild, raise_session_priority

READY = b"kept"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read a request and hold its lab. Returns the exit status."""
    options = _parse(arguments)
    request = LabRequest.model_validate_json(sys.stdin.buffer.readline())
    if options.standing and os.fork():
        os._exit(0)  # the caller reaps this process; init becomes the parent of the lab's
    signal.signal(signal.SIGTERM, _handle_termination)
    try:
        _hold(request, options.parent)
    except StageError as error:
        _send(LabFailed(message=str(error)))
        return error.exit_code
    return 0


def _hold(request: LabRequest, parent_pid: int | None) -> None:
    """Build the lab, report it, and hold it until the caller is done with it."""
    with contextlib.ExitStack() as stack:
        privilege = namespace.unshare_lab()
        if parent_pid:
            namespace.die_with_parent(parent_pid)
        began_s = time.monotonic()
        pids = {place: stack.enter_context(_keeper()) for place in ("sut", *request.plan.namespaces[1:])}
        wire_links(request.plan, pids)
        sut, antagonists = stack.enter_context(install_sut(request.plan, pids))
        facts = read_facts(request, privilege, pids, sut)
        children = (*sut, *antagonists)  # a lab whose antagonist ended is not the requested one
        instances = stack.enter_context(PoolInstances(request.plan, pids["sut"], sut))
        _send(LabUp(facts=facts.replace(up_s=time.monotonic() - began_s)))
        if parent_pid:
            if request.plan.balancer:
                # Beside a tester and a SUT with priority, a change would be late by seconds.
                raise_session_priority()
            _watch(pids, children, instances)
        elif sys.stdin.buffer.readline() == STAY:
            _detach_from_caller()
            _watch(pids, children)


def _detach_from_caller() -> None:
    """Close the caller's pipes and leave its directory; later messages go to the log."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    os.chdir("/")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nodrop.stage.holder")
    ends = parser.add_mutually_exclusive_group(required=True)
    ends.add_argument("--parent", type=int, help="process whose end is the lab's end")
    ends.add_argument("--standing", action="store_true", help="hold the lab until SIGTERM")
    return parser.parse_args(arguments)


def _handle_termination(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(0)


@contextlib.contextmanager
def _keeper() -> Iterator[int]:
    """Start a child process in a new namespace; yield its pid once the namespace exists."""
    parent_pid = os.getpid()
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        _hold_namespace(parent_pid, writer)
    try:
        os.close(writer)
        with os.fdopen(reader, "rb") as answer:
            reply = answer.read()
        if reply != READY:
            raise StageError(f"cannot create a network namespace for the SUT: {reply.decode() or 'no reply'}")
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _hold_namespace(parent_pid: int, writer: int) -> NoReturn:
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        namespace.die_with_parent(parent_pid)
        namespace.unshare_network()
        os.write(writer, READY)
        os.close(writer)
        while True:
            signal.pause()
    except OSError as error:
        os.write(writer, str(error.strerror).encode())
    finally:
        os._exit(1)


def _watch(pids: Namespaces, children: tuple[SutChild, ...], instances: PoolInstances | None = None) -> None:
    """Report a SUT process that ends; with instances, change them on request, until standard input closes."""
    with selectors.DefaultSelector() as selector:
        if instances:
            selector.register(sys.stdin, selectors.EVENT_READ, None)
        for pid in pids.values():
            selector.register(os.pidfd_open(pid), selectors.EVENT_READ, lambda: "the keeper of its namespace died")
        for child in children:
            selector.register(os.pidfd_open(child.pid), selectors.EVENT_READ, child.describe_unexpected_end)
        while True:
            for child in instances.carry_out_due() if instances else ():
                selector.register(os.pidfd_open(child.pid), selectors.EVENT_READ, child.describe_unexpected_end)
            for key, _ in selector.select(instances.compute_wait_s() if instances else None):
                if key.data is None:
                    # Every request is one line, and the caller awaits the reply: nothing is left in the buffer.
                    line = sys.stdin.buffer.readline()
                    if not line or not instances:
                        return
                    _send(instances.schedule(ChangeRequest.model_validate_json(line)))
                    continue
                selector.unregister(key.fileobj)
                if message := key.data():
                    _send(SutExited(message=message))


def _send(message: Message) -> None:
    print(message.model_dump_json(), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
