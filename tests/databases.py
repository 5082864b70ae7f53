"""A private PostgreSQL server: Debian's, in a temporary directory, reached by a socket in it."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import skip_or_fail

STARTS_S = 30
USER = "postgres"
"""The user that runs it if the tests run as root, which PostgreSQL refuses."""


def program(name: str) -> str:
    """Return a program of the newest installed PostgreSQL; Debian has them outside the PATH."""
    result = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    path = str(result[-1]) if result else shutil.which(name)
    return path or skip_or_fail(f"program {name} is not installed (package postgresql)")


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """Run a server; return the URL of its own empty database."""
    initdb, server = program("initdb"), program("postgres")
    user = USER if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="nodrop-pg-", dir="/tmp") as place:
        if user:
            account = pwd.getpwnam(user)
            os.chown(place, account.pw_uid, account.pw_gid)
        make = [initdb, "--pgdata", f"{place}/data", "--auth", "trust", "--username", USER, "--no-sync"]
        subprocess.run(make, user=user, extra_groups=[] if user else None, check=True, capture_output=True, cwd=place)
        settings = ("-c", "listen_addresses=", "-c", "fsync=off", "-c", f"unix_socket_directories={place}")
        with Path(place, "log").open("wb") as log:
            running = subprocess.Popen(
                [server, "-D", f"{place}/data", *settings],
                user=user,
                extra_groups=[] if user else None,
                stdout=log,
                stderr=log,
                cwd=place,
            )
        try:
            url = f"postgresql://{USER}@/postgres?host={place}"
            _wait(url, running, Path(place, "log"))
            yield url
        finally:
            running.send_signal(signal.SIGINT)  # also with clients connected
            running.wait(STARTS_S)


def _wait(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    deadline_s = time.monotonic() + STARTS_S
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            assert running.poll() is None and time.monotonic() < deadline_s, log.read_text()
            time.sleep(0.1)
        else:
            return
