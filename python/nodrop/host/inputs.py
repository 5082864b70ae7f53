"""Inputs of a host description: files, programs and kernel interfaces."""

import os
import subprocess
from collections.abc import Callable
from typing import NamedTuple, Protocol

from nodrop.host.cpuid import Cpuid
from nodrop.host.file_tree import FileTree
from nodrop.host.network import NetworkReader
from nodrop.model.observation import ObservationTime

NOT_CAPTURED = "not in the capture"
PROGRAM_TIMEOUT_S = 1.0
"""Time limit for each program."""


class ProgramOutput(NamedTuple):
    """The output of a program, or why there is none."""

    text: str | None
    why: str = ""


class ProgramRunner(Protocol):
    """Runs programs of the machine."""

    def __call__(self, *command: str) -> ProgramOutput:
        """Return the output of a command if it succeeds in time."""


class LibvirtReply(NamedTuple):
    """The reply of a libvirt daemon, unparsed."""

    version: str = ""
    """Version of libvirt."""
    capabilities: str = ""
    """XML: the host."""
    domain_capabilities: str = ""
    """XML: what a VM can be given."""
    domains: tuple[str, ...] = ()
    """XML of every running VM."""
    why: str = ""
    """Why a part is missing."""


class Source(NamedTuple):
    """All inputs of a description. A captured tree has files only; the other inputs are None or return an error."""

    tree: FileTree
    moment: ObservationTime
    cpuid: Cpuid | None = None
    """None: not x86, or a captured tree without a CPUID dump."""
    programs: ProgramRunner = lambda *_: ProgramOutput(None, NOT_CAPTURED)
    """Limited to one second each."""
    live: bool = False
    """Whether this is the running machine, whose device files and sockets can be used."""
    network: NetworkReader | None = None
    """Netlink; None: a captured tree."""
    libvirt: Callable[[], LibvirtReply] = lambda: LibvirtReply(why=NOT_CAPTURED)
    """Queried once, on the first call."""


def run_program(*command: str, within_s: float | None = None) -> ProgramOutput:
    """Run a command on this machine without input in the C locale, by default within `PROGRAM_TIMEOUT_S`."""
    within_s = PROGRAM_TIMEOUT_S if within_s is None else within_s
    plain = {**os.environ, "LC_ALL": "C", "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    try:
        process = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=within_s, env=plain, check=False
        )
    except FileNotFoundError:
        return ProgramOutput(None, f"{command[0]} is not installed")
    except subprocess.TimeoutExpired:
        return ProgramOutput(None, f"{command[0]} did not answer within {within_s:g} s")
    except OSError as error:
        return ProgramOutput(None, f"{command[0]} does not run: {error.strerror}")
    if process.returncode:
        error_lines = process.stderr.decode(errors="replace").strip().splitlines()
        return ProgramOutput(
            None, f"{command[0]} failed" + (f": {error_lines[-1][:200]}" if error_lines else f" ({process.returncode})")
        )
    return ProgramOutput(process.stdout.decode(errors="replace"))
