"""Starts every process of a set-up, in order of what they need of each other, and holds them.

It is the first process of a namespace of processes: when it ends, however it ends, the kernel ends all others with it.
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
    """A process that could not do its work, with the end of its log."""


class Keeper:
    """The processes of one set-up."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._begun_s = time.monotonic()

    def start(self, name: str, *command: object, env: Mapping[str, str] | None = None, talks: bool = False) -> None:
        """A process that stays, with a pipe to it where it is talked to."""
        with (self.layout.logs / f"{name}.out").open("wb") as out:
            self.running[name] = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**self.layout.environment(), **(env or {})},
                cwd=self.layout.directory,
            )

    def run(self, name: str, *command: object, text: str | None = None) -> str:
        """What a process printed that is soon done. Raises Failed."""
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

    def tell(self, what: str) -> None:
        """How far it is."""
        print(f"{time.monotonic() - self._begun_s:5.1f} s  {what}", flush=True)

    def wait_for(self, name: str, reached: object) -> None:
        """Until a service answers. Raises Failed."""
        deadline_s = time.monotonic() + STARTS_S
        while not _answers(reached):
            if self.running[name].poll() is not None or time.monotonic() > deadline_s:
                logs = [self.layout.logs / f"{name}.{kind}" for kind in ("log", "out")]
                ends = [_end(log.read_text(errors="replace")) for log in logs if log.exists()]
                raise Failed("\n".join([f"{name} does not answer at {reached}", *ends]))
            time.sleep(0.1)
        self.tell(f"{name} answers")

    def up(self) -> None:
        """Everything, until every service answers. Raises Failed."""
        settings.write(self.layout)
        _announce_drivers(self.layout)
        with concurrent.futures.ThreadPoolExecutor(max_workers=8) as workers:
            beneath = workers.submit(guests.beneath, self) if self.layout.real else None
            self._database()
            self._prepare_nova()
            parts = [workers.submit(self._keystone), workers.submit(self._neutron, beneath)]
            parts.append(workers.submit(self._small))
            for part in parts:
                part.result()
            self._go("nova")
            register.wait_for_computes(self.layout)
        self.tell("all services answer")
        self.layout.ready_file.write_text(f"{time.monotonic() - self._begun_s:.1f}\n")

    def hold(self) -> None:
        """Until what started this closes its end of the pipe, or a process ends. Raises Failed."""
        while True:
            for name, process in self.running.items():
                if (code := process.poll()) is not None:
                    raise Failed(f"{name} ended with {code}: see {self.layout.logs}")
            time.sleep(0.5)

    def _database(self) -> None:
        directory, sock = self.layout.directory / "mysql", self.layout.database_socket
        own = ("--no-defaults", "--user=root", f"--datadir={directory}")
        self.run(
            "mariadb-install", "mariadb-install-db", *own, "--auth-root-authentication-method=normal", "--skip-test-db"
        )
        self.start(
            "mariadb",
            *("mariadbd", *own, f"--socket={sock}", f"--pid-file={self.layout.directory}/mysql.pid"),
            *("--skip-networking", "--skip-log-bin", "--performance-schema=off", "--max-connections=500"),
            *("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"),
            *("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--sync-frm=0"),
            *("--innodb-flush-method=nosync", "--innodb-file-per-table=0"),  # it never outlives these processes
            *("--character-set-server=utf8mb3", "--collation-server=utf8mb3_general_ci"),
        )
        self.wait_for("mariadb", sock)
        text = "".join(f"CREATE DATABASE {name};" for name in DATABASES)
        self.run("mariadb-create", "mariadb", "--no-defaults", "-S", sock, "-uroot", text=text)

    def _prepare(self, name: str, configs: str, *calls: str, hosts: tuple[str, ...] = ()) -> None:
        """Start a service, which makes its schema and then waits to be let go."""
        python, etc = self.layout.venv / "bin/python", self.layout.etc
        command = (python, Path(__file__).with_name("serve.py"), name, self.layout.port(name), etc, DRIVERS)
        self.start(name, *command, ",".join(hosts), talks=True)
        files = [f"--config-file={etc}/{each}" for each in configs.split()]
        self._say(name, json.dumps([[*files, *call.split()] for call in calls]))

    def _go(self, name: str) -> None:
        """What it needs is there; wait until it answers."""
        self._say(name, "go")
        self.wait_for(name, self.layout.url(name))

    def _say(self, name: str, line: str) -> None:
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
        self._go("keystone")
        register.register(self.layout)
        self.tell("users and endpoints are known")

    def _small(self) -> None:
        self._prepare("placement", "placement.conf", "db sync")
        self._prepare("glance", "glance-api.conf", "db_sync")
        self._go("placement")
        self._go("glance")

    def _prepare_nova(self) -> None:
        self._prepare(
            *("nova", "nova/nova.conf", "api_db sync"),
            f"cell_v2 map_cell0 --database_connection {self.layout.database('nova_cell0')}",
            *("db sync", "cell_v2 create_cell --name cell1"),
            hosts=COMPUTES[:1] if self.layout.real else COMPUTES,
        )

    def _neutron(self, beneath: "concurrent.futures.Future[None] | None") -> None:
        self._prepare("neutron", "neutron/neutron.conf neutron/ml2_conf.ini", "upgrade heads")
        if beneath:
            beneath.result()
        self._go("neutron")
        if self.layout.real:
            guests.above(self)


def _announce_drivers(layout: Layout) -> None:
    """Neutron finds mechanism drivers by entry points of installed packages, so ours looks like one."""
    package = layout.directory / "site" / "nodrop_services-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: nodrop-services\nVersion: 1\n")
    entry = "[neutron.ml2.mechanism_drivers]\nbinding = nodrop_binding:BindingDriver\n"
    (package / "entry_points.txt").write_text(entry)
    shutil.copy(DRIVERS / "binding.py", layout.directory / "site" / "nodrop_binding.py")


def _answers(reached: object) -> bool:
    """A URL with any status, a socket that is connected to, or a (host, port)."""
    if isinstance(reached, str):
        try:
            urllib.request.urlopen(reached, timeout=10)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True
    if isinstance(reached, tuple):
        family, address = socket.AF_INET, reached
    else:
        family, address = socket.AF_UNIX, str(reached)
    with socket.socket(family) as attempt:
        return attempt.connect_ex(address) == 0


def _end(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-25:])


def main(layout: Layout, until_eof: bool) -> int:
    """As the first process of its namespace it only reaps; a child of it does the work."""
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
