"""Searches of the results store, from the query of a URL."""

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
"""Text fields; `*` matches any characters except in the path."""
FIELDS = ("text", *TEXTS, "chains", "status", "source", "since", "until", "sort")


class Lookup(NamedTuple):
    """A search of the store."""

    fields: Mapping[str, str]
    """Non-empty fields of the form."""
    page: int

    def filter(self) -> ResultFilter:
        """Return the filter for the index. Raises Problem for an invalid field."""
        get = self.fields.get
        return ResultFilter(
            text=get("text"),
            label=get("label"),
            tags=tuple(get("tag", "").split()),
            sut=get("sut"),
            host=get("host"),
            frame_size=get("frame_size"),
            path=path.upper() if (path := get("path")) else None,
            chain_count=_parse_number(get("chains")),
            status=get("status"),
            source=get("source"),
            since=_parse_day(get("since"), 0),
            until=_parse_day(get("until"), 1),
            sort=get("sort", NEWEST),
            limit=PAGE_ROWS,
            offset=PAGE_ROWS * (self.page - 1),
        )

    @property
    def has_details(self) -> bool:
        """Whether fields other than the search text are set."""
        return bool(set(self.fields) - {"text", "sort"})

    def url(self, **changes: object) -> str:
        """Return the URL of this search with some fields changed; None removes a field."""
        fields = {**self.fields, **({"page": self.page} if self.page > 1 else {}), **changes}
        query = urlencode({name: value for name, value in fields.items() if value not in (None, "")})
        return f"/results?{query}" if query else "/results"


def parse_query(query: Mapping[str, str]) -> Lookup:
    """Parse the query of a URL. Raises Problem for an invalid page number."""
    fields = {name: value for name in FIELDS if (value := query.get(name, "").strip())}
    return Lookup(fields, _parse_number(query.get("page")) or 1)


def _parse_number(text: str | None) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not (number := int(text[:9])) >= 1:
        raise Problem(400, f"{text[:40]!r} is not a number from 1")
    return number


def _parse_day(text: str | None, days_later: int) -> str | None:
    """Return the start of a day, or of a later one."""
    if not text:
        return None
    try:
        day = datetime.fromisoformat(text) + timedelta(days=days_later)
    except (ValueError, OverflowError):
        raise Problem(400, f"{text[:40]!r} is not a date; use e.g. 2026-01-31") from None
    return (day if day.tzinfo else day.replace(tzinfo=UTC)).isoformat()
