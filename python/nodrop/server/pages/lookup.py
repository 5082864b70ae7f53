"""A search of the store as it stands in an address: fields of a form, and what they mean."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from nodrop.model.result_filter import NEWEST, ResultFilter
from nodrop.server.rest.problem import Problem

PAGE_ROWS = 50
SORTS = (
    (NEWEST, "newest first"),
    ("oldest", "oldest first"),
    ("ndr", "highest NDR first"),
    ("pdr_0.5%", "highest PDR 0.5 % first"),
    ("latency_p99_at_ndr", "lowest p99 at NDR first"),
    ("label", "by label"),
    ("sut", "by SUT"),
    ("host", "by host"),
)
STATUSES = ("complete", "interrupted", "timed_out", "failed")
SOURCES = ("nodrop", "nfvbench", "trex")
TEXTS = {"label": "Label", "tag": "Tag", "sut": "SUT", "host": "Host", "frame_size": "Frame size", "path": "Path"}
"""Fields that take a text, `*` for any letters but in the path."""
FIELDS = ("text", *TEXTS, "chains", "status", "source", "since", "until", "sort")


class Lookup(NamedTuple):
    """What is looked for."""

    fields: Mapping[str, str]
    """As they were filled in, without the empty ones."""
    page: int

    def filter(self) -> ResultFilter:
        """The same for the index. Raises Problem for what means nothing."""
        get = self.fields.get
        return ResultFilter(
            text=get("text"),
            label=get("label"),
            tags=tuple(get("tag", "").split()),
            sut=get("sut"),
            host=get("host"),
            frame_size=get("frame_size"),
            path=path.upper() if (path := get("path")) else None,
            chain_count=_number(get("chains")),
            status=get("status"),
            source=get("source"),
            since=_day(get("since"), 0),
            until=_day(get("until"), 1),
            sort=get("sort", NEWEST),
            limit=PAGE_ROWS,
            offset=PAGE_ROWS * (self.page - 1),
        )

    @property
    def narrows(self) -> bool:
        """Whether it is more than the search line."""
        return bool(set(self.fields) - {"text", "sort"})

    def address(self, **changed: object) -> str:
        """Where the same is shown with something changed; None takes it away."""
        asked = {**self.fields, **({"page": self.page} if self.page > 1 else {}), **changed}
        query = urlencode({name: value for name, value in asked.items() if value not in (None, "")})
        return f"/results?{query}" if query else "/results"


def parse_query(query: Mapping[str, str]) -> Lookup:
    """What an address asks for. Raises Problem for a page that is no number."""
    fields = {name: value for name in FIELDS if (value := query.get(name, "").strip())}
    return Lookup(fields, _number(query.get("page")) or 1)


def _number(written: str | None) -> int | None:
    if not written:
        return None
    if not written.isascii() or not written.isdigit() or not (number := int(written[:9])) >= 1:
        raise Problem(400, f"{written[:40]!r} asked, a number from 1 expected; go back and write one")
    return number


def _day(written: str | None, days_later: int) -> str | None:
    """The beginning of a day, or of the one after."""
    if not written:
        return None
    try:
        day = datetime.fromisoformat(written) + timedelta(days=days_later)
    except (ValueError, OverflowError):
        raise Problem(400, f"{written[:40]!r} asked, a date expected; write it as 2026-01-31") from None
    return (day if day.tzinfo else day.replace(tzinfo=UTC)).isoformat()
