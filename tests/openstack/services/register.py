"""Entries in Keystone: services, their users and endpoints, and a project with a member without the admin role."""

import time
from typing import Any

from tests.openstack.services.layout import COMPUTES, PASSWORD, REGION, TYPES, Layout

ALIVE_S = 180


def connection(layout: Layout, who: str = "admin") -> Any:
    """Return a connection as administrator or as member."""
    import openstack

    config = openstack.config.OpenStackConfig(config_files=[str(layout.clouds)], load_envvars=False)
    return openstack.connection.Connection(config=config.get_one(cloud=who))


def register(layout: Layout) -> None:
    """Register all services except Keystone, which its bootstrap registered."""
    identity = connection(layout).identity
    roles = {role.name: role for role in identity.roles()}
    for name in ("service", "admin", "member", "reader"):
        roles[name] = roles.get(name) or identity.create_role(name=name)
    service = identity.create_project(name="service", domain_id="default")
    project = identity.create_project(name="member", domain_id="default")
    member = identity.create_user(name="member", password=PASSWORD, domain_id="default")
    identity.assign_project_role_to_user(project, member, roles["member"])
    for name, kind in TYPES.items():
        if name == "keystone":
            continue
        user = identity.create_user(name=name, password=PASSWORD, domain_id="default")
        for role in ("admin", "service"):
            identity.assign_project_role_to_user(service, user, roles[role])
        entry = identity.create_service(name=name, type=kind)
        for interface in ("public", "internal", "admin"):
            identity.create_endpoint(service_id=entry.id, interface=interface, url=layout.url(name), region_id=REGION)


def wait_for_computes(layout: Layout) -> None:
    """Wait until Nova lists its compute hosts, and Neutron its agents if any."""
    cloud = connection(layout)
    expected = set(COMPUTES[:1] if layout.real else COMPUTES)
    deadline_s = time.monotonic() + ALIVE_S
    while time.monotonic() < deadline_s:
        services = [each for each in cloud.compute.services() if each.binary == "nova-compute" and each.state == "up"]
        agents = not layout.real or any(agent.is_alive for agent in cloud.network.agents())
        if (
            agents
            and {each.host for each in services} >= expected
            and len(list(cloud.compute.hypervisors())) >= len(expected)
        ):
            return
        time.sleep(0.3)
    raise TimeoutError(f"{expected} not up after {ALIVE_S} s")
