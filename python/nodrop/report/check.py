"""Whether a host is ready, as a person reads it: what fails first and how to mend it, then what is not known."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from nodrop.model.hostcheck import RECORD_PREFIX, CheckProfile, HostCheck, compute_score
from nodrop.report.markdown import escape_markdown

INDENT = " " * 6
LABEL = 7
STYLES = {"pass": "green", "fail": "bold red", "unknown": "yellow", "not required": "dim"}


def format_checks(checks: Sequence[HostCheck], who: str, profile: CheckProfile, width: int) -> Iterator[Text]:
    """All checks in short.

    Args:
        checks: of one host.
        who: which host.
        profile: what it was held against.
        width: columns there are; commands are not broken and may be longer.
    """
    yield Text(f"Is {who} ready for a {profile.replace('-', ' ')}? ETSI GS NFV-PER 001, clauses 6 and 7", style="bold")
    yield from _wrapped(format_score(checks), width, "")
    failed = [each for each in checks if each.status == "fail"]
    for is_required, title in ((True, "Fails, and is required"), (False, "Fails, and is advised")):
        chosen = [each for each in failed if each.required is is_required]
        if chosen:
            yield Text()
            yield Text(title, style="bold red" if is_required else "bold yellow")
        for each in chosen:
            yield from _failed(each, width)
    yield from _unknown([each for each in checks if each.status == "unknown" and not _is_record(each)], width)
    yield Text()
    if any(each.status in ("fail", "unknown") for each in checks):
        yield Text("`nodrop host check ID` says why a check matters, and how to verify that it is mended.", style="dim")
    yield from _listed("Passes", [each for each in checks if each.status == "pass" and not _is_record(each)], width)
    yield from _listed("Not required here", [each for each in checks if each.status == "not required"], width)
    yield from _recorded([each for each in checks if _is_record(each)], width)


def format_check_details(checks: Iterable[HostCheck], width: int) -> Iterator[Text]:
    """Some checks with all there is to say of them."""
    for position, each in enumerate(checks):
        if position:
            yield Text()
        yield Text.assemble(
            (f"{each.id:<5} ", "bold"),
            (each.title, "bold"),
            "  ",
            (each.status, STYLES[each.status]),
            f"  {_rank(each)}",
        )
        yield from _evidence(each, width)
        yield from _labelled("why", each.why, width)
        yield from _remedy(each, width)


def format_score(checks: Iterable[HostCheck]) -> str:
    """The score in a sentence or two."""
    told = tuple(checks)
    found = compute_score(told)
    decided = found.passed + found.failed
    ratio = found.ratio
    share = "" if ratio is None else f" ({ratio:.0%})"
    rest = f"{found.unknown} unknown count as neither" if found.unknown else "none is unknown"
    failed, unknown = sum(each.failed for each in told), sum(each.open for each in told)
    required = f"Of those required, {failed or 'none'} {_verb(failed)}, {unknown or 'none'} unknown."
    return f"{found.passed} of {decided} checks that could be decided pass{share}; {rest}. {required}"


def render_check_markdown(checks: Sequence[HostCheck], who: str, profile: CheckProfile) -> str:
    """All checks as a page for a wiki."""
    lines = [
        f"# Is {escape_markdown(who)} ready for a {profile.replace('-', ' ')}?",
        "",
        f"ETSI GS NFV-PER 001, clauses 6 and 7. {escape_markdown(format_score(checks))}",
        "",
        "| check | | status | found | what to do |",
        "|---|---|---|---|---|",
    ]
    order = ("fail", "unknown", "pass", "not required")
    for each in sorted(checks, key=lambda one: (order.index(one.status), not one.required)):
        found = "<br>".join(
            escape_markdown(f"{one.value} ({one.source})" if one.source else one.value) for one in each.evidence
        )
        command = (f"`{each.fix}`".replace("|", "\\|"),) if each.fix else ()
        do = "<br>".join((*command, *(escape_markdown(text) for text in (each.by_hand, each.to_know) if text)))
        rank = "" if each.required or each.status == "not required" else " (advised)"
        lines.append(f"| {each.id} | {escape_markdown(each.title)}{rank} | {each.status} | {found} | {do} |")
    return "\n".join(lines) + "\n"


def _is_record(check: HostCheck) -> bool:
    return check.id.startswith(RECORD_PREFIX)


def _rank(check: HostCheck) -> str:
    where = check.clause if check.clause[0].isalpha() else f"clause {check.clause}"
    return where if check.status == "not required" else f"{'required' if check.required else 'advised'}, {where}"


def _verb(count: int) -> str:
    return "fails" if count in (0, 1) else "fail"


def _failed(check: HostCheck, width: int) -> Iterator[Text]:
    yield Text.assemble((f"{check.id:<5} {check.title}", "bold"), (f"  {_rank(check)}", "dim"))
    yield from _evidence(check, width)
    if check.required:
        yield from _labelled("why", check.why, width)
    yield from _mend(check, width)


def _evidence(check: HostCheck, width: int) -> Iterator[Text]:
    for position, each in enumerate(check.evidence):
        source = f"  [{each.source}]" if each.source else ""
        yield from _labelled("" if position else "found", f"{each.value}{source}", width)


def _remedy(check: HostCheck, width: int) -> Iterator[Text]:
    yield from _mend(check, width)
    if check.to_know:
        yield from _labelled("to know", check.to_know, width)
    if check.verify:
        yield _command("verify", check.verify)


def _mend(check: HostCheck, width: int) -> Iterator[Text]:
    if check.fix:
        yield _command("run", check.fix)
    if check.by_hand:
        yield from _labelled("do", check.by_hand, width)


def _command(label: str, command: str) -> Text:
    """A command on one line, however long: it is there to be copied."""
    return Text.assemble(f"{INDENT}{label:<{LABEL}} ", (command, "cyan"))


def _labelled(label: str, text: str, width: int) -> Iterator[Text]:
    yield from _wrapped(text, width, f"{INDENT}{label:<{LABEL}} ")


def _wrapped(text: str, width: int, lead: str) -> Iterator[Text]:
    for line in textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield Text(line)


def _unknown(checks: Sequence[HostCheck], width: int) -> Iterator[Text]:
    """By what would make them known."""
    if not checks:
        return
    yield Text()
    yield Text("Unknown, which is no pass", style="bold yellow")
    ways = dict.fromkeys(each.to_know for each in checks)
    for way in sorted(ways, key=lambda each: not each):
        alike = [each for each in checks if each.to_know == way]
        yield from _wrapped(f"{way or 'nothing that nodrop knows of would tell'}:", width, "  ")
        for reason in dict.fromkeys(map(_reasons, alike)):
            names = ", ".join(f"{each.id} {each.title}" for each in alike if _reasons(each) == reason)
            yield from _wrapped(f"{names}: {reason}", width, "    ")


def _reasons(check: HostCheck) -> str:
    unknown = (each.value.partition(": unknown, ") for each in check.evidence)
    return "; ".join(dict.fromkeys(why for _, found, why in unknown if found))


def _listed(title: str, checks: Sequence[HostCheck], width: int) -> Iterator[Text]:
    if checks:
        yield Text()
        yield Text(title, style="bold")
        yield from _wrapped(", ".join(f"{each.id} {each.title}" for each in checks), width, "  ")


def _recorded(checks: Sequence[HostCheck], width: int) -> Iterator[Text]:
    if not checks:
        return
    missing = [each for each in checks if each.status != "pass"]
    yield Text()
    yield Text(f"On record, as RFC 8204 section 3.3 asks: {len(checks) - len(missing)} of {len(checks)}", style="bold")
    for each in missing:
        reasons = dict.fromkeys(one.value for one in each.evidence if one.value.startswith("missing"))
        yield from _wrapped(f"{each.title}: {'; '.join(reasons)}", width, f"  {each.id:<4} ")


def dump_checks(checks: Sequence[HostCheck], who: str, profile: CheckProfile) -> str:
    """All checks for a program."""
    found = compute_score(checks)
    whole = {
        "host": who,
        "profile": profile,
        "score": {**found._asdict(), "ratio": found.ratio},
        "checks": [each.model_dump(mode="json") for each in checks],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)
