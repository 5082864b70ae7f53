"""Request bodies for OpenStack's APIs. Pure.

Source: https://docs.openstack.org/api-ref/network/v2/, .../compute/, .../image/v2/
"""

import base64
import ipaddress
from typing import Any, NamedTuple

from nodrop.model.cloud import CloudFlavor, CloudImage, CloudNetwork, CloudPlan, CloudPort, CloudServer
from nodrop.stage.openstack import guest_config, ownership_tags
from nodrop.stage.openstack.rest import Json

Body = dict[str, Any]
ANY_ADDRESS = ("0.0.0.0/0", "::/0")


def build_image_body(planned: CloudImage, label: str, disk_format: str) -> Body:
    """Return the body for an image without data."""
    return {
        "name": planned.name,
        "disk_format": disk_format,
        "container_format": "bare",
        "visibility": "private",
        "tags": [ownership_tags.build_ownership_tag(label)],
        **planned.properties,
    }


def build_flavor_body(planned: CloudFlavor, label: str, project_id: str) -> Body:
    """Return the body for a flavor; extra specs need a second request."""
    size = {"vcpus": planned.vcpus, "ram": planned.ram_mib, "disk": planned.disk_gib}
    return {"name": planned.name, "description": ownership_tags.build_flavor_tag(label, project_id), **size}


def build_network_body(planned: CloudNetwork, label: str, *, is_admin: bool) -> Body:
    """Return the body for a network; only administrators choose its kind, unless the plan sets a number."""
    body: Body = {"name": planned.name, "description": ownership_tags.build_ownership_tag(label)}
    is_numbered = planned.segmentation_id is not None or planned.physical_network is not None
    if planned.kind != "any" and (is_admin or is_numbered):
        body["provider:network_type"] = planned.kind
    if planned.physical_network is not None:
        body["provider:physical_network"] = planned.physical_network
    if planned.segmentation_id is not None:
        body["provider:segmentation_id"] = planned.segmentation_id
    return body


def build_subnet_body(planned: CloudNetwork, label: str, network_id: str) -> Body:
    """Return the body for a subnet, without DHCP, whose messages would disturb the measurement."""
    return {
        "name": planned.subnet,
        "network_id": network_id,
        "description": ownership_tags.build_ownership_tag(label),
        "ip_version": ipaddress.ip_network(planned.cidr).version if planned.cidr else 4,
        "cidr": planned.cidr,
        "gateway_ip": planned.gateway,
        "enable_dhcp": False,
    }


def build_port_body(
    planned: CloudPort, label: str, network_id: str, address: Json | None, *, secure: bool = False
) -> Body:
    """Return the body for a port that passes all frames.

    Args:
        planned: the planned port.
        label: label of the run's resources.
        network_id: its network.
        address: subnet and address; None: Neutron chooses.
        secure: keep port security, but allow every address.
    """
    body: Body = {
        "name": planned.name,
        "network_id": network_id,
        "description": ownership_tags.build_ownership_tag(label),
    }
    if planned.vnic_type != "normal":
        body["binding:vnic_type"] = planned.vnic_type
    if address:
        body["fixed_ips"] = [address]
    if secure:
        pairs = [{"ip_address": prefix} for prefix in ANY_ADDRESS]
        return {**body, "security_groups": [], "allowed_address_pairs": pairs}
    return {**body, "port_security_enabled": False}


def build_fixed_address(server: CloudServer, planned: CloudPort, on: Json | None) -> Json | None:
    """Return subnet and address for a port of a routing VM, if the subnet contains its planned address."""
    side = server.ports.index(planned)
    if on is None or server.addresses is None or side >= len(server.addresses):
        return None
    address = ipaddress.ip_interface(server.addresses[side]).ip
    if address not in ipaddress.ip_network(on["cidr"]):
        return None
    return {"subnet_id": on["id"], "ip_address": str(address)}


class BootOptions(NamedTuple):
    """Values for starting a server that only the cloud knows."""

    image_id: str
    flavor_id: str
    port_ids: tuple[str, ...]
    user_data: str
    group_id: str | None = None
    host: str | None = None
    """`host` or `zone:host`; None: Nova chooses."""


def build_server_body(planned: CloudServer, plan: CloudPlan, options: BootOptions) -> Body:
    """Return the body for a loopback VM."""
    zone, _, host = (options.host or "").rpartition(":")
    zone = zone or plan.availability_zone or ""
    body: Body = {
        "name": planned.name,
        "imageRef": options.image_id,
        "flavorRef": options.flavor_id,
        "networks": [{"port": port_id} for port_id in options.port_ids],
        "config_drive": True,
        "user_data": base64.b64encode(options.user_data.encode()).decode(),
        "metadata": {
            ownership_tags.TAG: ownership_tags.build_ownership_tag(plan.label),
            ownership_tags.CHAIN: str(planned.chain),
            ownership_tags.USER_DATA: guest_config.compute_user_data_digest(options.user_data),
        },
    }
    if zone:
        body["availability_zone"] = zone
    if host:
        body["host"] = host
    hints = {"os:scheduler_hints": {"group": options.group_id}} if options.group_id else {}
    return {"server": body, **hints}
