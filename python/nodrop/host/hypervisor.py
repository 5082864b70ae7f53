"""The hypervisor of a machine, and its support for the nine capabilities of clause 8.1.1.3.

Source: ETSI GS NFV-PER 001 clauses 7.2 and 8.1.1.3; Linux, Documentation/virt/kvm/api.rst.
"""

import os
import re
from typing import NamedTuple

from nodrop.host import kvm
from nodrop.host.inputs import Source
from nodrop.host.msr import KVM_DEVICE, read_kvm_version
from nodrop.model.chd import Hypervisor, HypervisorCapabilities
from nodrop.model.observation import Feature, Observation

RELEASE = "/proc/sys/kernel/osrelease"
API_VERSION = 12
"""Constant since Linux 2.6.22."""
EMULATORS = {"x86_64": "qemu-system-x86_64", "aarch64": "qemu-system-aarch64"}
OTHER_EMULATORS = ("/usr/libexec/qemu-kvm", "/usr/bin/kvm")
_EMULATOR = re.compile(r"version (\d+(?:\.\d+)+)")


class DetectedHypervisor(NamedTuple):
    """Kind and version of the hypervisor."""

    kind: Observation[str]
    version: Observation[str]


def describe_hypervisor(source: Source) -> Hypervisor:
    """Describe the hypervisor, its management software and its capabilities."""
    emulator, manager = _observe_emulator(source), _observe_manager(source)
    maker = _detect(source, emulator)
    return Hypervisor(
        kind=maker.kind,
        version=maker.version,
        emulator_version=emulator,
        manager_version=manager,
        capabilities=_describe_capabilities(source, maker.kind),
    )


def _detect(source: Source, emulator: Observation[str]) -> DetectedHypervisor:
    """Return the first hypervisor detected; in a VM the one for nested guests, not the one it runs under."""
    tree, moment = source.tree, source.moment
    if _is_dom0(source):
        return DetectedHypervisor(moment.reported("xen", "/sys/hypervisor"), _observe_xen_version(source))
    if tree.exists("/dev/mshv"):
        return DetectedHypervisor(
            moment.reported("hyper-v", "/dev/mshv"), moment.unknown("not implemented for Hyper-V", "/dev/mshv")
        )
    if module := kvm.find_module(source):
        return DetectedHypervisor(_observe_kvm_kind(source, module), _observe_kernel_release(source))
    if tree.exists("/sys/module/vmmon"):
        return DetectedHypervisor(
            moment.reported("vmware", "/sys/module/vmmon"), _read_text(source, "/sys/module/vmmon/version")
        )
    return _detect_emulation(source, emulator)


def _detect_emulation(source: Source, emulator: Observation[str]) -> DetectedHypervisor:
    tree, moment = source.tree, source.moment
    if emulator.known:
        reason = "QEMU without KVM: it emulates every instruction"
        return DetectedHypervisor(moment.inferred("qemu", emulator.source, reason), emulator)
    reason = "no KVM, Xen, Hyper-V or VMware in the kernel"
    if source.live and tree.exists("/sys/module"):
        none: Observation[str] = moment.unknown("no hypervisor here")
        return DetectedHypervisor(moment.inferred("none", "/sys/module", f"{reason}, no QEMU"), none)
    reason = f"{reason}; QEMU: {emulator.why}" if tree.exists("/sys/module") else tree.failure_reason("/sys/module")
    return DetectedHypervisor(moment.unknown(reason, "/sys/module"), moment.unknown(reason, "/sys/module"))


def _is_dom0(source: Source) -> bool:
    """Return whether this is Xen's dom0, by the hypervisor's feature flags (XENFEAT_dom0, bit 11)."""
    if source.tree.read_text("/proc/xen/capabilities") == "control_d":
        return True
    features = source.tree.read_text("/sys/hypervisor/properties/features")
    return bool(features and re.fullmatch(r"[0-9a-f]+", features) and int(features, 16) >> 11 & 1)


def _observe_xen_version(source: Source) -> Observation[str]:
    parts = [source.tree.read_text(f"/sys/hypervisor/version/{name}") for name in ("major", "minor", "extra")]
    if parts[0] is None or parts[1] is None:
        return source.moment.unknown(
            source.tree.failure_reason("/sys/hypervisor/version/major"), "/sys/hypervisor/version"
        )
    return source.moment.reported(f"{parts[0]}.{parts[1]}{parts[2] or ''}", "/sys/hypervisor/version")


def _observe_kvm_kind(source: Source, module: str) -> Observation[str]:
    """Return `kvm` if its device answers as expected."""
    moment, path = source.moment, f"/sys/module/{module}"
    reason = kvm.MODULES.get(module, "")
    if not source.live:
        return moment.reported("kvm", path, reason)
    answer = read_kvm_version(source)
    if not answer.known:
        return moment.reported("kvm", path, "; ".join(filter(None, (reason, f"{KVM_DEVICE}: {answer.why}"))))
    if answer.value != API_VERSION:
        return moment.unknown(f"{KVM_DEVICE} answers API version {answer.value}, {API_VERSION} expected", KVM_DEVICE)
    return moment.reported("kvm", KVM_DEVICE, reason)


def _observe_kernel_release(source: Source) -> Observation[str]:
    return _read_text(source, RELEASE, "the kernel's: KVM is a part of it")


def _read_text(source: Source, path: str, reason: str = "") -> Observation[str]:
    text = source.tree.read_text(path)
    return (
        source.moment.reported(text, path, reason)
        if text
        else source.moment.unknown(source.tree.failure_reason(path), path)
    )


def _observe_emulator(source: Source) -> Observation[str]:
    usual = EMULATORS.get(os.uname().machine, f"qemu-system-{os.uname().machine}")
    alternatives = [each for each in OTHER_EMULATORS if source.live and source.tree.exists(each)]
    reason = ""
    for program in (usual, *alternatives):
        answer = source.programs(program, "--version")
        if match := _EMULATOR.search(answer.text or ""):
            return source.moment.reported(match[1], f"{program} --version")
        reason = reason or answer.why or f"{program} names no version"
        if "not installed" not in reason:
            break
    return source.moment.unknown(reason, f"{usual} --version")


def _observe_manager(source: Source) -> Observation[str]:
    reply = source.libvirt()
    if reply.version:
        return source.moment.reported(f"libvirt {reply.version}", "libvirt")
    return source.moment.unknown(reply.why, "libvirt")


def _describe_capabilities(source: Source, kind: Observation[str]) -> HypervisorCapabilities:
    if kind.value == "kvm":
        return kvm.describe_capabilities(source)
    reason = {None: f"the hypervisor is not known: {kind.why}", "none": "no hypervisor here"}.get(
        kind.value, f"nodrop knows this of KVM only, not of {kind.value}"
    )
    if kind.value == "qemu":
        return _describe_emulation_capabilities(source, reason)
    unknown: Observation[bool] = source.moment.unknown(reason)
    return HypervisorCapabilities(
        **dict.fromkeys(HypervisorCapabilities.model_fields, Feature(supported=unknown, enabled=unknown))
    )


def _describe_emulation_capabilities(source: Source, reason: str) -> HypervisorCapabilities:
    """Return the capabilities without hardware virtualization; the kernel still places threads and memory."""
    no = source.moment.inferred(False, "/sys/module", "emulation does not use it")
    unknown: Observation[bool] = source.moment.unknown(reason)
    neither, open_question = Feature(supported=no, enabled=no), Feature(supported=unknown, enabled=unknown)
    placing = {"cpu_pinning", "numa_memory_pinning", "numa_large_page_pinning"}
    return HypervisorCapabilities(
        **{
            name: (kvm.describe_pinning(source, name) or open_question) if name in placing else neither
            for name in HypervisorCapabilities.model_fields
        }
    )
