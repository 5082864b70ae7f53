"""`scripts/bench store`: how long it takes to list thousands of results, and to make their index."""

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

LIST_MAX_S = 1.0
"""What is demanded of a list of 10,000 results, process start included."""
SUTS = ("smooth-knee", "stall-random")
LABELS = ("nightly", "release", "patch", "")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
CACHES = Path("/proc/sys/vm/drop_caches")


class Took(NamedTuple):
    """What a command took; on a machine that does other things, its own CPU time says more."""

    wall_s: float
    cpu_s: float


def main(arguments: Sequence[str]) -> int:
    """Make results, time the commands, say whether what is demanded is met."""
    parser = argparse.ArgumentParser(prog="scripts/bench store", description=__doc__)
    parser.add_argument("--results", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument("--repeats", type=int, default=7, help="of each command (default 7)")
    parser.add_argument("--cold", action="store_true", help="also with the kernel's caches dropped; takes root")
    parser.add_argument("--index", help="URL of a database, in place of the file in the directory")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nodrop-store-") as directory:
        figures = _figures(Path(directory), options)
    if options.json:
        options.json.write_text(
            json.dumps({name: [each._asdict() for each in took] for name, took in figures.items()}, indent=1) + "\n"
        )
    listed_s = statistics.median(each.wall_s for each in figures["list"])
    met = listed_s < LIST_MAX_S
    says = f"{options.results:,} results listed in {listed_s:.2f} s, {LIST_MAX_S:g} s demanded"
    print(f"{'met' if met else 'NOT MET'}: {says}")
    return 0 if met else 1


def _figures(directory: Path, options: argparse.Namespace) -> dict[str, list[Took]]:
    """What each command took, every repeat."""
    sizes = list(_made(directory, options.results))
    print(f"{options.results:,} results, {sum(sizes) / 1e6:,.0f} MB, {statistics.mean(sizes) / 1e3:.0f} kB each")
    index = ["--index", options.index] if options.index else []
    place = ["--results-dir", str(directory), *index]
    commands = {
        "list": ["results", "list", "--limit", "0", *place],
        "list of 50": ["results", "list", *place],
        "list of a label": ["results", "list", "--limit", "0", "--label", "nightly", "--since", "2026-06-01", *place],
        "list by NDR": ["results", "list", "--sort", "ndr", *place],
        "list as JSON": ["results", "list", "--limit", "0", "--format", "json", *place],
        "nodrop --version": ["--version"],
    }
    figures = {"rebuild": [_timed(["results", "rebuild", *place])]}
    _say("rebuild", figures["rebuild"])
    for name, command in commands.items():
        figures[name] = [_timed(command) for _ in range(options.repeats)]
        _say(name, figures[name])
    if options.cold:
        figures["list, cold"] = []
        for _ in range(options.repeats):
            subprocess.run(["sync"], check=True)
            CACHES.write_text("3")
            figures["list, cold"].append(_timed(commands["list"]))
        _say("list, cold", figures["list, cold"])
    return figures


def _made(directory: Path, count: int) -> Iterator[int]:
    """Results of searches in a model, each repeated with other ids, times and labels; gives their sizes."""
    templates = [_template(directory / "templates", sut) for sut in SUTS]
    for number in range(count):
        began = BEGAN + timedelta(minutes=50 * number)
        result = json.loads(templates[number % len(templates)])
        result |= {"run_id": store.make_run_id(began), "started_at": began.isoformat()}
        result["plan"]["label"] = LABELS[number % len(LABELS)] or None
        content = json.dumps(result, indent=1).encode()
        file = directory / result["run_id"] / store.RESULT_FILE
        file.parent.mkdir()
        file.write_bytes(content)
        get_checksum_path(file).write_text(format_line(file, content))
        yield len(content)


def _template(directory: Path, sut: str) -> bytes:
    _nodrop(["simulate", "--sut", sut, "--quiet", "--results-dir", str(directory / sut)])
    return store.find("latest", directory / sut).read_bytes()


def _timed(arguments: Sequence[str]) -> Took:
    begin_s, begin_cpu_s = time.perf_counter(), _cpu_s()
    _nodrop(arguments)
    return Took(time.perf_counter() - begin_s, _cpu_s() - begin_cpu_s)


def _cpu_s() -> float:
    """CPU time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _nodrop(arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "nodrop", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _say(name: str, took: Sequence[Took]) -> None:
    times_s = [each.wall_s for each in took]
    cpu_s = statistics.median(each.cpu_s for each in took)
    print(
        f"{name:18} {statistics.median(times_s):8.2f} s  ({min(times_s):.2f} to {max(times_s):.2f}), CPU {cpu_s:.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
