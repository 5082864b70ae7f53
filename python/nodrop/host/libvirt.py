"""Host and VM data of the libvirt daemon, through libvirt-python if installed, otherwise through `virsh`. Read-only.

Source: https://libvirt.org/formatcaps.html, formatdomaincaps.html, formatdomain.html, uri.html.
"""

import os
import threading
import time
import urllib.parse
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.host.inputs import PROGRAM_TIMEOUT_S, LibvirtReply, Source, run_program
from nodrop.host.timeouts import call_with_timeout
from nodrop.system import cpu_sets as cpu_lists

SYSTEM = "qemu:///system"
SOCKETS = tuple(f"/run/libvirt/{name}" for name in ("libvirt-sock-ro", "virtqemud-sock-ro"))
DAEMON_RUNS = "Running against daemon:"
URI_VARIABLE = "LIBVIRT_DEFAULT_URI"
NEEDS_ROOT = "libvirt tells what VMs can be given to root only"
NO_DAEMON = "no libvirt daemon listens in /run/libvirt"


class LibvirtDomain(NamedTuple):
    """A running VM and its resources."""

    name: str
    vcpu_cpus: dict[int, tuple[int, ...]]
    """CPUs by vCPU; unpinned vCPUs are missing."""
    emulator_cpus: tuple[int, ...]
    """CPUs of the emulator's other threads; empty: not pinned."""
    vcpu_count: int
    devices: tuple[str, ...]
    """PCI addresses of its host devices."""
    interfaces: tuple[str, ...]
    """Names of its interfaces on the host."""
    host_cpu: bool = False
    """Whether its CPU model is host-passthrough."""


def query_libvirt() -> LibvirtReply:
    """Query the daemon of this machine; never starts one."""
    uri = os.environ.get(URI_VARIABLE, "")
    if uri and urllib.parse.urlsplit(uri).hostname:
        return LibvirtReply(why=f"{URI_VARIABLE} names another machine: {uri}")
    if not uri and (reason := _explain_missing_daemon()):
        return LibvirtReply(why=reason)
    try:
        import libvirt  # noqa: F401  (an extra)
    except ImportError:
        return _query_virsh(uri or SYSTEM)
    return _query_library(uri or SYSTEM)


def _explain_missing_daemon() -> str:
    """Return why no daemon is reachable; empty: one is listening."""
    reason = NO_DAEMON
    for socket in SOCKETS:
        try:
            Path(socket).stat()
        except PermissionError:
            reason = "needs root: /run/libvirt is closed to this user"
        except OSError:
            continue
        else:
            return ""
    return reason


def query_once() -> Callable[[], LibvirtReply]:
    """Return a function that queries on its first call only; concurrent callers wait for that reply."""
    lock, answers = threading.Lock(), list[LibvirtReply]()

    def answer() -> LibvirtReply:
        with lock:
            if not answers:
                answers.append(query_libvirt())
        return answers[0]

    return answer


def list_domains(source: Source) -> tuple[LibvirtDomain, ...]:
    """List the running VMs."""
    return tuple(domain for text in source.libvirt().domains if (domain := parse_domain(text)))


def parse_domain(text: str) -> LibvirtDomain | None:
    """Parse a VM's XML; None if invalid."""
    root = parse_xml(text)
    if root is None:
        return None
    virtual = root.find("vcpu")
    common = _parse_cpus(virtual.get("cpuset") if virtual is not None else None)
    count = _parse_count(virtual.text if virtual is not None else None)
    pins = {_parse_count(pin.get("vcpu")): _parse_cpus(pin.get("cpuset")) for pin in root.iterfind("cputune/vcpupin")}
    bound = {each: pins.get(each, common) for each in range(count)}
    emulator = root.find("cputune/emulatorpin")
    model = root.find("cpu")
    return LibvirtDomain(
        name=(root.findtext("name") or "").strip() or "unnamed",
        vcpu_cpus={each: cpus for each, cpus in bound.items() if cpus},
        emulator_cpus=_parse_cpus(emulator.get("cpuset")) if emulator is not None else common,
        vcpu_count=count,
        devices=tuple(_list_addresses(root)),
        interfaces=tuple(each.get("dev", "") for each in root.iterfind("devices/interface/target") if each.get("dev")),
        host_cpu=model is not None and model.get("mode") == "host-passthrough",
    )


def parse_xml(text: str) -> xml.Element | None:
    """Parse the daemon's XML; None if invalid."""
    try:
        return xml.fromstring(text)
    except xml.ParseError:
        return None


def _list_addresses(root: xml.Element) -> Iterator[str]:
    """Yield the PCI addresses of host devices, including interfaces of type hostdev."""
    for kind in ("hostdev", "interface"):
        for address in root.iterfind(f"devices/{kind}/source/address"):
            domain, bus, slot, function = (
                _parse_number(address.get(key)) for key in ("domain", "bus", "slot", "function")
            )
            if address.get("bus") is not None:
                yield f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def _parse_number(text: str | None) -> int:
    """Parse an attribute, decimal or `0x...`; 0 if missing."""
    try:
        return int(text or "0", 0)
    except ValueError:
        return 0


def _parse_cpus(text: str | None) -> tuple[int, ...]:
    """Parse a CPU list such as `0-3,^2,8`; empty if invalid."""
    parts = (text or "").split(",")
    included = cpu_lists.parse_cpu_list(",".join(part for part in parts if not part.startswith("^")))
    excluded = cpu_lists.parse_cpu_list(",".join(part[1:] for part in parts if part.startswith("^")))
    return tuple(sorted(set(included or ()) - set(excluded or ())))


def _parse_count(text: str | None) -> int:
    return int(text) if text and text.strip().isdigit() and int(text) <= 4096 else 0


class _PartialReply:
    """The reply so far, kept when the time limit is exceeded."""

    def __init__(self) -> None:
        self.reply = LibvirtReply(why=f"libvirt did not answer within {PROGRAM_TIMEOUT_S:g} s")

    def update(self, **parts: Any) -> None:
        self.reply = self.reply._replace(**parts)


def _query_library(uri: str) -> LibvirtReply:
    partial = _PartialReply()
    # libvirt knows no deadline for a local connection.
    return call_with_timeout(PROGRAM_TIMEOUT_S, lambda: _fill(partial, uri), lambda: partial.reply)


def _fill(partial: _PartialReply, uri: str) -> LibvirtReply:
    import libvirt

    libvirt.registerErrorHandler(lambda *_: None, None)
    try:
        connection = libvirt.openReadOnly(uri)
    except libvirt.libvirtError as error:
        partial.update(why=f"libvirt: {error.get_error_message()}")
        return partial.reply
    try:
        number = connection.getLibVersion()
        partial.update(version=f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}")
        running = connection.listAllDomains(libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE)
        partial.update(domains=tuple(_list_domain_xml(running, libvirt.libvirtError)))
        # Last what may take long: a daemon that has just started tries every emulator first.
        partial.update(capabilities=connection.getCapabilities())
        partial.update(why=NEEDS_ROOT)
    except libvirt.libvirtError as error:
        partial.update(why=f"libvirt: {error.get_error_message()}")
    else:
        _fill_domain_capabilities(partial, uri)
    finally:
        connection.close()
    return partial.reply


def _fill_domain_capabilities(partial: _PartialReply, uri: str) -> None:
    """Add the domain capabilities, which libvirt reports to read-write connections only; nothing is changed."""
    import libvirt

    if os.geteuid():
        return
    try:
        connection = libvirt.open(uri)
        try:
            partial.update(domain_capabilities=connection.getDomainCapabilities(), why="")
        finally:
            connection.close()
    except libvirt.libvirtError as error:
        partial.update(why=f"libvirt: {error.get_error_message()}")


def _list_domain_xml(running: list[Any], ended_error: type[Exception]) -> Iterator[str]:
    for each in running:
        try:
            yield each.XMLDesc()
        except ended_error:  # it ended meanwhile
            continue


def _query_virsh(uri: str) -> LibvirtReply:
    reasons: list[str] = []
    until = time.monotonic() + PROGRAM_TIMEOUT_S

    def virsh(*arguments: str) -> str:
        left_s = until - time.monotonic()
        if left_s <= 0 and not reasons:
            reasons.append(f"virsh did not answer within {PROGRAM_TIMEOUT_S:g} s")
        if reasons:
            return ""
        answer = run_program("virsh", "--connect", uri, *arguments, within_s=left_s)
        if answer.text is None:
            reasons.append(
                answer.why.replace("virsh is not installed", "neither libvirt-python nor virsh is installed")
            )
        return answer.text or ""

    version = virsh("--readonly", "version", "--daemon").partition(DAEMON_RUNS)[2].partition("\n")[0].strip()
    names = virsh("--readonly", "list", "--name").splitlines()
    domains = tuple(
        description for name in names if name.strip() and (description := virsh("--readonly", "dumpxml", name))
    )
    capabilities = virsh("--readonly", "capabilities")
    offered = "" if os.geteuid() else virsh("domcapabilities")
    return LibvirtReply(
        version, capabilities, offered, domains, reasons[0] if reasons else "" if offered else NEEDS_ROOT
    )
