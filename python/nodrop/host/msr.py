"""Model-specific registers and /dev/kvm of this machine; not available in captures."""

import fcntl
import os

from nodrop.host.inputs import NOT_CAPTURED, Source
from nodrop.model.observation import Observation

KVM_DEVICE = "/dev/kvm"
_KVM_GET_API_VERSION = 0xAE00
"""Source: Linux, Documentation/virt/kvm/api.rst."""


def read_msr(source: Source, register: int) -> Observation[int]:
    """Read a model-specific register of the first CPU through the msr driver (root only)."""
    path = "/dev/cpu/0/msr"
    name = f"msr {register:#x}"
    if not source.live:
        return source.moment.unknown(NOT_CAPTURED, name)
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return source.moment.unknown("needs root" if os.geteuid() else "the kernel's msr driver is not loaded", name)
    except PermissionError:
        return source.moment.unknown("needs root", name)
    except OSError as error:
        return source.moment.unknown(f"{path}: {error.strerror}", name)
    try:
        content = os.pread(file, 8, register)
    except OSError:
        return source.moment.unknown("the processor has no such register, or does not show it", name)
    finally:
        os.close(file)
    return source.moment.reported(int.from_bytes(content, "little"), name)


def read_kvm_version(source: Source) -> Observation[int]:
    """Read KVM's API version, constantly 12; an answer proves that KVM works."""
    if not source.live:
        return source.moment.unknown(NOT_CAPTURED, KVM_DEVICE)
    try:
        file = os.open(KVM_DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return source.moment.unknown("no such file", KVM_DEVICE)
    except PermissionError:
        return source.moment.unknown("needs root or the group kvm", KVM_DEVICE)
    except OSError as error:
        return source.moment.unknown(f"{KVM_DEVICE}: {error.strerror}", KVM_DEVICE)
    try:
        return source.moment.reported(fcntl.ioctl(file, _KVM_GET_API_VERSION), KVM_DEVICE)
    except OSError as error:
        return source.moment.unknown(f"{KVM_DEVICE}: {error.strerror}", KVM_DEVICE)
    finally:
        os.close(file)
