"""`scripts/bench engine`: group by group, every contestant in turn, round after round; then tables and demands."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.engine import link
from benchmarks.engine.contestant import Contestant
from benchmarks.engine.demands import demand_lines
from benchmarks.engine.frame import Frame
from benchmarks.engine.groups import GROUPS, Group
from benchmarks.engine.measure import Measurement, measure
from benchmarks.engine.ratio import Ratio, ratios
from benchmarks.engine.table import print_rates
from benchmarks.engine.tool import ContestantError
from benchmarks.engine.zero_loss import ZeroLoss
from rich.console import Console

from nodrop.errors import NodropError
from nodrop.stage.host_facts import read_host

PAGE_WIDTH = 170
"""Where there is no terminal to fit."""


def main() -> int:
    options = _parse()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    began_s, started_at = time.monotonic(), datetime.now(UTC).isoformat()
    host = read_host()
    if host.core_count < 2:
        console.print("two CPUs requested, one for the sender and one for the receiver; this machine offers one")
        return 1
    try:
        rights = link.move_into_private_namespace()
    except NodropError as error:
        console.print(str(error))
        return error.exit_code
    console.print(f"{host.cpu_model}, {host.core_count} CPUs, {host.virtualization}, Linux {host.kernel}, as {rights}")
    versions: dict[str, str] = {}
    groups = {name: _present(console, GROUPS[name], versions) for name in options.only}
    measurements = list(_play(console, groups, options))
    for name, group in groups.items():
        print_rates(console, group, [one for one in measurements if one.group == name])
    found = ratios(measurements)
    for line in demand_lines(measurements, found):
        console.print(line, soft_wrap=True)
    console.print(f"{options.rounds} rounds; took {(time.monotonic() - began_s) / 60:.1f} min")
    if options.json:
        record = {
            "started_at": started_at,
            "host": host.model_dump(),
            "rights": rights,
            "versions": versions,
            "rounds": options.rounds,
            "seconds": options.seconds,
            "measurements": [asdict(one) | {"cpu_ns_per_frame": one.cpu_ns_per_frame} for one in measurements],
            "ratios": [_record(ratio) for ratio in found],
            "demands": list(demand_lines(measurements, found)),
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if len(measurements) == options.rounds * sum(len(GROUPS[name].contestants) for name in groups) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench engine",
        description="Rates of nodrop, trafgen and dpdk-testpmd, side by side. Needs two idle CPUs.",
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each contestant has its turn (default: 3)")
    parser.add_argument("--seconds", type=float, default=1.5, help="length of each window (default: 1.5)")
    parser.add_argument(
        "--only",
        type=_group_names,
        default=list(GROUPS),
        metavar="GROUP,...",
        help=f"only these of {', '.join(GROUPS)} (default: all)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there too, every round of it")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("at least one round and a window above 0 s are needed")
    return options


def _group_names(written: str) -> list[str]:
    requested = written.split(",")
    for name in requested:
        if name not in GROUPS:
            raise argparse.ArgumentTypeError(f"{name!r} requested; there are {', '.join(GROUPS)}")
    return [name for name in GROUPS if name in requested]


def _present(console: Console, group: Group, versions: dict[str, str]) -> Group:
    """Those of a group that are there, each said with what it does; the others are named with the remedy."""
    present = []
    console.print(f"[bold]{group.title}[/]")
    for contestant in group.contestants:
        try:
            version = contestant.version()
        except ContestantError as error:
            console.print(f"  [yellow]{contestant.name} left out:[/] {error}", soft_wrap=True)
            continue
        present.append(contestant)
        versions[contestant.name] = version
        console.print(f"  {contestant.name} ({version}): {contestant.does}", soft_wrap=True)
    return replace(group, contestants=tuple(present))


def _play(console: Console, groups: Mapping[str, Group], options: argparse.Namespace) -> Iterator[Measurement]:
    """All rounds. In each one a group starts with another contestant, so that none always follows the same."""
    for number in range(options.rounds):
        for name, group in groups.items():
            for contestant in _turned(group.contestants, number):
                try:
                    one = _measure(contestant, name, group.frame_bytes, number, options.seconds)
                except ContestantError as error:
                    console.print(f"[red]{name}: {contestant.name} failed in round {number + 1}:[/] {error}")
                    continue
                yield one
                got = "" if one.received_pps is None else f", received {one.received_pps / 1e6:.3f}"
                console.print(f"round {number + 1}, {name}: {one.contestant}: sent {one.sent_pps / 1e6:.3f} Mpps{got}")


def _turned(contestants: Sequence[Contestant | ZeroLoss], number: int) -> Sequence[Contestant | ZeroLoss]:
    start = number % len(contestants) if contestants else 0
    return (*contestants[start:], *contestants[:start])


def _measure(
    contestant: Contestant | ZeroLoss, group: str, frame_bytes: int, number: int, seconds: float
) -> Measurement:
    if isinstance(contestant, ZeroLoss):
        return contestant.measure(group, Frame(frame_bytes), number, seconds)
    return measure(contestant, group, Frame(frame_bytes), number, seconds)


def _record(ratio: Ratio) -> dict[str, object]:
    return asdict(ratio) | {"median": ratio.median, "met": ratio.met}


if __name__ == "__main__":
    sys.exit(main())
