"""Directories and ports of a cloud."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
"""Directory of the repository."""
STATE = ROOT / "target" / "openstack"
PASSWORD = "secret"
REGION = "RegionOne"
API_PORTS = {"keystone": 0, "placement": 1, "glance": 2, "neutron": 3, "nova": 4}
"""The services, with offsets from the first port."""
TYPES = {
    "keystone": "identity",
    "placement": "placement",
    "glance": "image",
    "neutron": "network",
    "nova": "compute",
}
COMPUTES = ("compute1", "compute2")
"""Compute hosts of the cloud without guests."""


@dataclass(frozen=True)
class Layout:
    """A cloud: its directory, its virtual environment, its ports.

    Args:
        directory: all its files; a short path, as it contains sockets.
        first_port: the first port of the services, on 127.0.0.1 only.
        real: with guests: Open vSwitch, libvirt, QEMU, RabbitMQ; in a separate network namespace.
    """

    directory: Path
    venv: Path = STATE / "venv"
    first_port: int = 15000
    real: bool = False

    def port(self, service: str) -> int:
        """Return the port of a service."""
        return self.first_port + API_PORTS[service]

    def url(self, service: str) -> str:
        """Return the endpoint of a service."""
        path = {"keystone": "/v3", "nova": "/v2.1"}.get(service, "")
        return f"http://127.0.0.1:{self.port(service)}{path}"

    @property
    def etc(self) -> Path:
        """Directory of configuration files."""
        return self.directory / "etc"

    @property
    def logs(self) -> Path:
        """Directory of logs: NAME.log by the service, NAME.out with its output."""
        return self.directory / "log"

    @property
    def clouds(self) -> Path:
        """The clouds.yaml: `admin`, and `member` without that role."""
        return self.directory / "clouds.yaml"

    @property
    def database_socket(self) -> Path:
        """Socket of MariaDB, its only listener."""
        return self.directory / "mysql.sock"

    @property
    def pid_file(self) -> Path:
        """File with the process id of the keeper; all other processes end with it."""
        return self.directory / "keeper.pid"

    @property
    def ready_file(self) -> Path:
        """Created once every service replies; contains the duration of the start."""
        return self.directory / "ready"

    def database(self, name: str) -> str:
        """Return the URL of a database."""
        return f"mysql+pymysql://root@localhost/{name}?unix_socket={self.database_socket}&charset=utf8"

    def environment(self) -> dict[str, str]:
        """Return the environment of every process of the cloud."""
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
