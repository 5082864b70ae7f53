"""What to know before figures are believed, in plain words."""

from collections.abc import Iterator

from nodrop.model.result import RunResult
from nodrop.model.trial import ValidityStatus
from nodrop.report.document.blocks import Block, Bullets, Fold, Paragraph
from nodrop.report.document.labels import counted
from nodrop.report.terminal import warning_lines
from nodrop.report.validity_notes import doubt_lines

REASONS = {
    "aborted": "it was broken off",
    "clock_jump": "the clock jumped",
    "counters_frozen": "the generator could not tell which stream frames were of",
    "cpu_steal": "the hypervisor took CPU time away",
    "engine_died": "the packet engine died",
    "generator_gone": "the traffic generator was gone",
    "held_up": "the tester was held up",
    "offered_short": "frames were not sent in time and count as lost",
    "queue_full": "the tester's send queues were full",
    "receiver_starved": "the tester's receiver got too little CPU time",
    "sender_drops": "frames were lost in the tester's send queues",
    "sender_late": "the tester fell behind and caught up in a burst",
    "sender_stalled": "the tester stood still for a while",
    "stopped_for_late": "it was stopped too late",
    "sut_preempted": "other work kept the SUT off its CPU",
    "tester_busy": "the tester's threads had no time left",
    "tester_drops": "the tester itself dropped frames",
    "tester_preempted": "other work kept the tester off its CPU",
}
"""Codes of doubts in short; their own sentences have the figures."""


def caution_blocks(result: RunResult) -> tuple[Block, ...]:
    """Warnings, then what else the search saw; nothing where there is nothing."""
    blocks: list[Block] = []
    doubts = tuple(map(_sentence, doubt_lines(result)))
    warnings = [text for text in map(_sentence, warning_lines(result)) if text not in doubts]
    warnings += _doubted(result)
    if warnings:
        blocks.append(Bullets(items=tuple(warnings), tone="caution"))
    if doubts:
        blocks.append(Fold(title="What was doubtful, trial by trial", blocks=(Bullets(items=doubts),)))
    if result.findings:
        blocks.append(Paragraph(text="What else was seen:"))
        blocks.append(Bullets(items=tuple(_sentence(finding.text) for finding in result.findings)))
    return tuple(blocks)


def _doubted(result: RunResult) -> Iterator[str]:
    """What speaks against trials, in short: how many of them, for each reason."""
    trials: dict[tuple[ValidityStatus, str], int] = {}
    for trial in result.trials:
        for doubt in trial.validity.doubts:
            reason = doubt.verdict, REASONS.get(doubt.code, doubt.code.replace("_", " "))
            trials[reason] = trials.get(reason, 0) + 1
    for verdict in (ValidityStatus.INVALID, ValidityStatus.SUSPECT):
        reasons = [(text, count) for (found, text), count in trials.items() if found is verdict]
        doubtful = sum(trial.validity.verdict is verdict for trial in result.trials)
        if doubtful and reasons:
            told = "; ".join(f"{text} ({count})" for text, count in sorted(reasons, key=lambda each: -each[1]))
            which = f"{doubtful} of {counted(len(result.trials), 'trial')}"
            yield f"{which} {'is' if doubtful == 1 else 'are'} {verdict}: {told}."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
