"""The readiness of a host as text: failed checks with their fixes, then unknown ones, then the rest."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from nodrop.model.hostcheck import RECORD_PREFIX, CheckProfile, HostCheck, compute_score
from nodrop.report.markdown import escape_markdown

INDENT = " " * 6
LABEL = 7
STYLES = {"pass": "green", "fail": "bold red", "unknown": "yellow", "not required": "dim"}


def format_checks(checks: Sequence[HostCheck], host_name: str, profile: CheckProfile, width: int) -> Iterator[Text]:
    """Yield all checks in short.

    Args:
        checks: the checks of one host.
        host_name: the name of the host.
        profile: the profile of the checks.
        width: columns of the terminal; commands are not broken and may be longer.
    """
    yield Text(
        f"Is {host_name} ready for a {profile.replace('-', ' ')}? ETSI GS NFV-PER 001, clauses 6 and 7", style="bold"
    )
    yield from _wrap(format_score(checks), width, "")
    failed = [each for each in checks if each.status == "fail"]
    for is_required, title in ((True, "Failed, required"), (False, "Failed, advised")):
        group = [each for each in failed if each.required is is_required]
        if group:
            yield Text()
            yield Text(title, style="bold red" if is_required else "bold yellow")
        for each in group:
            yield from _format_failure(each, width)
    yield from _format_unknowns([each for each in checks if each.status == "unknown" and not _is_record(each)], width)
    yield Text()
    if any(each.status in ("fail", "unknown") for each in checks):
        yield Text("'nodrop host check ID' explains why a check matters and how to verify a fix.", style="dim")
    yield from _format_names(
        "Passed", [each for each in checks if each.status == "pass" and not _is_record(each)], width
    )
    yield from _format_names("Not required here", [each for each in checks if each.status == "not required"], width)
    yield from _format_records([each for each in checks if _is_record(each)], width)


def format_check_details(checks: Iterable[HostCheck], width: int) -> Iterator[Text]:
    """Yield some checks in full."""
    for position, each in enumerate(checks):
        if position:
            yield Text()
        yield Text.assemble(
            (f"{each.id:<5} ", "bold"),
            (each.title, "bold"),
            "  ",
            (each.status, STYLES[each.status]),
            f"  {_format_rank(each)}",
        )
        yield from _format_evidence(each, width)
        yield from _wrap_labeled("why", each.why, width)
        yield from _format_remedy(each, width)


def format_score(checks: Iterable[HostCheck]) -> str:
    """Return the score in one or two sentences."""
    listed = tuple(checks)
    score = compute_score(listed)
    decided = score.passed + score.failed
    ratio = score.ratio
    share = "" if ratio is None else f" ({ratio:.0%})"
    rest = f"{score.unknown} unknown count as neither" if score.unknown else "none is unknown"
    failed, unknown = sum(each.failed for each in listed), sum(each.open for each in listed)
    required = f"Required checks: {failed or 'none'} failed, {unknown or 'none'} unknown."
    return f"{score.passed} of {decided} decided checks pass{share}; {rest}. {required}"


def render_check_markdown(checks: Sequence[HostCheck], host_name: str, profile: CheckProfile) -> str:
    """Return all checks as a Markdown page."""
    lines = [
        f"# Is {escape_markdown(host_name)} ready for a {profile.replace('-', ' ')}?",
        "",
        f"ETSI GS NFV-PER 001, clauses 6 and 7. {escape_markdown(format_score(checks))}",
        "",
        "| check | | status | evidence | fix |",
        "|---|---|---|---|---|",
    ]
    order = ("fail", "unknown", "pass", "not required")
    for each in sorted(checks, key=lambda one: (order.index(one.status), not one.required)):
        evidence = "<br>".join(
            escape_markdown(f"{one.value} ({one.source})" if one.source else one.value) for one in each.evidence
        )
        command = (f"`{each.fix}`".replace("|", "\\|"),) if each.fix else ()
        fix = "<br>".join((*command, *(escape_markdown(text) for text in (each.by_hand, each.to_know) if text)))
        rank = "" if each.required or each.status == "not required" else " (advised)"
        lines.append(f"| {each.id} | {escape_markdown(each.title)}{rank} | {each.status} | {evidence} | {fix} |")
    return "\n".join(lines) + "\n"


def _is_record(check: HostCheck) -> bool:
    return check.id.startswith(RECORD_PREFIX)


def _format_rank(check: HostCheck) -> str:
    source = check.clause if check.clause[0].isalpha() else f"clause {check.clause}"
    return source if check.status == "not required" else f"{'required' if check.required else 'advised'}, {source}"


def _format_failure(check: HostCheck, width: int) -> Iterator[Text]:
    yield Text.assemble((f"{check.id:<5} {check.title}", "bold"), (f"  {_format_rank(check)}", "dim"))
    yield from _format_evidence(check, width)
    if check.required:
        yield from _wrap_labeled("why", check.why, width)
    yield from _format_fix(check, width)


def _format_evidence(check: HostCheck, width: int) -> Iterator[Text]:
    for position, each in enumerate(check.evidence):
        source = f"  [{each.source}]" if each.source else ""
        yield from _wrap_labeled("" if position else "found", f"{each.value}{source}", width)


def _format_remedy(check: HostCheck, width: int) -> Iterator[Text]:
    yield from _format_fix(check, width)
    if check.to_know:
        yield from _wrap_labeled("to know", check.to_know, width)
    if check.verify:
        yield _format_command("verify", check.verify)


def _format_fix(check: HostCheck, width: int) -> Iterator[Text]:
    if check.fix:
        yield _format_command("run", check.fix)
    if check.by_hand:
        yield from _wrap_labeled("do", check.by_hand, width)


def _format_command(label: str, command: str) -> Text:
    """Return a command on one line of any length, for copying."""
    return Text.assemble(f"{INDENT}{label:<{LABEL}} ", (command, "cyan"))


def _wrap_labeled(label: str, text: str, width: int) -> Iterator[Text]:
    yield from _wrap(text, width, f"{INDENT}{label:<{LABEL}} ")


def _wrap(text: str, width: int, lead: str) -> Iterator[Text]:
    for line in textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield Text(line)


def _format_unknowns(checks: Sequence[HostCheck], width: int) -> Iterator[Text]:
    """Yield unknown checks by the way to decide them."""
    if not checks:
        return
    yield Text()
    yield Text("Unknown (not passed)", style="bold yellow")
    ways = dict.fromkeys(each.to_know for each in checks)
    for way in sorted(ways, key=lambda each: not each):
        alike = [each for each in checks if each.to_know == way]
        yield from _wrap(f"{way or 'no known way to decide'}:", width, "  ")
        for reason in dict.fromkeys(map(_join_reasons, alike)):
            names = ", ".join(f"{each.id} {each.title}" for each in alike if _join_reasons(each) == reason)
            yield from _wrap(f"{names}: {reason}", width, "    ")


def _join_reasons(check: HostCheck) -> str:
    unknown = (each.value.partition(": unknown, ") for each in check.evidence)
    return "; ".join(dict.fromkeys(why for _, separator, why in unknown if separator))


def _format_names(title: str, checks: Sequence[HostCheck], width: int) -> Iterator[Text]:
    if checks:
        yield Text()
        yield Text(title, style="bold")
        yield from _wrap(", ".join(f"{each.id} {each.title}" for each in checks), width, "  ")


def _format_records(checks: Sequence[HostCheck], width: int) -> Iterator[Text]:
    if not checks:
        return
    missing = [each for each in checks if each.status != "pass"]
    yield Text()
    yield Text(f"Recorded for RFC 8204 section 3.3: {len(checks) - len(missing)} of {len(checks)}", style="bold")
    for each in missing:
        reasons = dict.fromkeys(one.value for one in each.evidence if one.value.startswith("missing"))
        yield from _wrap(f"{each.title}: {'; '.join(reasons)}", width, f"  {each.id:<4} ")


def dump_checks(checks: Sequence[HostCheck], host_name: str, profile: CheckProfile) -> str:
    """Return all checks as JSON."""
    score = compute_score(checks)
    content = {
        "host": host_name,
        "profile": profile,
        "score": {**score._asdict(), "ratio": score.ratio},
        "checks": [each.model_dump(mode="json") for each in checks],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)
