"""Which CPU receives frames in the kernel: receive packet steering.

Source: Linux, Documentation/networking/scaling.rst.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from nodrop.errors import StageError
from nodrop.stage import namespace

MASK_BITS = 32


def receive_on(core: int, interfaces: Sequence[str], sut_pid: int) -> None:
    """Have the kernel receive what comes in by these interfaces of the SUT on one CPU. Raises StageError.

    sysfs shows the interfaces of the namespace it was mounted in, so a child with mounts of its own writes it.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        _write(core, interfaces, sut_pid, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(pid, 0)
    if said:
        raise StageError(
            f"vnf.softirq_core: {core} asked, {said}; leave it out, or run as root, on a kernel with CONFIG_RPS"
        )


def _write(core: int, interfaces: Sequence[str], sut_pid: int, writer: int) -> None:
    try:
        namespace.set_network_of(sut_pid)
        namespace.unshare_mounts()
        namespace.mount_sysfs("/sys")
        for interface in interfaces:
            for queue in Path("/sys/class/net", interface, "queues").glob("rx-*"):
                (queue / "rps_cpus").write_text(_mask(core))
    except OSError as error:
        os.write(writer, f"{error.filename or 'sysfs'}: {error.strerror}".encode())
    finally:
        os._exit(0)


def _mask(core: int) -> str:
    """One CPU as the kernel reads it: hexadecimal, 32 to a group."""
    groups = core // MASK_BITS
    return ",".join([f"{1 << core % MASK_BITS:x}", *["0" * (MASK_BITS // 4)] * groups])
