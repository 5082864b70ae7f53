"""`scripts/bench engine`: packet rates of nodrop, trafgen and dpdk-testpmd, group by group and round by round."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.engine import link
from benchmarks.engine.frame import Frame
from benchmarks.engine.groups import GROUPS, Group
from benchmarks.engine.measure import RateMeasurement, measure
from benchmarks.engine.packet_generator import PacketGenerator
from benchmarks.engine.ratio import compute_ratios
from benchmarks.engine.requirements import format_requirements
from benchmarks.engine.table import print_rates
from benchmarks.engine.tool_process import BenchmarkError
from benchmarks.engine.zero_loss import ZeroLossSearch
from rich.console import Console

from nodrop.errors import NodropError
from nodrop.stage.host_facts import read_host
from nodrop.units import format_count

PAGE_WIDTH = 170
"""Width of the output if it is not a terminal."""


def main() -> int:
    options = _parse_options()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    start_s, started_at = time.monotonic(), datetime.now(UTC).isoformat()
    host = read_host()
    if host.core_count < 2:
        console.print("this machine has one CPU; run on a machine with two, one for the sender, one for the receiver")
        return 1
    try:
        privilege = link.move_into_private_namespace()
    except NodropError as error:
        console.print(str(error))
        return error.exit_code
    console.print(
        f"{host.cpu_model}, {host.core_count} CPUs, {host.virtualization}, Linux {host.kernel}, as {privilege}"
    )
    versions: dict[str, str] = {}
    groups = {name: _keep_installed(console, GROUPS[name], versions) for name in options.only}
    measurements = list(_run_rounds(console, groups, options))
    for name, group in groups.items():
        print_rates(console, group, [each for each in measurements if each.group == name])
    ratios = compute_ratios(measurements)
    requirements = list(format_requirements(measurements, ratios))
    for line in requirements:
        console.print(line, soft_wrap=True)
    console.print(f"{format_count(options.rounds, 'round')}; took {(time.monotonic() - start_s) / 60:.1f} min")
    if options.json:
        record = {
            "started_at": started_at,
            "host": host.model_dump(),
            "rights": privilege,
            "versions": versions,
            "rounds": options.rounds,
            "seconds": options.seconds,
            "measurements": [each.to_record() for each in measurements],
            "ratios": [ratio.to_record() for ratio in ratios],
            "demands": requirements,
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if len(measurements) == options.rounds * sum(len(GROUPS[name].generators) for name in groups) else 1


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench engine",
        description="Packet rates of nodrop, trafgen and dpdk-testpmd. Needs two idle CPUs.",
    )
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=3, help="measurements of each generator (default: 3)"
    )
    parser.add_argument(
        "--seconds", metavar="S", type=float, default=1.5, help="length of each measurement (default: 1.5)"
    )
    parser.add_argument(
        "--only",
        type=_parse_group_names,
        default=list(GROUPS),
        metavar="GROUP,...",
        help=f"groups to measure, of {', '.join(GROUPS)} (default: all)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every measurement to FILE")
    options = parser.parse_args()
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds must be at least 1, and --seconds above 0")
    return options


def _parse_group_names(text: str) -> list[str]:
    requested = text.split(",")
    for name in requested:
        if name not in GROUPS:
            raise argparse.ArgumentTypeError(f"unknown group {name!r}; choose from {', '.join(GROUPS)}")
    return [name for name in GROUPS if name in requested]


def _keep_installed(console: Console, group: Group, versions: dict[str, str]) -> Group:
    """Return the group with the installed generators, and print the work of each per frame or how to install it."""
    installed = []
    console.print(f"[bold]{group.title}[/]")
    for generator in group.generators:
        try:
            version = generator.read_version()
        except BenchmarkError as error:
            console.print(f"  [yellow]{generator.name} skipped:[/] {error}", soft_wrap=True)
            continue
        installed.append(generator)
        versions[generator.name] = version
        console.print(f"  {generator.name} ({version}): {generator.work_per_frame}", soft_wrap=True)
    return replace(group, generators=tuple(installed))


def _run_rounds(
    console: Console, groups: Mapping[str, Group], options: argparse.Namespace
) -> Iterator[RateMeasurement]:
    """Yield the measurements of all rounds. Each round starts a group with another generator, so that none always
    follows the same one."""
    for round_index in range(options.rounds):
        for name, group in groups.items():
            for generator in _rotate(group.generators, round_index):
                try:
                    measurement = _measure(generator, name, group.frame_bytes, round_index, options.seconds)
                except BenchmarkError as error:
                    console.print(f"[red]{name}: {generator.name} failed in round {round_index + 1}:[/] {error}")
                    continue
                yield measurement
                console.print(_format_progress(measurement))


def _rotate(
    generators: Sequence[PacketGenerator | ZeroLossSearch], offset: int
) -> Sequence[PacketGenerator | ZeroLossSearch]:
    start = offset % len(generators) if generators else 0
    return (*generators[start:], *generators[:start])


def _measure(
    generator: PacketGenerator | ZeroLossSearch, group: str, frame_bytes: int, round_index: int, duration_s: float
) -> RateMeasurement:
    if isinstance(generator, ZeroLossSearch):
        return generator.measure(group, Frame(frame_bytes), round_index, duration_s)
    return measure(generator, group, Frame(frame_bytes), round_index, duration_s)


def _format_progress(measurement: RateMeasurement) -> str:
    rates = f"sent {measurement.sent_pps / 1e6:.3f} Mpps"
    if measurement.received_pps is not None:
        rates += f", received {measurement.received_pps / 1e6:.3f} Mpps"
    return f"round {measurement.round + 1}, {measurement.group}: {measurement.generator}: {rates}"


if __name__ == "__main__":
    sys.exit(main())
