"""Two hosts of libvirt on one machine, and the switches between them and a tester.

Each host has its own libvirtd, with namespaces for network, mounts, host name and processes: a migration from one to
the other takes the path of one between machines. All vanish with the processes that the namespaces belong to.

    tester's `left`   - switch sw-left  - br-left of each host  - VM - br-right of each host - sw-right - `right`
"""

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.loopback_vms import MACS
from tests.openstack.services.guests import LIBVIRTD, OWN_DIRECTORIES, QEMU
from tests.waiting import await_true, stretch

SIDES = ("left", "right")
TESTER_MACS = ("02:00:00:00:0b:01", "02:00:00:00:0b:02")
DOMAIN_NAME = "vnf"
CREATE_SWITCHES = """
ip link set lo up
for side in left right; do
    ip link add sw-$side type bridge
    ip link add $side type veth peer name $side-sw
    ip link set $side-sw master sw-$side
    ip link set sw-$side up
    ip link set $side-sw up
done
ip link set left address LEFT_MAC
ip link set right address RIGHT_MAC
ip link set left up
ip link set right up
echo ready
exec sleep 3600
"""
START_HOST = """
for place in OWN_DIRECTORIES; do
    mkdir -p $place "$1/root$place"
    mount --bind "$1/root$place" $place
done
cp "$1"/qemu.conf "$1"/libvirtd.conf /etc/libvirt
hostname "$2"
ip link set lo up
for side in left right; do
    ip link add br-$side type bridge
    ip link set br-$side up
done
echo ready
read connected
libvirtd --pid-file "$1/libvirtd.pid" >"$1/libvirtd.log" 2>&1 &
wait
"""
"""The shell is the first process of its namespace and remains, to reap those that QEMU leaves."""
DOMAIN = """<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <features><acpi/></features>
  <cpu mode='custom'><model>qemu64</model></cpu>
  <devices>
    <emulator>{emulator}</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/><source file='{image}'/><target dev='vda' bus='virtio'/><readonly/>
    </disk>
    <disk type='file' device='cdrom'>
      <driver name='qemu' type='raw'/><source file='{config_drive}'/><target dev='hda' bus='ide'/><readonly/>
    </disk>
    {interfaces}
    <serial type='file'><source path='{console}' append='on'/></serial>
    <memballoon model='none'/>
  </devices>
</domain>
"""
INTERFACE = "<interface type='bridge'><mac address='{}'/><source bridge='br-{}'/><model type='virtio'/></interface>"


class LibvirtHosts(NamedTuple):
    """Hosts `a` and `b`."""

    inside: list[str]
    """Command that enters the tester's network namespace."""
    uris: dict[str, str]
    migration_socket: Path
    console: Path

    def migrate(self, source: str, target: str) -> str:
        """Return the event that migrates the VM."""
        options = f"--migrateuri unix://{self.migration_socket}"
        return f"0s migrate {DOMAIN_NAME} {self.uris[source]} {self.uris[target]} {options}"

    def read_console(self) -> str:
        """Return the output of the VM's serial console."""
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def run_virsh(self, host: str, *words: str) -> str:
        """Run virsh at a host; return its output."""
        return run("virsh", "--connect", self.uris[host], *words)


@contextmanager
def run_libvirt_hosts(image: Path, config_drive: Path) -> Iterator[LibvirtHosts]:
    """Run two hosts, and on `a` a VM from an image with a config drive; yield them when the VM is started."""
    with ExitStack() as stack:
        # A path of a socket has at most 107 characters.
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hosts-")))
        script = CREATE_SWITCHES
        for side, mac in zip(SIDES, TESTER_MACS, strict=True):
            script = script.replace(f"{side.upper()}_MAC", mac)
        switches = stack.enter_context(run_holder(["unshare", "--net", "sh", "-ec", script]))
        inside = ["nsenter", "--net", "--target", str(switches.pid)]
        uris = {}
        for name in "ab":
            stack.enter_context(run_host(scratch / name, name, inside))
            socket = scratch / name / "root/run/libvirt/libvirt-sock"
            uris[name] = f"qemu+unix:///system?socket={socket}"
        hosts = LibvirtHosts(inside, uris, scratch / "migration", scratch / "console")
        await_true(lambda: all(map(is_ready, uris.values())), "both libvirtd reply")
        shutil.copy(image, scratch / "image.qcow2")
        shutil.copy(config_drive, scratch / "drive.iso")
        (scratch / "domain.xml").write_text(write_domain(scratch))
        hosts.run_virsh("a", "define", str(scratch / "domain.xml"))
        hosts.run_virsh("a", "start", DOMAIN_NAME)
        yield hosts


@contextmanager
def run_host(place: Path, name: str, switches: list[str]) -> Iterator[None]:
    """Run a host whose bridges are ports of the switches."""
    (place / "root").mkdir(parents=True)
    write_settings(place / "qemu.conf", QEMU)
    write_settings(place / "libvirtd.conf", {**LIBVIRTD, "host_uuid": f'"{uuid.uuid4()}"'})
    script = START_HOST.replace("OWN_DIRECTORIES", " ".join(OWN_DIRECTORIES))
    own = ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with run_holder(["unshare", *own, "sh", "-ec", script, "sh", str(place), f"host-{name}"]) as host:
        init = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()[0]
        for side in SIDES:
            port = f"{side}-{name}"
            run(*switches, "ip", "link", "add", port, "type", "veth", "peer", "name", "uplink", "netns", init)
            run(*switches, "ip", "link", "set", port, "master", f"sw-{side}", "up")
            renamed = ["ip", "link", "set", "uplink", "name", f"up-{side}", "master", f"br-{side}", "up"]
            run("nsenter", "--net", "--target", init, *renamed)
        assert host.stdin
        host.stdin.write(b"connected\n")
        host.stdin.flush()
        try:
            yield
        finally:
            # The first process of a namespace ends after all others, and `unshare` after it.
            os.kill(int(init), signal.SIGKILL)
            host.wait()


@contextmanager
def run_holder(command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process that prints `ready`; kill it at the end of the block."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def write_settings(file: Path, values: dict[str, object]) -> None:
    file.write_text("".join(f"{key} = {value}\n" for key, value in values.items()))


def write_domain(scratch: Path) -> str:
    return DOMAIN.format(
        name=DOMAIN_NAME,
        emulator=shutil.which("qemu-system-x86_64"),
        image=scratch / "image.qcow2",
        config_drive=scratch / "drive.iso",
        console=scratch / "console",
        interfaces="".join(INTERFACE.format(mac, side) for mac, side in zip(MACS, SIDES, strict=True)),
    )


def is_ready(uri: str) -> bool:
    done = subprocess.run(["virsh", "--connect", uri, "list"], capture_output=True, check=False, timeout=stretch(60))
    return done.returncode == 0


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=stretch(60))
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout
