"""One service in one process: it creates the schema, then serves the WSGI application; for Nova, all its services.

usage: serve.py NAME PORT ETC DRIVERS HOSTS, and on standard input a line of JSON with the arguments of each call that
creates the schema; it serves after a second line, sent when its dependencies are up.

Modules are loaded once: each call for the schema is a fork of this process, as it expects a process of its own. With
all of Nova in one process no broker is required. HOSTS: its compute hosts, separated by commas.
"""

import importlib
import json
import os
import sys
import time
from typing import Any

THREADS = 12
MODULES = {
    "keystone": ("keystone.cmd.manage", "keystone.wsgi.api"),
    "placement": ("placement.cmd.manage", "placement.wsgi.api"),
    "glance": ("glance.cmd.manage", "glance.wsgi.api"),
    "neutron": ("neutron.db.migration.cli", "neutron.wsgi.api"),
    "nova": ("nova.cmd.manage", "nova.wsgi.osapi_compute"),
}
"""The module that creates the schema, and the module of the application."""
LOADED_BEFORE = {
    "keystone": ("keystone.server", "keystone.cmd.cli"),
    "nova": ("nova.db.main.api", "nova.objects"),
}


def main(name: str, port: str, etc: str, drivers: str, hosts: str) -> None:
    started_s = time.monotonic()
    os.environ.update(
        OS_KEYSTONE_CONFIG_FILES=f"{etc}/keystone.conf",
        OS_PLACEMENT_CONFIG_DIR=etc,
        OS_GLANCE_CONFIG_DIR=etc,
        OS_NEUTRON_CONFIG_DIR=f"{etc}/neutron",
        OS_NEUTRON_CONFIG_FILES="neutron.conf;ml2_conf.ini",
        OS_NOVA_CONFIG_DIR=f"{etc}/nova",
    )
    manage, application = MODULES[name]
    _make_schema(manage, LOADED_BEFORE.get(name, ()), json.loads(sys.stdin.readline()))
    print(f"schema after {time.monotonic() - started_s:.1f} s", flush=True)
    sys.stdin.readline()
    sys.argv = [name]
    wsgi_application = importlib.import_module(application).application
    if name == "nova":
        _start_nova(drivers, hosts.split(","))
    print(f"ready after {time.monotonic() - started_s:.1f} s", flush=True)

    import waitress

    waitress.serve(wsgi_application, host="127.0.0.1", port=int(port), threads=THREADS, ident=name, channel_timeout=300)


def _make_schema(manage: str, loaded: tuple[str, ...], calls: list[list[str]]) -> None:
    """Run the calls in order; exit if one fails."""
    for module in (manage, *loaded):
        importlib.import_module(module)
    for arguments in calls:
        if (child := os.fork()) == 0:
            sys.argv = [manage, *arguments]
            sys.exit(sys.modules[manage].main() or 0)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit(f"{manage} {arguments} exited with {code}")


def _start_nova(drivers: str, hosts: list[str]) -> None:
    import nova.virt
    import os_vif
    from nova import context, objects, service
    from nova.compute import rpcapi as compute
    from nova.conductor import rpcapi as conductor
    from nova.objects import host_mapping
    from nova.scheduler import rpcapi as scheduler

    nova.virt.__path__.append(drivers)  # the only package in which Nova finds drivers
    objects.register_all()
    os_vif.initialize()
    parts: list[dict[str, Any]] = [
        {"binary": "nova-conductor", "topic": conductor.RPC_TOPIC},
        {"binary": "nova-scheduler", "topic": scheduler.RPC_TOPIC},
        *(
            {"binary": "nova-compute", "topic": compute.RPC_TOPIC, "topic_alt": compute.RPC_TOPIC_ALT, "host": host}
            for host in hosts
        ),
    ]
    for part in parts:
        service.Service.create(**part).start()
    host_mapping.discover_hosts(context.get_admin_context())


if __name__ == "__main__":
    main(*sys.argv[1:])
