"""Real OpenStack services on this machine: `python -m tests.openstack.services up --dir /tmp/os`, and `down`."""

import argparse
import sys
from pathlib import Path

from tests.openstack.services import environment, running
from tests.openstack.services.layout import STATE, Layout


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.openstack.services", description=__doc__)
    parser.add_argument("action", choices=("install", "up", "down", "keep"))
    parser.add_argument("--dir", type=Path, help="directory of its files (target/openstack/api, or .../real)")
    parser.add_argument("--venv", type=Path, default=STATE / "venv", help="virtual environment of the services")
    parser.add_argument("--port", type=int, default=15000, help="first port of the services")
    parser.add_argument("--real", action="store_true", help="with guests: Open vSwitch, libvirt, QEMU, RabbitMQ")
    parser.add_argument("--until-eof", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    directory = arguments.dir or STATE / ("real" if arguments.real else "api")
    layout = Layout(directory.resolve(), arguments.venv.resolve(), arguments.port, arguments.real)
    match arguments.action:
        case "install":
            environment.install(layout.venv)
        case "up":
            environment.install(layout.venv)
            running.start(layout)
            print(f"OS_CLIENT_CONFIG_FILE={layout.clouds}, clouds: admin, member")
        case "down":
            running.stop(layout)
        case _:
            from tests.openstack.services import keeper

            return keeper.main(layout, arguments.until_eof)
    return 0


if __name__ == "__main__":
    sys.exit(main())
