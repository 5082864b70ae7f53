"""Programs that carry out events: their commands, their ends, and the statistics of libvirt."""

import os
from pathlib import Path

import pytest

from nodrop.errors import StageError
from nodrop.model.trial_event import LibvirtMigration, parse_event
from nodrop.run.event_program import (
    build_migrate_command,
    parse_guest_pause_s,
    read_guest_pause_s,
    run_event_program,
)

MIGRATION = LibvirtMigration(domain="vnf", from_uri="test:///default", to_uri="qemu+ssh://b/system", options=("--p2p",))
STATISTICS = """\
Job type:         Completed
Operation:        Incoming migration
Time elapsed:     1862         ms
Time elapsed w/o network: 1860         ms
Data processed:   93.421 MiB
Total downtime:   143          ms
Downtime w/o network: 141          ms
"""


def test_a_migration_is_live_and_has_the_options_of_the_user() -> None:
    assert build_migrate_command(MIGRATION) == (
        *("virsh", "--connect", "test:///default", "migrate", "--live", "--p2p", "vnf", "qemu+ssh://b/system"),
    )


def test_the_pause_of_the_guest_is_the_downtime_with_the_network() -> None:
    assert parse_guest_pause_s(STATISTICS) == pytest.approx(0.143)
    assert parse_guest_pause_s("Job type:         None\n") is None


@pytest.fixture
def virsh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a program in place of virsh."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "virsh"


def write_program(place: Path, body: str) -> None:
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(0o755)


@pytest.mark.parametrize("uri", [MIGRATION.to_uri, MIGRATION.from_uri])
def test_the_pause_is_known_to_one_of_both_hosts(virsh: Path, uri: str) -> None:
    write_program(virsh, f"[ \"$2\" = '{uri}' ] || exit 1\ncat <<'END'\n{STATISTICS}END")
    assert read_guest_pause_s(MIGRATION) == pytest.approx(0.143)


def test_without_statistics_the_pause_is_not_known(virsh: Path) -> None:
    write_program(virsh, "exit 1")
    assert read_guest_pause_s(MIGRATION) is None


def test_a_failed_migration_gives_the_last_line_of_virsh(virsh: Path) -> None:
    write_program(virsh, "echo 'error: failed to get domain' >&2\necho >&2\nexit 1")
    event = parse_event("0s migrate vnf qemu:///system qemu+ssh://b/system")
    expected = r"^event 'migrate vnf to qemu\+ssh://b/system': exit status 1: error: failed to get domain$"
    with pytest.raises(StageError, match=expected):
        run_event_program(event, 60.0)


def test_without_virsh_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StageError, match=r"cannot run virsh \(No such file or directory\); install libvirt's clients"):
        run_event_program(parse_event("0s migrate vnf qemu:///system qemu+ssh://b/system"), 60.0)


def test_a_program_that_does_not_return_is_ended() -> None:
    with pytest.raises(StageError, match=r"'sleep 60': no end within 0.1 s; use a longer trial, or a command"):
        run_event_program(parse_event("0s command sleep 60"), 0.1)
