"""Devices, switches and VMs of this machine, compared with the output of other tools.

Daemons run in separate namespaces, with empty directories mounted over the machine's: their state vanishes with the
last process.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodrop.host import describe, libvirt, nics, vswitches
from nodrop.host.pci import ADDRESS
from nodrop.model.chd import Nic

pytestmark = [pytest.mark.lab, pytest.mark.host]

TOOL_S = 60
ISOLATED = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
BEGIN = """set -e
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
ip link set lo up
"""
RUN_QUERY = """
"$PYTHON" -c "$QUERY"
true  # keeps the shell alive: as init of the PID namespace it reaps orphans, and libvirt waits for that
"""
QUERY_SWITCHES = """
import json
from nodrop.host import describe, vswitches
switches = vswitches.describe_vswitches(describe.open_local_source())
print("RESULT", json.dumps([each.model_dump(mode="json") for each in switches]))
"""
QUERY_SWITCHES_PATIENTLY = f"""
from nodrop.host import inputs, network
network.ANSWER_TIMEOUT_S = inputs.PROGRAM_TIMEOUT_S = 10  # this test compares answers, not times
{QUERY_SWITCHES}"""
QUERY_LIBVIRT = """
import json
from nodrop.host import describe, hypervisor, inputs, libvirt
libvirt.PROGRAM_TIMEOUT_S = inputs.PROGRAM_TIMEOUT_S = 10  # this test compares answers, not times
by_library, by_virsh = libvirt.query_libvirt(), libvirt._query_virsh(libvirt.SYSTEM)
def summarize(answer):
    cpus = libvirt.parse_xml(answer.capabilities).findall("host/topology/cells/cell/cpus/cpu")
    offered = libvirt.parse_xml(answer.domain_capabilities).findtext("domain")
    domains = [libvirt.parse_domain(each)._asdict() for each in answer.domains]
    return answer.version, len(cpus), offered, domains, answer.why
source = describe.open_local_source()._replace(libvirt=lambda: by_library)
machine = hypervisor.describe_hypervisor(source).model_dump(mode="json")
print("RESULT", json.dumps([machine, summarize(by_library), summarize(by_virsh)]))
"""


def describe_inside(script: str, query: str) -> Any:
    """Set a machine up with a script in separate namespaces; return nodrop's description of it."""
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "QUERY": query,
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
    }
    done = subprocess.run(
        [*ISOLATED, "bash", "-c", BEGIN + script + RUN_QUERY],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TOOL_S,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stdout + done.stderr
    return json.loads(lines[-1].removeprefix("RESULT "))


def cards() -> tuple[Nic, ...]:
    return nics.describe_devices(describe.open_local_source()).nics


def interfaces_of_cards() -> list[tuple[Nic, str]]:
    interfaces = [(nic, port.netdev) for nic in cards() for port in nic.ports if port.netdev]
    if not interfaces:
        pytest.skip("this machine shows no network card")
    return interfaces


def test_cards_are_those_that_lspci_lists_by_the_same_names(require_tool: Callable[[str], Path]) -> None:
    listed = subprocess.run([require_tool("lspci"), "-Dvmm"], capture_output=True, text=True, check=True).stdout
    records = [dict(line.split(":\t", 1) for line in each.splitlines()) for each in listed.split("\n\n") if each]
    network = {each["Slot"]: each for each in records if "Ethernet" in each["Class"] or "Network" in each["Class"]}
    described = [nic for nic in cards() if ADDRESS.fullmatch(f"{nic.id}.0")]
    assert {nic.id for nic in described} == {slot.rsplit(".", 1)[0] for slot in network}
    for nic in described:
        of_lspci = network[nic.ports[0].pci_id]
        if nic.vendor.confidence == "database":
            assert nic.vendor.value == of_lspci["Vendor"]
        if nic.model.confidence == "database":
            assert nic.model.value == of_lspci["Device"]


def test_drivers_firmware_and_speeds_are_those_that_ethtool_names(require_tool: Callable[[str], Path]) -> None:
    tool = require_tool("ethtool")
    for nic, interface in interfaces_of_cards():
        driver = subprocess.run([tool, "-i", interface], capture_output=True, text=True, check=True).stdout
        link = subprocess.run([tool, interface], capture_output=True, text=True, check=True).stdout
        port = next(each for each in nic.ports if each.netdev == interface)
        assert re.search(rf"^driver: {nic.driver.value}$", driver, re.MULTILINE)
        assert re.search(rf"^bus-info: {re.escape(port.pci_id)}$", driver, re.MULTILINE)
        assert f"firmware-version: {nic.firmware.value or ''}\n" in driver
        assert (f"Link detected: {'yes' if port.link.value else 'no'}") in link
        speed = re.search(r"Speed: (\d+)Mb/s", link)
        assert port.link_speed_bps.value == (int(speed[1]) * 10**6 if speed else None)
        modes = [int(each) for each in re.findall(r"\b(\d+)base", link.partition("Advertised link modes")[0])]
        assert port.speed_bps.confidence == "database" or port.speed_bps.value == (
            max(modes) * 10**6 if modes else None
        )


def test_the_port_with_the_default_route_is_the_hosts(require_tool: Callable[[str], Path]) -> None:
    routes = subprocess.run(
        [require_tool("ip"), "-json", "route", "show", "default"], capture_output=True, text=True, check=True
    ).stdout
    leading = {each["dev"] for each in json.loads(routes or "[]")}
    for nic, interface in interfaces_of_cards():
        if interface in leading:
            port = next(each for each in nic.ports if each.netdev == interface)
            assert (port.eligible.value, port.in_use.value) == (False, True)
            assert "host" in port.owners


OPEN_VSWITCH = """
mkdir -p /run/openvswitch
export OVS_RUNDIR=/run/openvswitch OVS_LOGDIR=/run OVS_DBDIR=/run
ovsdb-tool create /run/conf.db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server /run/conf.db --remote=punix:/run/openvswitch/db.sock --unixctl=/run/db.ctl -vconsole:off &
for _ in $(seq 50); do [ -S /run/openvswitch/db.sock ] && break; sleep 0.1; done
ovs-vsctl --timeout=5 --no-wait init
ovs-vswitchd unix:/run/openvswitch/db.sock --unixctl=/run/v.ctl -vconsole:off &
ip link add near type veth peer far
ip tuntap add vm0 mode tap
ovs-vsctl --timeout=5 add-br br0 -- set bridge br0 datapath_type=netdev -- add-port br0 near -- add-port br0 vm0
"""


@pytest.mark.usefixtures("require_root")
def test_a_real_open_vswitch_tells_its_bridge(require_tool: Callable[[str], Path]) -> None:
    version = subprocess.run([require_tool("ovs-vswitchd"), "--version"], capture_output=True, text=True, check=True)
    (switch,) = describe_inside(OPEN_VSWITCH, QUERY_SWITCHES)
    assert (switch["name"], switch["kind"]["value"]) == ("br0", "ovs")
    assert switch["version"]["value"] in version.stdout
    assert (switch["virtual_interface_count"]["value"], switch["ports"]["value"]) == (2, [])
    assert (switch["acceleration"]["value"], switch["mode"]["value"]) == ("none", "bridge")


SILENT_DATABASE = """
mkdir -p /run/openvswitch
python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("/run/openvswitch/db.sock"); s.listen(); time.sleep(30)' &
for _ in $(seq 50); do [ -S /run/openvswitch/db.sock ] && break; sleep 0.1; done
"""


@pytest.mark.usefixtures("require_root")
def test_an_open_vswitch_that_keeps_silent_is_waited_for_a_second(require_tool: Callable[[str], Path]) -> None:
    require_tool("ovs-vsctl")
    (switch,) = describe_inside(SILENT_DATABASE, QUERY_SWITCHES)
    assert switch["kind"]["value"] == "ovs"
    assert switch["version"]["value"] is None
    assert switch["version"]["why"]


BRIDGES = """
for name in plain routed hidden; do ip link add $name type bridge; ip link set $name up; done
ip link add near type veth peer far
ip link set near master hidden
ip addr add 192.0.2.1/24 dev hidden
ip addr add 198.51.100.1/24 dev routed
nft add table ip nat
nft 'add chain ip nat post { type nat hook postrouting priority 100; }'
nft add rule ip nat post ip saddr 192.0.2.0/24 ip daddr != 192.0.2.0/24 masquerade
"""


@pytest.mark.usefixtures("require_root")
def test_real_bridges_are_told_apart_by_the_rules_that_nft_has(require_tool: Callable[[str], Path]) -> None:
    require_tool("nft")
    switches = {each["name"]: each for each in describe_inside(BRIDGES, QUERY_SWITCHES_PATIENTLY)}
    assert {name: each["mode"]["value"] for name, each in switches.items()} == {
        "plain": "bridge",
        "routed": "bridge",
        "hidden": "nat",
    }
    assert switches["hidden"]["virtual_interface_count"]["value"] == 1


LIBVIRT = """
for place in /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do
    mkdir -p $place && mount -t tmpfs tmpfs $place
done
mkdir -p /run/libvirt
cat > /etc/libvirt/qemu.conf <<'END'
stdio_handler = "file"
user = "root"
group = "root"
security_driver = "none"
namespaces = []
cgroup_controllers = []
END
libvirtd 2>/dev/null >/dev/null &
for _ in $(seq 100); do [ -S /run/libvirt/libvirt-sock-ro ] && break; sleep 0.1; done
cat > /run/domain.xml <<'END'
<domain type='qemu'><name>bound</name><memory unit='MiB'>32</memory><vcpu>2</vcpu>
<cputune><vcpupin vcpu='0' cpuset='0'/><emulatorpin cpuset='0'/></cputune>
<os><type arch='x86_64' machine='q35'>hvm</type></os></domain>
END
virsh create /run/domain.xml --paused > /dev/null
"""


@pytest.mark.usefixtures("require_root")
def test_a_real_libvirt_tells_what_it_offers_and_what_its_vms_hold(require_tool: Callable[[str], Path]) -> None:
    pytest.importorskip("libvirt")
    require_tool("qemu-system-x86_64")
    daemon = subprocess.run([require_tool("libvirtd"), "--version"], capture_output=True, text=True, check=True).stdout
    machine, by_library, by_virsh = describe_inside(LIBVIRT, QUERY_LIBVIRT)
    assert by_library == by_virsh
    version, cpu_count, offered, (vm,), why = by_library
    assert daemon.split()[-1] == version
    assert machine["manager_version"]["value"] == f"libvirt {version}"
    assert (cpu_count, why) == (os.cpu_count(), "")
    assert offered in ("kvm", "qemu")
    assert (vm["name"], vm["vcpu_count"], vm["vcpu_cpus"]["0"], vm["emulator_cpus"]) == ("bound", 2, [0], [0])


def test_without_a_daemon_libvirt_is_silent_at_once() -> None:
    if shutil.which("libvirtd") and any(Path(each).exists() for each in libvirt.SOCKETS):
        pytest.skip("a libvirt daemon runs on this machine")
    assert libvirt.query_libvirt().why == libvirt.NO_DAEMON
    assert all(each.kind.known for each in vswitches.describe_vswitches(describe.open_local_source()))
