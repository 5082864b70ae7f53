"""One service: its WSGI application under waitress; for Nova also conductor, scheduler and computes.

usage: serve.py NAME PORT ETC DRIVERS HOSTS

All of Nova in one process needs no broker. HOSTS: its compute hosts, with commas between.
"""

import importlib
import os
import sys
import time
from typing import Any

THREADS = 12
APPLICATIONS = {
    "keystone": "keystone.wsgi.api",
    "placement": "placement.wsgi.api",
    "glance": "glance.wsgi.api",
    "neutron": "neutron.wsgi.api",
    "nova": "nova.wsgi.osapi_compute",
}


def main(name: str, port: str, etc: str, drivers: str, hosts: str) -> None:
    begun = time.monotonic()
    os.environ.update(
        OS_KEYSTONE_CONFIG_FILES=f"{etc}/keystone.conf",
        OS_PLACEMENT_CONFIG_DIR=etc,
        OS_GLANCE_CONFIG_DIR=etc,
        OS_NEUTRON_CONFIG_DIR=f"{etc}/neutron",
        OS_NEUTRON_CONFIG_FILES="neutron.conf;ml2_conf.ini",
        OS_NOVA_CONFIG_DIR=f"{etc}/nova",
    )
    sys.argv = [name]
    application = importlib.import_module(APPLICATIONS[name]).application
    if name == "nova":
        _start_nova(drivers, hosts.split(","))
    print(f"{name} ready in {time.monotonic() - begun:.1f} s", flush=True)

    import waitress

    waitress.serve(application, host="127.0.0.1", port=int(port), threads=THREADS, ident=name, channel_timeout=300)


def _start_nova(drivers: str, hosts: list[str]) -> None:
    import nova.virt
    import os_vif
    from nova import context, objects, service
    from nova.compute import rpcapi as compute
    from nova.conductor import rpcapi as conductor
    from nova.objects import host_mapping
    from nova.scheduler import rpcapi as scheduler

    nova.virt.__path__.append(drivers)  # the only place Nova takes a driver from
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
