"""Diagnosis of a TRex that did not start, from the end of its log. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

LAST_LINES = 15
COLORS = re.compile(r"\x1b\[[0-9;]*m")


class Symptom(NamedTuple):
    """A pattern in the log and its meaning for the user."""

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
        "its ports are in use by another TRex or a similar program; end that program, or set other ports "
        "(trex.rpc_port, trex.publish_port)",
    ),
    _symptom(
        r"(not found in|could not find|cannot find|unknown|no such) .{0,30}(interface|device|pci|nic)"
        r"|is not a valid pci|could not find requested",
        "it finds no such interface; list the interfaces with ./dpdk_setup_ports.py -t in its directory, and set "
        "them in trex.start.interfaces",
    ),
    _symptom(
        r"issue.?528|528.issue|ignore-528|unbind-unused-ports|x710.*kernel|i40e",
        "other ports of the same card are used by the kernel's i40e driver; see trex.start.i40e_mixed",
    ),
    _symptom(
        r"is active|used by linux|has an? (ip|route)|under linux",
        "the kernel uses the interface; remove its address, or unbind it",
    ),
    _symptom(
        r"bind.*(fail|error)|(fail|error|could not).*bind|igb_uio|vfio|uio module",
        "the card could not be bound to a DPDK driver; bind it by hand (dpdk-devbind.py --bind=vfio-pci), or set "
        "trex.start.software: true with names of interfaces",
    ),
    _symptom(
        r"not enough cores|number of cores|too many (cores|threads)|c value|lcore|core mask",
        "it has too few CPUs for its configuration; lower trex.start.cores",
    ),
    _symptom(r"run .* as root|must be root|permission denied|operation not permitted", "it must be started by root"),
    _symptom(r"link.*(is )?down|wait.*link", "a port has no link; connect the cable, or bring the other end up"),
    _symptom(
        r"unrecognized option|unknown option|invalid option|unrecognized arguments",
        "this release does not know an option that nodrop uses; install v2.89 or later",
    ),
    _symptom(r"glibc|error while loading shared libraries|exec format error", "it is built for another system"),
)


def diagnose(log: str) -> str:
    """Return the meaning of a log's end and its last lines."""
    lines = [line.rstrip() for line in COLORS.sub("", log).splitlines() if line.strip()]
    if not lines:
        return "its log is empty"
    known = _explain(lines)
    quoted = "\n".join(f"    {line}" for line in lines[-LAST_LINES:])
    return f"{known + '; ' if known else ''}its log ends:\n{quoted}"


def _explain(lines: Sequence[str]) -> str:
    """Return the meaning of the last line that matches a symptom; empty if none does."""
    for line in reversed(lines):
        for known in SYMPTOMS:
            if known.pattern.search(line):
                return known.meaning
    return ""
