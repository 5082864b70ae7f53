"""The configuration files of all services."""

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

import yaml
from tests.openstack.services.layout import COMPUTES, PASSWORD, REGION, Layout

Sections = Mapping[str, Mapping[str, object]]

VLANS = {"physnet1": (100, 199), "physnet2": (200, 299)}
"""Physical networks, with the VLANs that Neutron may choose on each."""
VNIS = (10000, 10999)
VF_PRODUCT = {"physnet1": "1515", "physnet2": "1516"}
"""Product ids of compute1's virtual functions, by physical network."""


def write(layout: Layout) -> None:
    """Write all configuration files, and create the directories that they name."""
    for name in ("etc/nova", "etc/neutron", "log", "images", "instances", "state/staging", "state/tasks", "lock"):
        (layout.directory / name).mkdir(parents=True, exist_ok=True)
    compute_id = layout.directory / "state" / "compute_id"
    if not compute_id.exists():
        compute_id.write_text(f"{uuid.uuid4()}\n")
    shutil.copy(layout.venv / "etc/nova/api-paste.ini", layout.etc / "nova")
    _ini(layout.etc / "keystone.conf", _keystone(layout))
    _ini(layout.etc / "placement.conf", _placement(layout))
    _ini(layout.etc / "glance-api.conf", _glance(layout))
    _ini(layout.etc / "nova/nova.conf", _nova(layout))
    _ini(layout.etc / "neutron/neutron.conf", _neutron(layout))
    _ini(layout.etc / "neutron/ml2_conf.ini", _ml2(layout))
    clouds = {"admin": _cloud(layout, "admin", "admin"), "member": _cloud(layout, "member", "member")}
    layout.clouds.write_text(yaml.safe_dump({"clouds": clouds}))


def _ini(path: Path, sections: Sections) -> None:
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        for key, value in values.items():
            lines += [f"{key} = {each}" for each in (value if isinstance(value, list) else [value])]
    path.write_text("\n".join(lines) + "\n")


def _cloud(layout: Layout, user: str, project: str) -> dict[str, object]:
    return {
        "auth": {
            "auth_url": layout.url("keystone"),
            "username": user,
            "password": PASSWORD,
            "project_name": project,
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        },
        "region_name": REGION,
        "identity_api_version": "3",
    }


def _auth(layout: Layout, user: str) -> dict[str, object]:
    return {
        "www_authenticate_uri": layout.url("keystone"),
        "auth_url": layout.url("keystone"),
        "auth_type": "password",
        "project_domain_name": "Default",
        "user_domain_name": "Default",
        "project_name": "service",
        "username": user,
        "password": PASSWORD,
        "region_name": REGION,
    }


def _common(layout: Layout) -> dict[str, Mapping[str, object]]:
    return {
        "oslo_concurrency": {"lock_path": layout.directory / "lock"},
        "oslo_messaging_notifications": {"driver": "noop"},
    }


def _keystone(layout: Layout) -> Sections:
    return {
        "DEFAULT": {"log_file": layout.logs / "keystone.log"},
        "database": {"connection": layout.database("keystone")},
        "token": {"provider": "fernet", "expiration": 86400},
        "fernet_tokens": {"key_repository": layout.directory / "fernet"},
        "credential": {"key_repository": layout.directory / "credentials"},
        "identity": {"password_hash_rounds": 4},
        **_common(layout),
    }


def _placement(layout: Layout) -> Sections:
    return {
        "DEFAULT": {"log_file": layout.logs / "placement.log", "state_path": layout.directory / "state"},
        "api": {"auth_strategy": "keystone"},
        "placement_database": {"connection": layout.database("placement")},
        "keystone_authtoken": _auth(layout, "placement"),
    }


def _glance(layout: Layout) -> Sections:
    return {
        "DEFAULT": {
            "log_file": layout.logs / "glance.log",
            "enabled_backends": "fs:file",
            "enabled_import_methods": "[]",
        },
        "database": {"connection": layout.database("glance")},
        "glance_store": {"default_backend": "fs"},
        "fs": {"filesystem_store_datadir": layout.directory / "images"},
        "os_glance_staging_store": {"filesystem_store_datadir": layout.directory / "state/staging"},
        "os_glance_tasks_store": {"filesystem_store_datadir": layout.directory / "state/tasks"},
        "paste_deploy": {"flavor": "keystone", "config_file": layout.venv / "etc/glance/glance-api-paste.ini"},
        "keystone_authtoken": _auth(layout, "glance"),
        **_common(layout),
    }


def _nova(layout: Layout) -> Sections:
    devices = [
        f'{{"vendor_id": "8086", "product_id": "{product}", "physical_network": "{name}"}}'
        for name, product in VF_PRODUCT.items()
    ]
    return {
        "DEFAULT": {
            "log_file": layout.logs / "nova.log",
            "state_path": layout.directory / "state",
            "instances_path": layout.directory / "instances",
            "my_ip": "127.0.0.1",
            "host": COMPUTES[0],
            "transport_url": "fake:///",
            "compute_driver": "libvirt.LibvirtDriver" if layout.real else "idle.IdleDriver",
            "enabled_apis": "osapi_compute",
            "use_cow_images": "true",
            "vif_plugging_timeout": 30,
            "vif_plugging_is_fatal": "true",
            "reserved_host_memory_mb": 0,
            "reserved_host_disk_mb": 0,
            "update_resources_interval": 20,
            "periodic_fuzzy_delay": 0,
            "rootwrap_config": layout.venv / "etc/nova/rootwrap.conf",
        },
        "api": {"auth_strategy": "keystone"},
        "database": {"connection": layout.database("nova")},
        "api_database": {"connection": layout.database("nova_api")},
        "keystone_authtoken": _auth(layout, "nova"),
        "service_user": {"send_service_user_token": "true", **_auth(layout, "nova")},
        "placement": _auth(layout, "placement"),
        "glance": {"api_servers": layout.url("glance")},
        "neutron": _auth(layout, "neutron"),
        "cinder": {"catalog_info": "volumev3::publicURL"},
        "scheduler": {"workers": 1, "discover_hosts_in_cells_interval": 5},
        "conductor": {"workers": 1},
        "filter_scheduler": {
            "enabled_filters": "ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,"
            "ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,NUMATopologyFilter,"
            "AggregateInstanceExtraSpecsFilter,PciPassthroughFilter"
        },
        "pci": {} if layout.real else {"device_spec": devices},
        "libvirt": {"virt_type": "qemu", "cpu_mode": "none", "inject_partition": -2},
        "vnc": {"enabled": "false"},
        "spice": {"enabled": "false"},
        **_common(layout),
    }


def _neutron(layout: Layout) -> Sections:
    return {
        "DEFAULT": {
            "log_file": layout.logs / "neutron.log",
            "state_path": layout.directory / "state",
            "core_plugin": "ml2",
            "service_plugins": "router,port_forwarding,qos",
            "auth_strategy": "keystone",
            "transport_url": "rabbit://guest:guest@127.0.0.1:5672/" if layout.real else "fake:///",
            "api_paste_config": layout.venv / "etc/neutron/api-paste.ini",
            "api_workers": 1,
            "rpc_workers": 1,
            "rpc_state_report_workers": 0,
            "host": COMPUTES[0],
            "global_physnet_mtu": 9000,
            "notify_nova_on_port_status_changes": "true",
            "notify_nova_on_port_data_changes": "true",
            "dhcp_agent_notification": "false",
        },
        "database": {"connection": layout.database("neutron")},
        "keystone_authtoken": _auth(layout, "neutron"),
        "nova": _auth(layout, "nova"),
        "placement": _auth(layout, "placement"),
        "agent": {"root_helper": "env", "report_interval": 10},
        "privsep": {"helper_command": "env privsep-helper"},
        **_common(layout),
    }


def _ml2(layout: Layout) -> Sections:
    return {
        "ml2": {
            "type_drivers": "flat,vlan,vxlan",
            "tenant_network_types": "vlan,vxlan",
            "mechanism_drivers": "openvswitch" if layout.real else "binding",
            "extension_drivers": "port_security,qos",
        },
        "ml2_type_flat": {"flat_networks": "*"},
        "ml2_type_vlan": {"network_vlan_ranges": ",".join(f"{name}:{lo}:{hi}" for name, (lo, hi) in VLANS.items())},
        "ml2_type_vxlan": {"vni_ranges": f"{VNIS[0]}:{VNIS[1]}"},
        "securitygroup": {"enable_security_group": "true", "firewall_driver": "noop", "enable_ipset": "false"},
        "ovs": {
            "integration_bridge": "br-int",
            "bridge_mappings": "physnet1:br-phy1,physnet2:br-phy2",
            "datapath_type": "netdev",
            "ovsdb_connection": f"unix:{layout.directory}/ovs/db.sock",
            "local_ip": "127.0.0.1",
        },
        "agent": {"extensions": "", "tunnel_types": ""},
    }
