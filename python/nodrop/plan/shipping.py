"""Destinations of a run's logs, events and results, as absolute paths."""

import os
from collections.abc import Iterator
from pathlib import Path

from nodrop.config.outputs import FluentdConfig, ShipConfig
from nodrop.errors import ConfigError
from nodrop.model.shipping import Aggregator, Forwarding, ShipPlan

TLS_FILES = ("ca_file", "certificate_file", "key_file")


def plan_shipping(ship: ShipConfig) -> ShipPlan:
    """Return the destinations. Raises ConfigError if a required file is unreadable."""
    forwardings = tuple(_build_forwarding(entry, f"ship.fluentd.{at}") for at, entry in enumerate(ship.fluentd))
    tagged = tuple(entry for entry in forwardings if entry.logging_tag or entry.result_tag)
    return ShipPlan(
        forwardings=tagged,
        buffer_dir=(_make_absolute(ship.buffer_dir) or str(default_buffer_dir())) if tagged else "",
        buffer_bytes_max=ship.buffer_bytes,
        wait_s=ship.wait,
        events_file=_make_absolute(ship.events_file),
        openmetrics_file=_make_absolute(ship.openmetrics_file),
        log_file=_make_absolute(ship.log_file),
        log_format=ship.log_format,
        debug=ship.debug,
        user_id=ship.user_id,
        group_id=ship.group_id,
    )


def default_buffer_dir() -> Path:
    """Return the default directory of buffered records. Source: XDG Base Directory Specification 0.8."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "nodrop" / "ship"


def _build_forwarding(entry: FluentdConfig, key: str) -> Forwarding:
    for file_key, file in _list_files(entry):
        _require_readable(f"{key}.{file_key}", file)
    _check_pairs(entry, key)
    tls = entry.tls and entry.tls.replace(**{name: _make_absolute(getattr(entry.tls, name)) for name in TLS_FILES})
    aggregator = Aggregator(
        host=entry.ip,
        port=entry.port,
        tls=tls,
        shared_key_file=_make_absolute(entry.shared_key_file),
        username=entry.username,
        password_file=_make_absolute(entry.password_file),
    )
    return Forwarding(aggregator=aggregator, logging_tag=entry.logging_tag, result_tag=entry.result_tag)


def _check_pairs(entry: FluentdConfig, key: str) -> None:
    if (entry.username is None) != (entry.password_file is None):
        raise ConfigError(f"{key}: only one of username and password_file is set; write both or none")
    if entry.username and not entry.shared_key_file:
        raise ConfigError(f"{key}.username: users require a shared key ({entry.username!r}); write shared_key_file")
    if entry.tls and entry.tls.key_file and not entry.tls.certificate_file:
        raise ConfigError(f"{key}.tls.key_file: set without certificate_file; write the file of its certificate")


def _list_files(entry: FluentdConfig) -> Iterator[tuple[str, str]]:
    for name in ("shared_key_file", "password_file"):
        if file := getattr(entry, name):
            yield name, file
    for name in TLS_FILES:
        if entry.tls and (file := getattr(entry.tls, name)):
            yield f"tls.{name}", file


def _require_readable(key: str, file: str) -> None:
    try:
        with Path(file).open("rb") as opened:
            opened.read(1)
    except OSError as error:
        raise ConfigError(f"{key}: cannot read the file ({file}: {error.strerror}); name a readable file") from None


def _make_absolute(file: str | None) -> str | None:
    return str(Path(file).absolute()) if file else None
