"""Which results are wanted, of all there are."""

from pydantic import Field

from nodrop.model.base import Value

NEWEST, OLDEST = "newest", "oldest"


class ResultFilter(Value):
    """Every condition holds at once; None and empty ask nothing. Texts may have `*` for any letters."""

    run_ids: tuple[str, ...] = ()
    """Only these."""
    label: str | None = None
    tags: tuple[str, ...] = ()
    """All of them."""
    chain_count: int | None = None
    path: str | None = None
    """`PVP`, `PVVP` or `EXT`."""
    frame_size: str | None = None
    """As `64` or `IMIX`."""
    since: str | None = None
    """Began then or later: UTC, ISO 8601."""
    until: str | None = None
    """Began before then."""
    host: str | None = None
    sut: str | None = None
    status: str | None = None
    source: str | None = None
    """Who measured: `nodrop`, `nfvbench`, `trex`."""
    text: str | None = None
    """Is somewhere in run id, label, SUT, host or a tag."""
    sort: str = NEWEST
    """`newest`, `oldest`, `label`, `sut`, `host`, or the key of a measure, as `ndr`: the best first."""
    limit: int | None = Field(default=None, ge=1)
    """So many at most; None: all."""
    offset: int = Field(default=0, ge=0)
    """So many are skipped."""
    everywhere: bool = False
    """Whether results in other directories count too, where one database is for several."""
