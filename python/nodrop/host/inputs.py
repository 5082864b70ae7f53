"""What a machine is described from: its files, and what is no file."""

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
"""No program is waited for longer."""


class ProgramOutput(NamedTuple):
    """What a program said, or why it said nothing."""

    text: str | None
    why: str = ""


class ProgramRunner(Protocol):
    """Programs of the machine that are asked for facts."""

    def __call__(self, *command: str) -> ProgramOutput:
        """What a command prints, if it ends well and in time."""


class LibvirtReply(NamedTuple):
    """What a libvirt daemon said, as it said it."""

    version: str = ""
    """Of libvirt."""
    capabilities: str = ""
    """XML: the machine."""
    domain_capabilities: str = ""
    """XML: what a VM can be given."""
    domains: tuple[str, ...] = ()
    """XML of every VM that runs."""
    why: str = ""
    """Why something of it is missing."""


class Source(NamedTuple):
    """All that a description may be read from. A captured tree has files only; the rest is None or says so."""

    tree: FileTree
    moment: ObservationTime
    cpuid: Cpuid | None = None
    """None: no x86, or a captured tree without a dump of it."""
    programs: ProgramRunner = lambda *_: ProgramOutput(None, NOT_CAPTURED)
    """Every one has a second at most."""
    live: bool = False
    """Device files and sockets may be asked: it is this machine."""
    network: NetworkReader | None = None
    """Netlink; None: a captured tree."""
    libvirt: Callable[[], LibvirtReply] = lambda: LibvirtReply(why=NOT_CAPTURED)
    """Asked once, when first called."""


def run_program(*command: str, within_s: float = PROGRAM_TIMEOUT_S) -> ProgramOutput:
    """What a command of this machine prints; a second at most, in a locale of its own, with nothing to read."""
    plain = {**os.environ, "LC_ALL": "C", "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=within_s, env=plain, check=False
        )
    except FileNotFoundError:
        return ProgramOutput(None, f"{command[0]} is not installed")
    except subprocess.TimeoutExpired:
        return ProgramOutput(None, f"{command[0]} did not answer within {within_s:g} s")
    except OSError as error:
        return ProgramOutput(None, f"{command[0]} does not run: {error.strerror}")
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return ProgramOutput(
            None, f"{command[0]} failed" + (f": {said[-1][:200]}" if said else f" ({done.returncode})")
        )
    return ProgramOutput(done.stdout.decode(errors="replace"))
