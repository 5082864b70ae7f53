"""Programs that carry out events of a trial: commands of the user, and live migrations by libvirt's virsh."""

import os
import re
import subprocess
from collections.abc import Sequence

from nodrop.errors import StageError
from nodrop.model.trial_event import LibvirtMigration, PlannedEvent

STATISTICS_TIMEOUT_S = 10.0
"""Longest wait for libvirt's statistics of a completed migration."""

_DOWNTIME = re.compile(r"^Total downtime:\s*(\d+)\s+ms\s*$", re.MULTILINE)


def run_event_program(event: PlannedEvent, timeout_s: float) -> None:
    """Run the program of an event until it ends. Raises StageError if it fails, or takes longer than the timeout."""
    command = build_migrate_command(event.migration) if event.migration else event.command
    try:
        done = _run(command, timeout_s)
    except subprocess.TimeoutExpired:
        raise StageError(
            f"event '{event.name}': no end within {timeout_s:g} s; use a longer trial, or a command that returns"
        ) from None
    except OSError as error:
        advice = "; install libvirt's clients" if event.migration else ""
        raise StageError(f"event '{event.name}': cannot run {command[0]} ({error.strerror}){advice}") from None
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise StageError(f"event '{event.name}': exit status {done.returncode}{f': {last[0]}' if last else ''}")


def build_migrate_command(migration: LibvirtMigration) -> tuple[str, ...]:
    """Return the command of a live migration."""
    options = ("--live", *migration.options)
    return "virsh", "--connect", migration.from_uri, "migrate", *options, migration.domain, migration.to_uri


def read_guest_pause_s(migration: LibvirtMigration) -> float | None:
    """Return for how long the guest was paused by a completed migration, in seconds; None if libvirt has no figure.

    The host that received the guest has it, and the first one as long as it keeps the definition of the guest. After a
    migration from peer to peer, this machine may reach the first one only.
    """
    for uri in (migration.to_uri, migration.from_uri):
        words = ("virsh", "--connect", uri, "domjobinfo", "--completed", migration.domain)
        try:
            done = _run(words, STATISTICS_TIMEOUT_S)
        except (subprocess.TimeoutExpired, OSError):
            continue
        if (pause_s := parse_guest_pause_s(done.stdout)) is not None:
            return pause_s
    return None


def parse_guest_pause_s(statistics: str) -> float | None:
    """Return the downtime of the output of `virsh domjobinfo --completed`, in seconds; None without one."""
    found = _DOWNTIME.search(statistics)
    return int(found[1]) / 1e3 if found else None


def _run(command: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
        env=os.environ | {"LC_ALL": "C"} if command[0] == "virsh" else None,
    )
