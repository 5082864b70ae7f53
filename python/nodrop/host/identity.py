"""Identity of a host and its software.

The id is a hash of the machine id: stable over reboots and readable without root. Neither the machine id itself, which
systemd requires to be kept confidential, nor a serial number appears in a shared result.
"""

import hashlib
import platform

from nodrop.host import observations
from nodrop.host.inputs import Source
from nodrop.host.processor.inputs import read_inputs
from nodrop.host.processor.models import name_hypervisor
from nodrop.model.chd import HostIdentity
from nodrop.model.observation import Observation

MACHINE_ID = "/etc/machine-id"
DMI = "/sys/class/dmi/id"
_HASHED = b"nodrop-hash-"
_FILLERS = ("to be filled by o.e.m.", "default string", "not specified", "system product name", "none", "n/a")


def describe_identity(source: Source) -> HostIdentity:
    """Describe the identity of a host."""
    return HostIdentity(
        id=_observe_id(source),
        hostname=_observe_hostname(source),
        product=_observe_dmi(source, "sys_vendor", "product_name"),
        bios=_observe_dmi(source, "bios_vendor", "bios_version", "bios_date"),
        kernel=_observe_kernel(source),
        os=_observe_os(source),
        virtualization=detect_virtualization(source),
    )


def detect_virtualization(source: Source) -> Observation[str]:
    """Return `none`, or the hypervisor that this machine runs under."""
    moment, chip = source.moment, read_inputs(source)
    if kind := source.tree.read_text("/sys/hypervisor/type"):
        return moment.reported(kind, "/sys/hypervisor/type")
    maker = _observe_dmi(source, "sys_vendor", "product_name")
    if chip.virtual:
        signature = source.cpuid.hypervisor if source.cpuid else ""
        if not signature:
            return moment.reported(
                maker.value or "unknown hypervisor", maker.source if maker.known else "/proc/cpuinfo"
            )
        return moment.reported(name_hypervisor(signature), "cpuid 0x40000000", maker.value or "")
    if "flags" in chip.fields:
        return moment.reported("none", "/proc/cpuinfo", "no flag hypervisor")
    return moment.unknown("this architecture does not say", "/proc/cpuinfo")


def _observe_id(source: Source) -> Observation[str]:
    hashed = source.tree.read_text(MACHINE_ID, reduce=_hash_machine_id)
    if hashed is None:
        return observations.observe_unreadable(source, MACHINE_ID)
    if not hashed:
        return source.moment.unknown("holds nothing", MACHINE_ID)
    return source.moment.inferred(hashed.removeprefix(_HASHED.decode()), MACHINE_ID, "a hash of it")


def _hash_machine_id(content: bytes) -> bytes:
    """Return the hash that replaces a machine id in captures."""
    content = content.strip()
    if not content or content.startswith(_HASHED):
        return content
    return _HASHED + hashlib.sha256(b"nodrop host " + content).hexdigest()[:32].encode()


def _observe_hostname(source: Source) -> Observation[str]:
    if source.live:
        return source.moment.reported(platform.node(), "uname")
    return observations.select_first_known(
        lambda: observations.observe_text(source, "/proc/sys/kernel/hostname"),
        lambda: observations.observe_text(source, "/etc/hostname"),
    )


def _observe_kernel(source: Source) -> Observation[str]:
    if source.live:
        return source.moment.reported(platform.release(), "uname")
    release = observations.observe_text(source, "/proc/sys/kernel/osrelease")
    words = (source.tree.read_text("/proc/version") or "").split()
    if not release.known and words[:2] == ["Linux", "version"] and len(words) > 2:
        return source.moment.reported(words[2], "/proc/version")
    return release


def _observe_os(source: Source) -> Observation[str]:
    path = "/etc/os-release"
    text = source.tree.read_text(path)
    if text is None:
        return observations.observe_unreadable(source, path)
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    for key in ("PRETTY_NAME", "NAME"):
        if name := fields.get(key, "").strip("\"' "):
            return source.moment.reported(name, path)
    return source.moment.unknown("names no system", path)


def _observe_dmi(source: Source, *names: str) -> Observation[str]:
    """Return DMI strings without the placeholders left by some vendors."""
    texts = [source.tree.read_text(f"{DMI}/{name}") for name in names]
    words = [each for each in texts if each and each.lower() not in _FILLERS]
    path = f"{DMI}/{names[0]}"
    if words:
        return source.moment.reported(" ".join(words), path)
    return (
        observations.observe_unreadable(source, path)
        if texts[0] is None
        else source.moment.unknown("the firmware does not say", path)
    )
