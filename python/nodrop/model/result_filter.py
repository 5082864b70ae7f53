"""Conditions that select stored results."""

from pydantic import Field

from nodrop.model.base import Value

NEWEST, OLDEST = "newest", "oldest"


class ResultFilter(Value):
    """Conditions, combined with and; None and empty select everything. Text may contain the wildcard `*`."""

    run_ids: tuple[str, ...] = ()
    """Run IDs to select."""
    label: str | None = None
    tags: tuple[str, ...] = ()
    """All of these tags."""
    chain_count: int | None = None
    path: str | None = None
    """`PVP`, `PVVP` or `EXT`."""
    frame_size: str | None = None
    """For example `64` or `IMIX`."""
    since: str | None = None
    """Started at or after this time: UTC, ISO 8601."""
    until: str | None = None
    """Started before this time."""
    host: str | None = None
    sut: str | None = None
    status: str | None = None
    setup: str | None = None
    """Key of the setup, as in a summary."""
    source: str | None = None
    """Program that measured: `nodrop`, `nfvbench`, `trex`."""
    text: str | None = None
    """Text in run ID, label, SUT, host or a tag."""
    sort: str = NEWEST
    """`newest`, `oldest`, `label`, `sut`, `host`, or the key of a measure, e.g. `ndr`: the best first."""
    limit: int | None = Field(default=None, ge=1)
    """Largest number of results; None: all."""
    offset: int = Field(default=0, ge=0)
    """Number of results to skip."""
    everywhere: bool = False
    """Whether to include other directories that share the database."""
