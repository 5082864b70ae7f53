"""The section `ship`: destinations of logs, events and results in addition to result.json."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.model.shipping import LogFormat, Tls
from nodrop.units import parse_seconds


def _parse_tls(value: object) -> object:
    """Convert `true` to TLS with defaults, `false` to none."""
    if isinstance(value, bool):
        return {} if value else None
    return value


def _parse_list(value: object) -> object:
    """Convert a single destination to a list, null to an empty list."""
    if value is None:
        return ()
    return (value,) if isinstance(value, (Mapping, FluentdConfig)) else value


def _parse_tag(value: object) -> object:
    return value or None


FilePath = Annotated[str, Field(min_length=1)]
Tag = Annotated[str | None, BeforeValidator(_parse_tag)]
Wait = Annotated[float, Field(ge=0, le=600), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
Id = Annotated[int, Field(ge=0, le=2**32 - 2)]


class FluentdConfig(Value):
    """A Fluentd or Fluent Bit server, see docs/how-to/ship-results.md. Secrets are read from files."""

    logging_tag: Tag = None
    """Tag of log records, e.g. `nodrop`; null: none are sent."""
    result_tag: Tag = None
    """Tag of result records, e.g. `resultnodrop`; null: none are sent."""
    ip: str = Field(default="127.0.0.1", min_length=1)
    """Address or host name of the server."""
    port: int = Field(default=24224, ge=1, le=65535)
    """TCP port; 1 to 65535."""
    tls: Annotated[Tls | None, BeforeValidator(_parse_tls, json_schema_input_type=Tls | bool | None)] = None
    """Encryption of the connection: `true`, or keys, e.g. `{ca_file: ca.pem}`."""
    shared_key_file: FilePath | None = None
    """File whose first line is the shared key of the server's `<security>` section; null: no shared key."""
    username: str | None = Field(default=None, min_length=1)
    """User name, if that section requires users."""
    password_file: FilePath | None = None
    """File whose first line is the user's password."""


class ShipConfig(Value):
    """Destinations of logs, events and results in addition to result.json."""

    fluentd: Annotated[
        tuple[FluentdConfig, ...],
        BeforeValidator(_parse_list, json_schema_input_type=list[FluentdConfig] | FluentdConfig | None),
    ] = ()
    """Servers that receive logs and results by the Fluentd forward protocol, a list of `{logging_tag, result_tag, ip,
    port}`."""
    buffer_dir: FilePath | None = None
    """Directory that buffers records while a server is unreachable; null: `nodrop/ship` in $XDG_STATE_HOME or
    ~/.local/state."""
    buffer_bytes: int = Field(default=64 * 2**20, ge=2**16)
    """Size limit of the buffer for each server, in bytes, from 65536. Further records are dropped, and the run reports
    their number."""
    wait: Wait = 5.0
    """How long the run waits at its end for records to be delivered, e.g. `5s`; up to 10 minutes. The rest stays in the
    buffer."""
    events_file: FilePath | None = None
    """File to which every event of the run is appended as a line of JSON; null: none."""
    openmetrics_file: FilePath | None = None
    """File for the metrics of the run, read by the textfile collector of Prometheus' node_exporter; null: none."""
    log_file: FilePath | None = None
    """File to which the log is appended; null: none."""
    log_format: LogFormat = "text"
    """Format of log lines: `text`, or `json` with one object per line."""
    debug: bool = False
    """Log debug messages."""
    user_id: Id | None = None
    """User ID of the owner of these files; null: the user of the process."""
    group_id: Id | None = None
    """Group ID of these files; null: the group of the process."""
