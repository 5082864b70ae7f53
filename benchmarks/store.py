"""`scripts/bench store`: time to list thousands of results, and to build their index."""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from nodrop import store
from nodrop.store.checksums import format_line, get_checksum_path
from nodrop.units import format_count

LIST_MAX_S = 1.0
"""Required time to list 10,000 results, including the start of the process."""
SUTS = ("smooth-knee", "stall-random")
LABELS = ("nightly", "release", "patch", "")
FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


class CommandTime(NamedTuple):
    """Time of a command; on a busy machine its CPU time is more meaningful."""

    wall_s: float
    cpu_s: float


def main(arguments: Sequence[str]) -> int:
    """Create results, measure the commands and report whether the requirement is met."""
    parser = argparse.ArgumentParser(prog="scripts/bench store", description=__doc__)
    parser.add_argument("--results", metavar="N", type=int, default=10_000, help="number of results (default: 10000)")
    parser.add_argument("--repeats", metavar="N", type=int, default=7, help="measurements of each command (default: 7)")
    parser.add_argument("--cold", action="store_true", help="also measure with the page cache dropped; requires root")
    parser.add_argument("--index", metavar="URL", help="database that replaces the index file in the directory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the times to FILE")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nodrop-store-") as directory:
        times = _measure_commands(Path(directory), options)
    if options.json:
        options.json.write_text(
            json.dumps({name: [each._asdict() for each in repeats] for name, repeats in times.items()}, indent=1) + "\n"
        )
    list_s = statistics.median(each.wall_s for each in times["list"])
    met = list_s < LIST_MAX_S
    results = format_count(options.results, "result")
    print(f"{'met' if met else 'NOT MET'}: {results} listed in {list_s:.2f} s, required: less than {LIST_MAX_S:g} s")
    return 0 if met else 1


def _measure_commands(directory: Path, options: argparse.Namespace) -> dict[str, list[CommandTime]]:
    """Return the times of each command, one per repeat."""
    sizes = list(_create_results(directory, options.results))
    print(
        f"{format_count(options.results, 'result')}, {sum(sizes) / 1e6:,.0f} MB, "
        f"{statistics.mean(sizes) / 1e3:.0f} kB each"
    )
    index = ["--index", options.index] if options.index else []
    location = ["--results-dir", str(directory), *index]
    commands = {
        "list": ["results", "list", "--limit", "0", *location],
        "list of 50": ["results", "list", *location],
        "list of a label": [
            "results",
            "list",
            "--limit",
            "0",
            "--label",
            "nightly",
            "--since",
            "2026-06-01",
            *location,
        ],
        "list by NDR": ["results", "list", "--sort", "ndr", *location],
        "list as JSON": ["results", "list", "--limit", "0", "--format", "json", *location],
        "nodrop --version": ["--version"],
    }
    times = {"rebuild": [_measure_command(["results", "rebuild", *location])]}
    _print_times("rebuild", times["rebuild"])
    for name, command in commands.items():
        times[name] = [_measure_command(command) for _ in range(options.repeats)]
        _print_times(name, times[name])
    if options.cold:
        times["list, cold"] = []
        for _ in range(options.repeats):
            subprocess.run(["sync"], check=True)
            DROP_CACHES.write_text("3")
            times["list, cold"].append(_measure_command(commands["list"]))
        _print_times("list, cold", times["list, cold"])
    return times


def _create_results(directory: Path, count: int) -> Iterator[int]:
    """Write copies of results of simulated searches with other ids, times and labels; yield their sizes."""
    templates = [_simulate(directory / "templates", sut) for sut in SUTS]
    for number in range(count):
        started_at = FIRST_START + timedelta(minutes=50 * number)
        result = json.loads(templates[number % len(templates)])
        result |= {"run_id": store.make_run_id(started_at), "started_at": started_at.isoformat()}
        result["plan"]["label"] = LABELS[number % len(LABELS)] or None
        content = json.dumps(result, indent=1).encode()
        file = directory / result["run_id"] / store.RESULT_FILE
        file.parent.mkdir()
        file.write_bytes(content)
        get_checksum_path(file).write_text(format_line(file, content))
        yield len(content)


def _simulate(directory: Path, sut: str) -> bytes:
    _run_nodrop(["simulate", "--sut", sut, "--quiet", "--results-dir", str(directory / sut)])
    return store.find("latest", directory / sut).read_bytes()


def _measure_command(arguments: Sequence[str]) -> CommandTime:
    start_s, start_cpu_s = time.perf_counter(), _read_cpu_s()
    _run_nodrop(arguments)
    return CommandTime(time.perf_counter() - start_s, _read_cpu_s() - start_cpu_s)


def _read_cpu_s() -> float:
    """Return the CPU time of all commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run_nodrop(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "nodrop", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _print_times(name: str, times: Sequence[CommandTime]) -> None:
    times_s = [each.wall_s for each in times]
    cpu_s = statistics.median(each.cpu_s for each in times)
    print(
        f"{name:18} {statistics.median(times_s):8.2f} s  ({min(times_s):.2f} to {max(times_s):.2f}), CPU {cpu_s:.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
