"""Moments as people read them, in UTC: a server and its readers may be in different places."""

from datetime import UTC, datetime

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


def format_time(iso: str) -> str:
    """`2026-01-31 12:00:05`."""
    return f"{_read(iso):%Y-%m-%d %H:%M:%S}"


def format_day(iso: str) -> str:
    """`2026-01-31`."""
    return f"{_read(iso):%Y-%m-%d}"


def format_age(iso: str, now: datetime | None = None) -> str:
    """How long it is past, in one unit: `5 min ago`; after a week the day."""
    passed_s = ((now or datetime.now(UTC)) - _read(iso)).total_seconds()
    if passed_s < MINUTE_S:
        return "just now"
    for unit_s, name, within_s in ((MINUTE_S, "min", HOUR_S), (HOUR_S, "h", DAY_S), (DAY_S, "d", 7 * DAY_S)):
        if passed_s < within_s:
            return f"{passed_s // unit_s:.0f} {name} ago"
    return format_day(iso)


def _read(iso: str) -> datetime:
    read = datetime.fromisoformat(iso)
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
