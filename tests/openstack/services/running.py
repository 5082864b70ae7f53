"""Start and stop of a cloud, which runs in the background or as long as its caller."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.openstack.services.layout import API_PORTS, ROOT, Layout

UP_S = 600


def start(layout: Layout, until_eof: bool = False) -> "subprocess.Popen[bytes]":
    """Start a new cloud; return when every service replies. Raises RuntimeError that names what failed."""
    stop(layout)
    layout.directory.mkdir(parents=True)
    own = ["--net", "--mount"] if layout.real else []
    arguments = ["--dir", layout.directory, "--venv", layout.venv, "--port", str(layout.first_port)]
    flags = [*(["--real"] if layout.real else []), *(["--until-eof"] if until_eof else [])]
    log = layout.directory / "keeper.log"
    with log.open("wb") as out:
        keeper = subprocess.Popen(
            [
                *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *own),
                *(layout.venv / "bin/python", "-m", "tests.openstack.services", "keep", *arguments, *flags),
            ],
            stdin=subprocess.PIPE if until_eof else subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    layout.pid_file.write_text(f"{keeper.pid}\n")
    deadline_s = time.monotonic() + UP_S
    while not layout.ready_file.exists():
        if keeper.poll() is not None or time.monotonic() > deadline_s:
            _end(keeper.pid)
            raise RuntimeError(f"OpenStack's services did not start:\n{log.read_text()}")
        time.sleep(0.2)
    return keeper


def free_ports(worker: str) -> int:
    """Return the first of a range of unused ports, one for each service; workers of pytest-xdist do not share any."""
    first_pool = 15000 + 1000 * (int(worker.removeprefix("gw")) % 10 if worker.startswith("gw") else 0)
    for first in range(first_pool, first_pool + 1000, 10):
        with contextlib.ExitStack() as sockets:
            try:
                for offset in API_PORTS.values():
                    probe = sockets.enter_context(socket.socket())
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", first + offset))
            except OSError:
                continue
            return first
    raise RuntimeError("no five ports in a row are free")


def stop(layout: Layout) -> None:
    """End the cloud if it runs, and remove its files."""
    if layout.pid_file.exists():
        pid = int(layout.pid_file.read_text())
        with contextlib.suppress(FileNotFoundError):
            if str(layout.directory) in Path(f"/proc/{pid}/cmdline").read_text():
                _end(pid)
    shutil.rmtree(layout.directory, ignore_errors=True)


@contextlib.contextmanager
def services(layout: Layout) -> Iterator[Layout]:
    """Run a cloud for the duration of the block, and never longer than this process."""
    keeper = start(layout, until_eof=True)
    try:
        yield layout
    finally:
        _end(keeper.pid)
        keeper.wait()
        shutil.rmtree(layout.directory, ignore_errors=True)


def _end(pid: int) -> None:
    """End the init process of the namespace; with it the kernel ends all others, and removes mounts and links."""
    first = _child(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    while first is not None and _is_alive(first):
        time.sleep(0.02)


def _child(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    except (OSError, IndexError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
