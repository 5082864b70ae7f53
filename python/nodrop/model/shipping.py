"""Where the logs, events and results of a run go besides its result.json."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

LogFormat = Literal["text", "json"]


class Tls(Value):
    """How the connection to an aggregator is encrypted."""

    ca_file: str | None = None
    """Certificates that the aggregator's has to be signed by (PEM); None: those the system trusts."""
    verify: bool = True
    """Whether its certificate is checked at all."""
    server_name: str | None = None
    """Name its certificate has to be for; None: the address connected to."""
    certificate_file: str | None = None
    """Certificate that nodrop shows (PEM)."""
    key_file: str | None = None
    """Key of that certificate (PEM)."""


class Aggregator(Value):
    """A server of the Fluentd forward protocol, and how it is convinced. Secrets stay in their files."""

    host: str
    port: int
    tls: Tls | None = None
    """None: the connection is not encrypted."""
    shared_key_file: str | None = None
    """File with the key that both sides know; None: no handshake is expected."""
    username: str | None = None
    """User the aggregator knows, where it asks for one."""
    password_file: str | None = None
    """File with that user's password."""

    @property
    def name(self) -> str:
        """Where it listens, as people write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Forwarding(Value):
    """What goes to one aggregator."""

    aggregator: Aggregator
    logging_tag: str | None = None
    """Tag of log records; None: they are not sent."""
    result_tag: str | None = None
    """Tag of result records; None: they are not sent."""


class ShipPlan(Value):
    """Everybody who is told of a run."""

    forwardings: tuple[Forwarding, ...] = ()
    buffer_dir: str = ""
    """Where records wait for an aggregator that is away."""
    buffer_bytes_max: int = Field(default=64 * 2**20, ge=2**16)
    """Room on disk for what waits for one aggregator."""
    wait_s: float = Field(default=5.0, ge=0)
    """How long the end of a run may wait for records to be delivered."""
    events_file: str | None = None
    """Every event of the run goes there, a line of JSON each."""
    openmetrics_file: str | None = None
    """The figures of the run go there for a collector of text files."""
    log_file: str | None = None
    """What happens in the run goes there, a line each."""
    log_format: LogFormat = "text"
    """How those lines look."""
    debug: bool = False
    """Whether the log has the details as well."""
    user_id: int | None = None
    """Owner of the files written here; None: who runs nodrop."""
    group_id: int | None = None
    """Their group; None: that of who runs nodrop."""
