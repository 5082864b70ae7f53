"""`scripts/bench engine`: every contestant in turn, round after round, then one table."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.engine import link
from benchmarks.engine.contestant import Contestant
from benchmarks.engine.dpdk import NodropMemif, NodropNull, TestpmdFlowgen, TestpmdMemif
from benchmarks.engine.frame import Frame
from benchmarks.engine.measure import Measurement, measure
from benchmarks.engine.nodrop import (
    NodropCounting,
    NodropLive,
    NodropSend,
    NodropSendReceive,
    NodropXdpSend,
    NodropXdpSendReceive,
)
from benchmarks.engine.ratio import ratios
from benchmarks.engine.table import print_rates, print_ratios
from benchmarks.engine.testpmd import TestpmdSend, TestpmdSendReceive, TestpmdXdpSend, TestpmdXdpSendReceive
from benchmarks.engine.tool import ContestantError
from benchmarks.engine.trafgen import TrafgenSend
from rich.console import Console

from nodrop.errors import NodropError
from nodrop.stage.host import read_host

PAGE_WIDTH = 160
"""Where there is no terminal to fit."""

CONTESTANTS: tuple[Contestant, ...] = (
    TrafgenSend(),
    NodropSend(),
    TestpmdSend(),
    NodropSendReceive(),
    NodropCounting(),
    TestpmdSendReceive(),
    NodropXdpSend(),
    TestpmdXdpSend(),
    NodropXdpSendReceive(),
    TestpmdXdpSendReceive(),
    NodropLive(),
    NodropNull(),
    TestpmdFlowgen(),
    NodropMemif(),
    TestpmdMemif(),
)


def main() -> int:
    options = _parse()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    started_at = datetime.now(UTC).isoformat()
    host = read_host()
    if host.core_count < 2:
        console.print("two CPUs asked, one for the sender and one for the receiver; this machine offers one")
        return 1
    try:
        rights = link.move_into_private_namespace()
    except NodropError as error:
        console.print(str(error))
        return error.exit_code
    versions = _versions(console)
    present = [one for one in CONTESTANTS if one.name in versions and options.only in one.name]
    console.print(f"{host.cpu_model}, {host.core_count} CPUs, {host.virtualization}, Linux {host.kernel}, as {rights}")
    for name, version in versions.items():
        console.print(f"  {name}: {version}")
    measurements = _play(console, present, options)
    found = ratios(measurements)
    for size in options.frame_bytes:
        print_rates(console, measurements, [contestant.name for contestant in present], size)
    print_ratios(console, found)
    if options.json:
        record = {
            "started_at": started_at,
            "host": host.model_dump(),
            "rights": rights,
            "versions": versions,
            "rounds": options.rounds,
            "seconds": options.seconds,
            "measurements": [asdict(one) for one in measurements],
            "ratios": [asdict(ratio) | {"median": ratio.median} for ratio in found],
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if len(measurements) == options.rounds * len(options.frame_bytes) * len(present) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench engine",
        description="Rates of nodrop, trafgen and dpdk-testpmd on a veth pair, side by side. Needs two idle CPUs.",
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each contestant has its turn (default: 5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each window (default: 3)")
    parser.add_argument(
        "--frame-bytes", type=int, nargs="+", default=[64], help="frame sizes with FCS, 64 to 1518 (default: 64)"
    )
    parser.add_argument("--only", default="", metavar="WORD", help="only contestants with this in their names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there too, every round of it")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0 or not all(64 <= size <= 1518 for size in options.frame_bytes):
        parser.error("at least one round, a window above 0 s and frames of 64 to 1518 bytes are needed")
    return options


def _versions(console: Console) -> dict[str, str]:
    """Of every contestant that is there; the others are named with the remedy."""
    versions = {}
    for contestant in CONTESTANTS:
        try:
            versions[contestant.name] = contestant.version()
        except ContestantError as error:
            console.print(f"[yellow]{contestant.name} left out:[/] {error}")
    return versions


def _play(console: Console, present: Sequence[Contestant], options: argparse.Namespace) -> list[Measurement]:
    """All rounds. Each one starts with another contestant, so that none always follows the same."""
    measurements = []
    for number in range(options.rounds):
        start = number % len(present)
        for size in options.frame_bytes:
            for contestant in (*present[start:], *present[:start]):
                try:
                    one = measure(contestant, Frame(size), number, options.seconds)
                except ContestantError as error:
                    console.print(f"[red]{contestant.name} failed in round {number + 1}:[/] {error}")
                    continue
                measurements.append(one)
                got = "" if one.received_pps is None else f", received {one.received_pps / 1e6:.3f}"
                console.print(f"round {number + 1}: {one.contestant}: sent {one.sent_pps / 1e6:.3f} Mpps{got}")
    return measurements


if __name__ == "__main__":
    sys.exit(main())
