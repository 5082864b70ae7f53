"""The parent process of a cloud: starts its services in the order of their dependencies, and keeps them running.

It is the init process of a PID namespace: when it ends, however it ends, the kernel ends all others with it.
"""

import concurrent.futures
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from tests.openstack.services import guests, register, settings
from tests.openstack.services.layout import COMPUTES, Layout

DATABASES = ("keystone", "placement", "glance", "nova", "nova_api", "nova_cell0", "neutron")
STARTS_S = 480
DRIVERS = Path(__file__).parent / "drivers"


class Failed(Exception):
    """A process failed; with the end of its log."""


class Keeper:
    """The processes of one cloud."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._started_s = time.monotonic()

    def start(self, name: str, *command: object, env: Mapping[str, str] | None = None, has_input: bool = False) -> None:
        """Start a long-running process, with a pipe to its standard input if required."""
        with (self.layout.logs / f"{name}.out").open("wb") as out:
            self.running[name] = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**self.layout.environment(), **(env or {})},
                cwd=self.layout.directory,
            )

    def run(self, name: str, *command: object, text: str | None = None) -> str:
        """Run a short process; return its output. Raises Failed."""
        done = subprocess.run(
            [str(part) for part in command],
            input=text,
            capture_output=True,
            text=True,
            env=self.layout.environment(),
            cwd=self.layout.directory,
            check=False,
        )
        with (self.layout.logs / f"{name}.out").open("a") as out:
            out.write(f"{done.stdout}{done.stderr}")
        if done.returncode:
            raise Failed(f"{name}: {' '.join(map(str, command))}\n{_end(done.stdout + done.stderr)}")
        return done.stdout

    def report(self, step: str) -> None:
        """Print a step with the time since the start."""
        print(f"{time.monotonic() - self._started_s:5.1f} s  {step}", flush=True)

    def wait_for(self, name: str, endpoint: object) -> None:
        """Wait until a service replies. Raises Failed."""
        deadline_s = time.monotonic() + STARTS_S
        while not _replies(endpoint):
            if self.running[name].poll() is not None or time.monotonic() > deadline_s:
                logs = [self.layout.logs / f"{name}.{kind}" for kind in ("log", "out")]
                ends = [_end(log.read_text(errors="replace")) for log in logs if log.exists()]
                raise Failed("\n".join([f"{name} does not reply at {endpoint}", *ends]))
            time.sleep(0.1)
        self.report(f"{name} is up")

    def up(self) -> None:
        """Start everything, and wait until every service replies. Raises Failed."""
        settings.write(self.layout)
        _announce_drivers(self.layout)
        with concurrent.futures.ThreadPoolExecutor(max_workers=8) as workers:
            infrastructure = workers.submit(guests.start_infrastructure, self) if self.layout.real else None
            self._database()
            self._prepare_nova()
            parts = [workers.submit(self._keystone), workers.submit(self._neutron, infrastructure)]
            parts.append(workers.submit(self._small))
            for part in parts:
                part.result()
            self._release("nova")
            register.wait_for_computes(self.layout)
        self.report("all services are up")
        self.layout.ready_file.write_text(f"{time.monotonic() - self._started_s:.1f}\n")

    def hold(self) -> None:
        """Wait until the caller closes its end of the pipe, or a process ends. Raises Failed."""
        while True:
            for name, process in self.running.items():
                if (code := process.poll()) is not None:
                    raise Failed(f"{name} ended with {code}: see {self.layout.logs}")
            time.sleep(0.5)

    def _database(self) -> None:
        directory, sock = self.layout.directory / "mysql", self.layout.database_socket
        scratch = self.layout.directory / "mysql-tmp"  # other PID namespaces use the same table names
        scratch.mkdir()
        own = ("--no-defaults", "--user=root", f"--datadir={directory}", f"--tmpdir={scratch}")
        self.run(
            "mariadb-install", "mariadb-install-db", *own, "--auth-root-authentication-method=normal", "--skip-test-db"
        )
        self.start(
            "mariadb",
            *("mariadbd", *own, f"--socket={sock}", f"--pid-file={self.layout.directory}/mysql.pid"),
            *("--skip-networking", "--skip-log-bin", "--performance-schema=off", "--max-connections=500"),
            *("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"),
            *("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--sync-frm=0"),
            *(
                "--innodb-flush-method=nosync",
                "--innodb-file-per-table=0",
            ),  # the database never outlives these processes
            *("--character-set-server=utf8mb3", "--collation-server=utf8mb3_general_ci"),
        )
        self.wait_for("mariadb", sock)
        text = "".join(f"CREATE DATABASE {name};" for name in DATABASES)
        self.run("mariadb-create", "mariadb", "--no-defaults", "-S", sock, "-uroot", text=text)

    def _prepare(self, name: str, configs: str, *calls: str, hosts: tuple[str, ...] = ()) -> None:
        """Start a service, which creates its schema and then waits for `_release`."""
        python, etc = self.layout.venv / "bin/python", self.layout.etc
        command = (python, Path(__file__).with_name("serve.py"), name, self.layout.port(name), etc, DRIVERS)
        self.start(name, *command, ",".join(hosts), has_input=True)
        files = [f"--config-file={etc}/{each}" for each in configs.split()]
        self._send(name, json.dumps([[*files, *call.split()] for call in calls]))

    def _release(self, name: str) -> None:
        """Let a service continue, as its dependencies are up; wait until it replies."""
        self._send(name, "go")
        self.wait_for(name, self.layout.url(name))

    def _send(self, name: str, line: str) -> None:
        pipe = self.running[name].stdin
        assert pipe
        pipe.write(f"{line}\n".encode())
        pipe.flush()

    def _keystone(self) -> None:
        url = self.layout.url("keystone")
        urls = " ".join(f"--bootstrap-{kind}-url {url}" for kind in ("admin", "internal", "public"))
        setup = "--keystone-user root --keystone-group root"
        self._prepare(
            *("keystone", "keystone.conf", "db_sync", f"fernet_setup {setup}", f"credential_setup {setup}"),
            f"bootstrap --bootstrap-password {settings.PASSWORD} {urls} --bootstrap-region-id {settings.REGION}",
        )
        self._release("keystone")
        register.register(self.layout)
        self.report("users and endpoints are registered")

    def _small(self) -> None:
        self._prepare("placement", "placement.conf", "db sync")
        self._prepare("glance", "glance-api.conf", "db_sync")
        self._release("placement")
        self._release("glance")

    def _prepare_nova(self) -> None:
        self._prepare(
            *("nova", "nova/nova.conf", "api_db sync"),
            f"cell_v2 map_cell0 --database_connection {self.layout.database('nova_cell0')}",
            *("db sync", "cell_v2 create_cell --name cell1"),
            hosts=COMPUTES[:1] if self.layout.real else COMPUTES,
        )

    def _neutron(self, infrastructure: "concurrent.futures.Future[None] | None") -> None:
        self._prepare("neutron", "neutron/neutron.conf neutron/ml2_conf.ini", "upgrade heads")
        if infrastructure:
            infrastructure.result()
        self._release("neutron")
        if self.layout.real:
            guests.start_neutron_agents(self)


def _announce_drivers(layout: Layout) -> None:
    """Register the driver as an installed package, as Neutron finds mechanism drivers by entry points."""
    package = layout.directory / "site" / "nodrop_services-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: nodrop-services\nVersion: 1\n")
    entry = "[neutron.ml2.mechanism_drivers]\nbinding = nodrop_binding:BindingDriver\n"
    (package / "entry_points.txt").write_text(entry)
    shutil.copy(DRIVERS / "binding.py", layout.directory / "site" / "nodrop_binding.py")


def _replies(endpoint: object) -> bool:
    """Return whether a URL replies with any status, or a socket or (host, port) accepts a connection."""
    if isinstance(endpoint, str):
        try:
            urllib.request.urlopen(endpoint, timeout=10)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True
    if isinstance(endpoint, tuple):
        family, address = socket.AF_INET, endpoint
    else:
        family, address = socket.AF_UNIX, str(endpoint)
    with socket.socket(family) as connection:
        return connection.connect_ex(address) == 0


def _end(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-25:])


def main(layout: Layout, until_eof: bool) -> int:
    """Reap children as the init process of the namespace; a child process does the work."""
    if child := os.fork():
        while True:
            pid, status = os.wait()
            if pid == child:
                return os.waitstatus_to_exitcode(status)
    keeper = Keeper(layout)
    if until_eof:
        import threading

        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    try:
        keeper.up()
        keeper.hold()
    except Failed as failure:
        print(f"failed: {failure}", flush=True)
        (layout.directory / "failed").write_text(str(failure))
    os._exit(1)
