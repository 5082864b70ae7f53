"""The reference page of host checks agrees with the code."""

from collections.abc import Iterator
from pathlib import Path

from nodrop.formatting.flags import DISTURBANCES
from nodrop.host.check import CHECK_RULES
from nodrop.host.check.disturbances import DISTURBANCE_CAUSES
from nodrop.host.check.rfc8204 import RECORD_ITEMS

PAGE = Path(__file__).parents[2] / "docs/reference/host-checks.md"


def check_rows() -> Iterator[str]:
    for rule in CHECK_RULES:
        data = "not required" if not rule.judge else "required" if rule.required else "advised"
        control = data if rule.control_plane else "not required"
        yield f"| {rule.id} | {rule.title} | {rule.clause} | {data} | {control} | {rule.why} |"


def record_rows() -> Iterator[str]:
    yield from (f"| {item.id} | {item.title} |" for item in RECORD_ITEMS)


def cause_rows() -> Iterator[str]:
    for code, cause in DISTURBANCE_CAUSES.items():
        yield f"| `{code}` | {DISTURBANCES[code]} | {' '.join(cause.checks)} |"


def test_every_check_is_in_the_page_as_it_is_in_the_code():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for rows in (check_rows(), record_rows(), cause_rows()):
        expected = list(rows)
        start = lines.index(expected[0])
        assert lines[start : start + len(expected)] == expected
        assert not lines[start + len(expected)].startswith("|")
