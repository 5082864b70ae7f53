"""Why a TRex did not start, from the end of its log. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

LAST_LINES = 15
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Symptom(NamedTuple):
    """What a log may say, and what that means for who reads it."""

    pattern: re.Pattern[str]
    meaning: str


def _symptom(pattern: str, meaning: str) -> Symptom:
    return Symptom(re.compile(pattern, re.IGNORECASE), meaning)


SYMPTOMS = (
    _symptom(
        r"hugepage|huge page|cannot reserve memory|not enough memory|cannot allocate memory",
        "it got no memory; give the kernel huge pages (`sysctl vm.nr_hugepages=1024`) or lower trex.start.memory",
    ),
    _symptom(
        r"already in use|used by another (process|program|trex)|another (instance|trex)",
        "its ports are in use; another TRex or a program like it runs: end that, or write other ports "
        "(trex.rpc_port, trex.publish_port)",
    ),
    _symptom(
        r"(not found in|could not find|cannot find|unknown|no such) .{0,30}(interface|device|pci|nic)"
        r"|is not a valid pci|could not find requested",
        "it knows no such interface; see which there are with ./dpdk_setup_ports.py -t in its folder, and write those "
        "in trex.start.interfaces",
    ),
    _symptom(
        r"issue.?528|528.issue|ignore-528|unbind-unused-ports|x710.*kernel|i40e",
        "other ports of the same card are used by the kernel's i40e driver; see trex.start.i40e_mixed",
    ),
    _symptom(
        r"is active|used by linux|has an? (ip|route)|under linux",
        "the kernel uses the interface; take its address away, or unbind it",
    ),
    _symptom(
        r"bind.*(fail|error)|(fail|error|could not).*bind|igb_uio|vfio|uio module",
        "the card could not be bound to a driver for DPDK; bind it by hand (dpdk-devbind.py --bind=vfio-pci), or write "
        "trex.start.software: true with names of interfaces",
    ),
    _symptom(
        r"not enough cores|number of cores|too many (cores|threads)|c value|lcore|core mask",
        "it has too few CPUs for what was asked; lower trex.start.cores",
    ),
    _symptom(r"run .* as root|must be root|permission denied|operation not permitted", "it has to be started by root"),
    _symptom(r"link.*(is )?down|wait.*link", "a port has no link; plug the cable, or bring the other end up"),
    _symptom(
        r"unrecognized option|unknown option|invalid option|unrecognized arguments",
        "this release does not know an option nodrop uses; install v2.89 or later",
    ),
    _symptom(r"glibc|error while loading shared libraries|exec format error", "it is not built for this system"),
)


def diagnose(log: str) -> str:
    """What the log's end says, as a clause and its last sockets; empty for an empty log."""
    sockets = [line.rstrip() for line in COLOURS.sub("", log).splitlines() if line.strip()]
    if not sockets:
        return "its log is empty"
    known = _explain(sockets)
    quoted = "\n".join(f"    {line}" for line in sockets[-LAST_LINES:])
    return f"{known + '; ' if known else ''}its log ends:\n{quoted}"


def _explain(sockets: Sequence[str]) -> str:
    """Of the last line that is known."""
    for line in reversed(sockets):
        for known in SYMPTOMS:
            if known.pattern.search(line):
                return known.meaning
    return ""
