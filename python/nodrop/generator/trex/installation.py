"""An installed TRex: its release, configuration file and command line, and the reason why it did not start.

Source: TRex manual, platform configuration file and command line options.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from nodrop.errors import GeneratorError
from nodrop.model.trex import TrexPlan, TrexStart

PROGRAM = "t-rex-64"
RELEASE = re.compile(r"v?(\d+)\.(\d+)")
OLDEST = (2, 89)
CONFIGURATION_VERSION = 2
I40E_MIXED = {"ignore": ["--ignore-528-issue"], "unbind": ["--unbind-unused-ports"], "exit": []}
LAST_LINES = 15
DUMMY = "dummy"
RING_FORMAT = "blocksz=593920,framesz=9280"
"""Blocks of 64 frames of up to 9 KiB, as TRex sets them."""
COLORS = re.compile(r"\x1b\[[0-9;]*m")
USAGE = re.compile(r"usage:|EAL .*options.*:$", re.IGNORECASE)
PROMPT = "$ "
"""Begins the lines of the log that repeat the command."""


def find_release(configured: str) -> Path:
    """Return the directory of the release to start: the configured one, or the newest in it from v2.89 on.

    Raises: GeneratorError with the releases found.
    """
    folder = Path(configured)
    if (folder / PROGRAM).is_file():
        return folder
    installed = [path.parent for path in folder.glob(f"*/{PROGRAM}")] if folder.is_dir() else []
    if not installed:
        raise GeneratorError(
            f"trex.start.directory: no {PROGRAM} in {configured} or its subdirectories; install TRex "
            "(https://trex-tgn.cisco.com/trex/release), or set its directory"
        )
    newest = max(installed, key=_release)
    # A directory without a version in its name is used only if it is the only one.
    if _release(newest) < OLDEST and (len(installed) > 1 or RELEASE.search(newest.name)):
        names = ", ".join(sorted(path.name for path in installed))
        raise GeneratorError(
            f"trex.start.directory: no TRex v{OLDEST[0]}.{OLDEST[1]} or later in {configured} (found {names}); "
            "install a later release"
        )
    return newest


def platform_yaml(plan: TrexPlan, start: TrexStart) -> str:
    """Return the text of the file for `--cfg`."""
    platform: dict[str, Any] = {
        "version": CONFIGURATION_VERSION,
        "port_limit": len(start.interfaces),
        "interfaces": [_name_interface(number, name, start) for number, name in enumerate(start.interfaces)],
        "zmq_rpc_port": plan.rpc_port,
        "zmq_pub_port": plan.publish_port,
        "prefix": f"nodrop{plan.rpc_port}",
    }
    if start.low_end:
        platform |= {"low_end": True, "low_end_core": start.low_end_core}
    if start.memory_mib:
        platform["limit_memory"] = start.memory_mib
    if start.mbuf_64 is not None:
        platform["memory"] = {"mbuf_64": start.mbuf_64}
    if start.platform is not None and not start.low_end:
        platform["platform"] = start.platform
    return yaml.safe_dump([platform], sort_keys=False, default_flow_style=None)


def _name_interface(number: int, name: str, start: TrexStart) -> str:
    """Return an interface as TRex expects it: with a ring larger than its default if the kernel provides the port.

    A port of TRex's default, 256 frames, drops frames above some 50 kpps whenever its thread sleeps for 5 ms.
    """
    if not start.software or ":" in name or name == DUMMY:
        return name
    return f"--vdev=net_af_packet{number},iface={name},{RING_FORMAT},framecnt={start.software_ring}"


def command_line(plan: TrexPlan, start: TrexStart, file: Path) -> list[str]:
    """Return the command line, to be run in the release's directory."""
    return [
        f"./{PROGRAM}",
        "-i",
        "-c",
        str(1 if start.low_end else start.cores),
        *("--iom", "0"),
        "--no-scapy-server",
        "--close-at-end",
        *(["--software"] if start.software else []),
        *(["--vlan"] if start.vlans else []),
        *(["--hdrh"] if plan.histograms else []),
        *("--mbuf-factor", f"{start.mbuf_factor:g}"),
        *I40E_MIXED[start.i40e_mixed],
        *("--cfg", str(file)),
    ]


def check_start(start: TrexStart) -> None:
    """Raise GeneratorError for settings that TRex would refuse to start with."""
    if len(start.interfaces) % 2:
        raise GeneratorError(
            f"trex.start.interfaces: TRex needs an even number of interfaces ({len(start.interfaces)}); add one, or "
            "`dummy` for a missing one"
        )


def _release(folder: Path) -> tuple[int, int]:
    found = RELEASE.search(folder.name)
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Symptom(NamedTuple):
    """A pattern in the log and its meaning for the user."""

    pattern: re.Pattern[str]
    meaning: str


class Cause(NamedTuple):
    """The line of the log that explains why TRex did not start."""

    line: str
    meaning: str


def _symptom(pattern: str, meaning: str) -> Symptom:
    return Symptom(re.compile(pattern, re.IGNORECASE), meaning)


SYMPTOMS = (
    _symptom(
        r"hugepage|huge page|cannot reserve memory|not enough memory|cannot allocate memory|cannot mmap memory"
        r"|failed creating .* mbuf pool",
        "it got no memory; give the kernel huge pages (`sysctl vm.nr_hugepages=1024`), or change trex.start.memory and "
        "trex.start.mbuf_factor",
    ),
    _symptom(
        r"already in use|(is )?used by (another|the following) (process|program|trex)|another (instance|trex)",
        "its ports are in use by another TRex or a similar program; end that program, or set other ports "
        "(trex.rpc_port, trex.publish_port)",
    ),
    _symptom(
        r"mix of vdev and pdev|both --vdev and another interface type",
        "trex.start.interfaces has both PCI addresses and names of interfaces; use one kind",
    ),
    _symptom(
        r"(not found in|could not find|cannot find|unknown|no such) .{0,30}(interface|device|pci|nic|ethernet ports)"
        r"|is not a valid pci|could not find requested|[0-9a-f]{2}:[0-9a-f]{2}\.\d does not exist"
        r"|ports available\. you are trying to use",
        "it finds no such interface; list the interfaces with ./dpdk_setup_ports.py -t in its directory, and set "
        "them in trex.start.interfaces",
    ),
    _symptom(
        r"all devices? should have the same type|all drivers should be from one vendor",
        "its ports are of cards with different drivers; use cards of one kind",
    ),
    _symptom(
        r"issue.?528|528.issue|x710.*kernel|i40e interface .* is under linux",
        "other ports of the same card are used by the kernel's i40e driver; see trex.start.i40e_mixed",
    ),
    _symptom(
        r"is active|used by linux|has an? (ip|route)|under linux",
        "the kernel uses the interface; remove its address, or unbind it",
    ),
    _symptom(
        r"bind.*(fail|error)|(fail|error|could not|unable to).*bind|fail.*(igb_uio|vfio|uio module)",
        "the card could not be bound to a DPDK driver; bind it by hand (dpdk-devbind.py --bind=vfio-pci), or set "
        "trex.start.software: true with names of interfaces",
    ),
    _symptom(
        r"in platform section|thread .*(higher than max|defined twice|already defined)|number of threads .*per dual",
        "trex.start.platform does not list the threads that trex.start.cores requires; list that many, or lower cores",
    ),
    _symptom(
        r"number of cores should be 1 |reduce (the )?number of (dp )?cores",
        "its cards have fewer queues than it has threads; lower trex.start.cores",
    ),
    _symptom(
        r"you have (only )?\d+ (threads?|cores?) available|number of cores should be at least|enough (physical )?cores"
        r"|core \d+ (is )?(unavailable|not available|not detected)|invalid core ?(list|mask)"
        r"|require +\d+ dp cores|should have at least \d+ cores",
        "it has too few CPUs for its threads: one for the server, one for latency, and trex.start.cores for each pair "
        "of ports; lower trex.start.cores, or set trex.start.low_end, with which all share one CPU",
    ),
    _symptom(
        r"must add the flag --software",
        "the card cannot filter as TRex requires; set trex.start.software: true",
    ),
    _symptom(
        r"run .* as root|must be root|superuser|permission denied|operation not permitted",
        "it must be started by root",
    ),
    _symptom(r"link.*(is )?down|wait.*link", "a port has no link; connect the cable, or bring the other end up"),
    _symptom(
        r"unrecognized option|unknown option|invalid option|unrecognized arguments|option \S+ is not recognized",
        "this release does not know an option that nodrop uses; install v2.89 or later",
    ),
    _symptom(r"glibc|error while loading shared libraries|exec format error", "it is built for another system"),
)


def diagnose(log: str) -> str:
    """Return the cause that a log names, with its line, and the log's last lines."""
    lines = _list_messages(log)
    if not lines:
        return "its log is empty"
    cause = _find_cause(lines)
    quoted = "\n".join(f"    {line}" for line in lines[-LAST_LINES:])
    return f"{f'{cause.meaning} ({cause.line.strip()}); ' if cause else ''}its log ends:\n{quoted}"


def _list_messages(log: str) -> list[str]:
    """Return the log without empty lines, the command line, and the lists of options that DPDK and TRex print."""
    messages, is_usage = [], False
    for line in map(str.rstrip, COLORS.sub("", log).splitlines()):
        is_usage = bool(USAGE.match(line)) or (is_usage and line[:1] in ("", " ", "\t"))
        if line and not is_usage and not line.startswith(PROMPT):
            messages.append(line)
    return messages


def _find_cause(lines: Sequence[str]) -> Cause | None:
    """Return the last line that matches a symptom; None if none does."""
    matches = (
        Cause(line, known.meaning) for line in reversed(lines) for known in SYMPTOMS if known.pattern.search(line)
    )
    return next(matches, None)
