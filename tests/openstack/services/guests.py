"""Services for guests: RabbitMQ between Neutron and its agent, Open vSwitch in user space, libvirt.

They run in separate network and mount namespaces: bridges, taps and libvirt's directories vanish with these.
"""

import shutil
import subprocess
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.openstack.services.keeper import Keeper

TESTER_PORTS = (("nd-left", "br-phy1"), ("nd-right", "br-phy2"))
"""The tester's interfaces, each with the bridge of its other end."""
OWN_DIRECTORIES = ("/etc/libvirt", "/run/libvirt", "/var/lib/libvirt", "/var/log/libvirt", "/var/cache/libvirt")
RABBIT_PORT = 5672
OVSDB_PORT = 6640
"""The port at which os-vif expects the switch."""
QEMU = {
    "user": '"root"',
    "group": '"root"',
    "dynamic_ownership": 0,
    "remember_owner": 0,
    "security_driver": '"none"',
    "cgroup_controllers": "[ ]",
    "namespaces": "[ ]",
    "stdio_handler": '"file"',
}
LIBVIRTD = {"auth_unix_ro": '"none"', "auth_unix_rw": '"none"'}


def start_infrastructure(keeper: "Keeper") -> None:
    """Start broker, switch and hypervisor, before the services that use them."""
    _mount_directories(keeper)
    _install_fake_sudo(keeper)
    keeper.run("links", "ip", "link", "set", "lo", "up")
    _rabbit(keeper)
    _libvirt(keeper)
    _switch(keeper)
    keeper.wait_for("rabbitmq", ("127.0.0.1", RABBIT_PORT))
    keeper.wait_for("libvirtd", Path("/run/libvirt/libvirt-sock"))


def start_neutron_agents(keeper: "Keeper") -> None:
    """Start Neutron's RPC server, and its agent for the switch."""
    layout = keeper.layout
    files = [f"--config-file={layout.etc}/neutron/{name}" for name in ("neutron.conf", "ml2_conf.ini")]
    for name in ("neutron-rpc-server", "neutron-openvswitch-agent"):
        keeper.start(name, layout.venv / "bin" / name, *files, f"--log-file={layout.logs}/{name}.log")


def _mount_directories(keeper: "Keeper") -> None:
    """Mount private directories over libvirt's fixed ones, in this mount namespace only."""
    for place in OWN_DIRECTORIES:
        own = keeper.layout.directory / "root" / place.removeprefix("/")
        own.mkdir(parents=True)
        Path(place).mkdir(parents=True, exist_ok=True)
        keeper.run("mounts", "mount", "--bind", own, place)


def _install_fake_sudo(keeper: "Keeper") -> None:
    """Install a fake sudo for Nova's and Neutron's helpers: all processes are root already."""
    sudo = keeper.layout.directory / "bin" / "sudo"
    sudo.parent.mkdir()
    sudo.write_text('#!/bin/sh\nexec "$@"\n')
    sudo.chmod(0o755)


def _rabbit(keeper: "Keeper") -> None:
    home = keeper.layout.directory / "rabbit"
    home.mkdir()
    (home / "plugins").write_text("[].\n")
    (home / "rabbitmq.conf").write_text("loopback_users.guest = true\n")
    (home / ".erlang.cookie").write_text(uuid.uuid4().hex)
    (home / ".erlang.cookie").chmod(0o400)
    env = {
        "HOME": home,
        "RABBITMQ_NODENAME": "rabbit@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_MNESIA_BASE": home / "mnesia",
        "RABBITMQ_LOG_BASE": home / "log",
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_CONFIG_FILE": home / "rabbitmq",
        "RABBITMQ_ENABLED_PLUGINS_FILE": home / "plugins",
        "RABBITMQ_PID_FILE": home / "pid",
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none",
    }
    keeper.start(
        "rabbitmq", "/usr/lib/rabbitmq/bin/rabbitmq-server", env={key: str(value) for key, value in env.items()}
    )


def _libvirt(keeper: "Keeper") -> None:
    for name, values in (("qemu.conf", QEMU), ("libvirtd.conf", LIBVIRTD)):
        Path("/etc/libvirt", name).write_text("".join(f"{key} = {value}\n" for key, value in values.items()))
    keeper.start("libvirtd", "libvirtd")


def _switch(keeper: "Keeper") -> None:
    place = keeper.layout.directory / "ovs"
    place.mkdir()
    sock = place / "db.sock"
    keeper.run("ovs", "ovsdb-tool", "create", place / "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
    remotes = (f"--remote=punix:{sock}", f"--remote=ptcp:{OVSDB_PORT}:127.0.0.1")
    keeper.start("ovsdb-server", "ovsdb-server", place / "conf.db", *remotes, "--no-chdir")
    keeper.wait_for("ovsdb-server", sock)

    def vsctl(*words: object) -> None:
        keeper.run("ovs", "ovs-vsctl", f"--db=unix:{sock}", *words)

    vsctl("--no-wait", "init")
    vsctl("--no-wait", "set", "Open_vSwitch", ".", f"external-ids:system-id={uuid.uuid4()}")
    program = shutil.which("ovs-vswitchd", path="/usr/lib/openvswitch-switch:/usr/sbin:/usr/bin")
    keeper.start("ovs-vswitchd", program, f"unix:{sock}", "--no-chdir")
    for bridge in ("br-int", "br-phy1", "br-phy2"):
        vsctl("--may-exist", "add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev")
    for interface, bridge in TESTER_PORTS:
        inside = f"{interface}-sw"
        keeper.run("links", "ip", "link", "add", interface, "type", "veth", "peer", "name", inside)
        for name in (interface, inside):
            keeper.run("links", "ip", "link", "set", name, "up")
        subprocess.run(["ethtool", "-K", interface, "tx", "off"], capture_output=True, check=False)
        vsctl("add-port", bridge, inside)
    keeper.report("Open vSwitch has its bridges")
