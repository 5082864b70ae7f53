"""Destinations of a run's logs, events and results in addition to result.json."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

LogFormat = Literal["text", "json"]


class Tls(Value):
    """How the connection to an aggregator is encrypted."""

    ca_file: str | None = None
    """Certificate authorities of the server (PEM); None: the system's."""
    verify: bool = True
    """Whether the server's certificate is verified."""
    server_name: str | None = None
    """Expected name in the certificate; None: the address of the connection."""
    certificate_file: str | None = None
    """Client certificate (PEM)."""
    key_file: str | None = None
    """Key of the client certificate (PEM)."""


class Aggregator(Value):
    """A server of the Fluentd forward protocol, with its credentials. Secrets stay in their files."""

    host: str
    port: int
    tls: Tls | None = None
    """None: no encryption."""
    shared_key_file: str | None = None
    """File with the shared key; None: no handshake."""
    username: str | None = None
    """User name, if the server requires one."""
    password_file: str | None = None
    """File with that user's password."""

    @property
    def name(self) -> str:
        """Address and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Forwarding(Value):
    """The records for one aggregator."""

    aggregator: Aggregator
    logging_tag: str | None = None
    """Tag of log records; None: none are sent."""
    result_tag: str | None = None
    """Tag of result records; None: none are sent."""


class ShipPlan(Value):
    """All destinations of a run."""

    forwardings: tuple[Forwarding, ...] = ()
    buffer_dir: str = ""
    """Directory that buffers records for an unreachable aggregator."""
    buffer_bytes_max: int = Field(default=64 * 2**20, ge=2**16)
    """Size limit of the buffer for one aggregator."""
    wait_s: float = Field(default=5.0, ge=0)
    """How long the run waits at its end for records to be delivered."""
    events_file: str | None = None
    """File for every event of the run, as lines of JSON."""
    openmetrics_file: str | None = None
    """File for the metrics of the run, for a textfile collector."""
    log_file: str | None = None
    """Log file."""
    log_format: LogFormat = "text"
    """Format of log lines."""
    debug: bool = False
    """Whether debug messages are logged."""
    user_id: int | None = None
    """Owner of these files; None: the user of the process."""
    group_id: int | None = None
    """Group of these files; None: the group of the process."""
