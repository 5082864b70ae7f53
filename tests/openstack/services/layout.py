"""Where a set-up keeps its things, and at which ports its services answer."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
"""Of the repository."""
STATE = ROOT / "target" / "openstack"
PASSWORD = "secret"
REGION = "RegionOne"
API_PORTS = {"keystone": 0, "placement": 1, "glance": 2, "neutron": 3, "nova": 4}
"""The services, each with its distance from the first port."""
TYPES = {
    "keystone": "identity",
    "placement": "placement",
    "glance": "image",
    "neutron": "network",
    "nova": "compute",
}
COMPUTES = ("compute1", "compute2")
"""Compute hosts of the set-up without guests."""


@dataclass(frozen=True)
class Layout:
    """A set-up: its directory, its environment, its ports.

    Args:
        directory: of everything it writes; short, as sockets are in it.
        first_port: of those it listens at, 127.0.0.1 only.
        real: whether guests run: Open vSwitch, libvirt, QEMU, RabbitMQ; all in a network namespace of its own.
    """

    directory: Path
    venv: Path = STATE / "venv"
    first_port: int = 15000
    real: bool = False

    def port(self, service: str) -> int:
        """Where a service answers."""
        return self.first_port + API_PORTS[service]

    def url(self, service: str) -> str:
        """Its endpoint."""
        path = {"keystone": "/v3", "nova": "/v2.1"}.get(service, "")
        return f"http://127.0.0.1:{self.port(service)}{path}"

    @property
    def etc(self) -> Path:
        """Of configuration files."""
        return self.directory / "etc"

    @property
    def logs(self) -> Path:
        """Of logs: NAME.log by the service, NAME.out what it printed."""
        return self.directory / "log"

    @property
    def clouds(self) -> Path:
        """The clouds.yaml: `admin`, and `member` who is none."""
        return self.directory / "clouds.yaml"

    @property
    def database_socket(self) -> Path:
        """Of MariaDB, which listens nowhere else."""
        return self.directory / "mysql.sock"

    @property
    def pid_file(self) -> Path:
        """Of the keeper, with which all else ends."""
        return self.directory / "keeper.pid"

    @property
    def ready_file(self) -> Path:
        """There once every service answers; holds how long that took."""
        return self.directory / "ready"

    def database(self, name: str) -> str:
        """URL of a database."""
        return f"mysql+pymysql://root@localhost/{name}?unix_socket={self.database_socket}&charset=utf8"

    def environment(self) -> dict[str, str]:
        """What every process of the set-up has in its environment."""
        return {
            **os.environ,
            "PATH": f"{self.directory}/bin:{self.venv}/bin:{os.environ['PATH']}:/usr/sbin:/sbin",
            "PYTHONPATH": f"{self.directory}/site",
            "PYTHONWARNINGS": "ignore",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MALLOC_ARENA_MAX": "2",
            "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1",
            "OVS_RUNDIR": f"{self.directory}/ovs",
            "OVS_LOGDIR": f"{self.directory}/ovs",
            "OVS_DBDIR": f"{self.directory}/ovs",
            "OVS_SYSCONFDIR": f"{self.directory}/ovs",
        }
