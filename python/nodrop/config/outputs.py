"""Where logs, events and results go besides the result's own file: what a user may write."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.model.shipping import LogFormat, Tls
from nodrop.units import parse_seconds


def _tls(written: object) -> object:
    """`true` is TLS with nothing said about it, `false` is none."""
    if isinstance(written, bool):
        return {} if written else None
    return written


def _listed(written: object) -> object:
    """One destination may stand without a list around it; null is none."""
    if written is None:
        return ()
    return (written,) if isinstance(written, (Mapping, FluentdConfig)) else written


def _tag(written: object) -> object:
    return written or None


FilePath = Annotated[str, Field(min_length=1)]
Tag = Annotated[str | None, BeforeValidator(_tag)]
Wait = Annotated[float, Field(ge=0, le=600), BeforeValidator(parse_seconds, json_schema_input_type=float | str)]
Id = Annotated[int, Field(ge=0, le=2**32 - 2)]


class FluentdConfig(Value):
    """A Fluentd or Fluent Bit to send to, see docs/how-to/ship-results.md. Secrets are named by file."""

    logging_tag: Tag = None
    """Tag of log records, as `nodrop`; null: none are sent."""
    result_tag: Tag = None
    """Tag of result records, as `resultnodrop`; null: none are sent."""
    ip: str = Field(default="127.0.0.1", min_length=1)
    """Address or host name of the aggregator."""
    port: int = Field(default=24224, ge=1, le=65535)
    """Its TCP port; 1 to 65535."""
    tls: Annotated[Tls | None, BeforeValidator(_tls, json_schema_input_type=Tls | bool | None)] = None
    """Whether and how the connection is encrypted: `true`, or keys as `{ca_file: ca.pem}`."""
    shared_key_file: FilePath | None = None
    """File whose first line is the key that the aggregator's `<security>` section asks for; null: it has none."""
    username: str | None = Field(default=None, min_length=1)
    """User name, where that section asks for users as well."""
    password_file: FilePath | None = None
    """File whose first line is that user's password."""


class ShipConfig(Value):
    """What is told of a run, to whom, besides its result.json."""

    fluentd: Annotated[
        tuple[FluentdConfig, ...],
        BeforeValidator(_listed, json_schema_input_type=list[FluentdConfig] | FluentdConfig | None),
    ] = ()
    """Aggregators that get logs and results by the Fluentd forward protocol, a list of `{logging_tag, result_tag, ip,
    port}`."""
    buffer_dir: FilePath | None = None
    """Directory where records wait while an aggregator is away; null: `nodrop/ship` in $XDG_STATE_HOME or
    ~/.local/state."""
    buffer_bytes: int = Field(default=64 * 2**20, ge=2**16)
    """Most that may wait there for each aggregator, in bytes, from 65536. What comes when it is full is not kept, and
    the run says how much."""
    wait: Wait = 5.0
    """How long the end of a run waits for what has not arrived yet, as `5s`; up to 10 minutes. The rest stays on
    disk."""
    events_file: FilePath | None = None
    """File to which every event of the run is added, a line of JSON each; null: none."""
    openmetrics_file: FilePath | None = None
    """File that gets the figures of the run, for the text file collector of Prometheus' node_exporter; null: none."""
    log_file: FilePath | None = None
    """File to which the log is added; null: none."""
    log_format: LogFormat = "text"
    """How its lines look: `text`, or `json`, an object each."""
    debug: bool = False
    """Whether the log has the details as well."""
    user_id: Id | None = None
    """Owner of the files that these keys name, as a number; null: who runs nodrop."""
    group_id: Id | None = None
    """Their group, as a number; null: that of who runs nodrop."""
