"""`scripts/bench noise`: error of a search beside other work, on real packets and a SUT whose truth is known."""

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.engine.tool_process import BenchmarkError, find_program
from rich.console import Console
from rich.table import Table

from nodrop.units import format_pps, format_ratio, format_seconds, parse_pps

SUTS = ("queue", "cpu")
"""`queue`: an ideal queue of half the rate that the VNF forwards on a quiet machine; `cpu`: the VNF at full speed,
whose truth is the median of quiet runs."""
PAGE_WIDTH = 120
"""Width of the output if it is not a terminal."""
BUFFER_FRAMES = 512
NO_ANSWER = 5
"""Exit code of a search without an answer."""
RUN_MAX_S = 300.0
TRUTH_RUNS = 10
NOBODY = 65534
START_CHILD = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-V']))"
BURST_S, BURST_EVERY_S = 0.3, 1.0
COMPILED_LINES = 4000
NOISES = ("none", "cpu", "bursts", "stream", "iomix", "compiler", "nodrop")
STRESSORS = {
    "cpu": ("--cpu", "2"),
    "bursts": ("--cpu", "2"),
    "stream": ("--stream", "2"),
    "iomix": ("--iomix", "2", "--iomix-bytes", "64m"),
}


class ErrorLimits(NamedTuple):
    """Required relative errors of NDR for a user and a SUT, all kinds of other work together."""

    median: float
    largest: float


ERROR_LIMITS = {
    ("root", "queue"): ErrorLimits(0.005, 0.01),
    ("nobody", "queue"): ErrorLimits(0.01, 0.03),
    ("root", "cpu"): ErrorLimits(0.03, 0.08),
    ("nobody", "cpu"): ErrorLimits(0.1, 0.1),
}
NO_ANSWER_MAX_RATIO = 0.05
"""Required share of runs without an answer as root."""
CPU_NOISE_MAX_TIME_RATIO = 1.5
"""Required median time of a search beside `cpu`, over that on the quiet machine, as root."""
WRONG_LIMIT_RATIO = 0.05


@dataclass(frozen=True)
class Outcome:
    """One run."""

    user: str
    sut: str
    noise: str
    exit_code: int
    wall_s: float
    lower_pps: float | None
    upper_pps: float | None
    limit: str
    complete: bool
    """The result claims an interval no wider than its goal."""
    truth_pps: float

    @property
    def error_ratio(self) -> float | None:
        """Relative error of NDR, the lower bound; None without an answer."""
        return None if self.lower_pps is None or self.exit_code else self.lower_pps / self.truth_pps - 1.0

    @property
    def has_wrong_limit(self) -> bool:
        """Whether "limited by the SUT" stands beside an error above 5 %."""
        return self.limit == "sut" and self.error_ratio is not None and abs(self.error_ratio) > WRONG_LIMIT_RATIO

    @property
    def is_wrongly_complete(self) -> bool:
        """Whether an interval as narrow as its goal misses the truth."""
        return self.complete and self.covers is False

    @property
    def covers(self) -> bool | None:
        """Whether the truth is between the bounds, within the goal's width of 1 %; None without both bounds."""
        if self.lower_pps is None or self.upper_pps is None or self.exit_code:
            return None
        return self.lower_pps * 0.99 <= self.truth_pps <= self.upper_pps * 1.01


def main() -> int:
    options = _parse_options()
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else PAGE_WIDTH)
    outcomes: list[Outcome] = []
    try:
        for user in options.users:
            _require_program(user)
        with tempfile.TemporaryDirectory(prefix="nodrop-noise-") as folder:
            directory = Path(folder)
            directory.chmod(0o777)
            truth_pps = options.truth or _measure_truth(directory, options.truth_runs, console)
            console.print(f"{_describe_machine()}; VNF on the quiet machine: {format_pps(truth_pps)}\n")
            for number in range(options.runs):
                for user in options.users:
                    for sut in options.suts:
                        noises = options.noises if number % 2 == 0 else options.noises[::-1]
                        for noise in noises:
                            outcome = _measure(directory, user, sut, noise, truth_pps)
                            outcomes.append(outcome)
                            console.print(_format_outcome(outcome))
    except BenchmarkError as error:
        console.print(str(error))
        return 1
    finally:
        if options.json:
            options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    console.print(_make_table(outcomes))
    shortfalls = list(find_shortfalls(outcomes))
    for line in shortfalls:
        console.print(f"not met: {line}")
    return 1 if shortfalls else 0


def find_shortfalls(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield a line for each requirement that the runs do not meet, with the measured and the required value."""
    for (user, sut), limits in ERROR_LIMITS.items():
        cell = [each for each in outcomes if (each.user, each.sut) == (user, sut)]
        errors = [abs(each.error_ratio) for each in cell if each.error_ratio is not None]
        if not errors:
            if cell:
                yield f"{user}, {sut}: no answer in {len(cell)} of {len(cell)} runs, no error known"
            continue
        for name, error, limit in (
            ("median", statistics.median(errors), limits.median),
            ("largest", max(errors), limits.largest),
        ):
            if error > limit:
                yield f"{user}, {sut}: {name} error {error:.2%}, at most {limit:.1%}"
    as_root = [each.error_ratio is None for each in outcomes if each.user == "root"]
    if sum(as_root) > NO_ANSWER_MAX_RATIO * len(as_root):
        yield f"root: no answer in {sum(as_root)} of {len(as_root)} runs, at most {NO_ANSWER_MAX_RATIO:.0%}"
    quiet_s = _find_quiet_times(outcomes)
    for sut in SUTS:
        times_s = [each.wall_s for each in outcomes if (each.user, each.sut, each.noise) == ("root", sut, "cpu")]
        if times_s and ("root", sut) in quiet_s:
            ratio = statistics.median(times_s) / quiet_s["root", sut]
            if ratio > CPU_NOISE_MAX_TIME_RATIO:
                yield f"root, {sut}, cpu: {ratio:.1f} x the quiet time, at most {CPU_NOISE_MAX_TIME_RATIO} x"
    for name, count in (
        ("limited by the SUT beside an error above 5 %", sum(each.has_wrong_limit for each in outcomes)),
        ("complete without the truth in the interval", sum(each.is_wrongly_complete for each in outcomes)),
    ):
        if count:
            yield f"{name}: {count} of {len(outcomes)} runs, none allowed"


def _find_quiet_times(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], float]:
    """Return the median time of the runs on the quiet machine in seconds, by user and SUT."""
    times_s: dict[tuple[str, str], list[float]] = {}
    for each in outcomes:
        if each.noise == "none":
            times_s.setdefault((each.user, each.sut), []).append(each.wall_s)
    return {key: statistics.median(values) for key, values in times_s.items()}


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench noise", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each cell (default: 5)")
    parser.add_argument("--truth-runs", type=int, default=TRUTH_RUNS, metavar="N", help="quiet runs for the truth")
    parser.add_argument("--truth", type=parse_pps, metavar="PPS", help="the truth, instead of quiet runs")
    for name, choices in (("users", ("root", "nobody")), ("suts", SUTS), ("noises", NOISES)):
        parser.add_argument(
            f"--{name}",
            type=lambda text: tuple(text.split(",")),
            default=choices,
            metavar="NAME,...",
            help=f"of {', '.join(choices)} (default: all)",
        )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every run to FILE")
    return parser.parse_args()


def _describe_machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{os.cpu_count()} x {model}, Linux {platform.release()}, load average {os.getloadavg()[0]:.1f}"


def _measure_truth(directory: Path, count: int, console: Console) -> float:
    """Return the median NDR of the VNF on a quiet machine."""
    rates = []
    for _ in range(count):
        outcome = _measure(directory, "root", "cpu", "none", 1.0)
        if outcome.lower_pps is None:
            raise BenchmarkError("a quiet run has no answer; run the benchmark on an idle machine")
        rates.append(outcome.lower_pps)
        console.print(f"quiet: {format_pps(outcome.lower_pps)} in {format_seconds(outcome.wall_s)}")
    spread = (max(rates) - min(rates)) / statistics.median(rates)
    console.print(f"spread of {count} quiet runs: {format_ratio(spread)} (largest minus smallest, over the median)")
    return statistics.median(rates)


def _measure(directory: Path, user: str, sut: str, noise: str, quiet_pps: float) -> Outcome:
    """Run one search beside the noise."""
    truth_pps = round(quiet_pps / 2) if sut == "queue" else quiet_pps
    keys = [f"vnf.capacity={truth_pps}", f"vnf.buffer={BUFFER_FRAMES}"] if sut == "queue" else []
    results = Path(tempfile.mkdtemp(dir=directory))
    results.chmod(0o777)
    flags = [flag for key in keys for flag in ("--set", key)]
    separation = ["--set", "search.disturbed_time=exclude"]
    command = [
        _find_nodrop(),
        "run",
        "-q",
        "--no-latency",
        "--alongside",
        "--results-dir",
        results,
        *separation,
        *flags,
    ]
    with _start_noise(noise, directory):
        begin_s = time.monotonic()
        exit_code = _run(command, user)
        wall_s = time.monotonic() - begin_s
    if exit_code not in (0, NO_ANSWER):
        raise BenchmarkError(f"nodrop run as {user} failed with exit code {exit_code}: run it by hand")
    record = _read_result(results)
    goal: dict[str, Any] = record["goals"][0] if record and record["goals"] else {}
    lower, upper = goal.get("lower"), goal.get("upper")
    return Outcome(
        user=user,
        sut=sut,
        noise=noise,
        exit_code=exit_code,
        wall_s=wall_s,
        lower_pps=lower["load_pps"] if lower else None,
        upper_pps=upper["load_pps"] if upper else None,
        limit=goal.get("limit", "unknown"),
        complete=bool(goal.get("regular")),
        truth_pps=truth_pps,
    )


def _run(command: Sequence[str | Path], user: str) -> int:
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
    prefix = drop if user == "nobody" else []
    environment = {**os.environ, "HOME": "/tmp"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        done = subprocess.run([*prefix, *command], timeout=RUN_MAX_S, check=False, env=environment, cwd="/tmp", **quiet)
    except subprocess.TimeoutExpired:
        raise BenchmarkError(f"nodrop run as {user} took more than {format_seconds(RUN_MAX_S)}") from None
    return done.returncode


def _require_program(user: str) -> None:
    """Raise BenchmarkError if a user's processes cannot execute nodrop's Python, before minutes of measurements."""
    if _run([sys.executable, "-c", START_CHILD], user):
        raise BenchmarkError(
            f"--users: {user} cannot execute {Path(sys.executable).resolve()}; use a Python and clone that others may "
            "enter, or leave the user out"
        )


def _find_nodrop() -> Path:
    return Path(sys.executable).with_name("nodrop")


def _read_result(results: Path) -> dict[str, Any] | None:
    files = list(results.glob("*/result.json"))
    return json.loads(files[0].read_text()) if files else None


@contextlib.contextmanager
def _start_noise(noise: str, directory: Path) -> Iterator[None]:
    """Keep the machine busy in sessions of their own until the block ends."""
    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(_open_process(command)) for command in _list_commands(noise, directory)]
        if noise == "bursts":
            thread = threading.Thread(target=_alternate, args=(processes, stop), daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(stop.set)
        if processes:
            time.sleep(2.0)  # they start up
        yield


def _list_commands(noise: str, directory: Path) -> list[list[str | Path]]:
    if noise in STRESSORS:
        program = find_program("stress-ng", "stress-ng")
        return [[program, *STRESSORS[noise], "--temp-path", directory, "--timeout", "600", "--quiet"]]
    if noise == "compiler":
        source = directory / "source.c"
        lines = [
            f"int f{n}(int a[]) {{ int s = {n}; for (int i = 0; i < {n}; i++) s += a[i] * s; return s; }}"
            for n in range(COMPILED_LINES)
        ]
        source.write_text("\n".join(lines) + "\n")
        loop = f"while :; do {find_program('cc', 'gcc')} -O2 -c -o /dev/null {source}; done"
        return [["bash", "-c", loop], ["bash", "-c", loop]]
    if noise == "nodrop":
        flags = [
            "run",
            "-q",
            "--alongside",
            "--rate",
            "100kpps",
            "--duration",
            "600s",
            "--results-dir",
            directory / "other",
        ]
        return [[_find_nodrop(), *flags]]
    return []


@contextlib.contextmanager
def _open_process(command: Sequence[str | Path]) -> Iterator[subprocess.Popen[bytes]]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, **quiet)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGCONT)
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _alternate(processes: Sequence[subprocess.Popen[bytes]], stop: threading.Event) -> None:
    """Let processes run for `BURST_S` of every `BURST_EVERY_S`."""
    while not stop.is_set():
        for number, pause_s in ((signal.SIGCONT, BURST_S), (signal.SIGSTOP, BURST_EVERY_S - BURST_S)):
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            stop.wait(pause_s)


def _format_outcome(outcome: Outcome) -> str:
    error = outcome.error_ratio
    figure = "no answer" if error is None else f"{format_pps(outcome.lower_pps or 0)}, error {error:+.2%}"
    return (
        f"{outcome.user}, {outcome.sut}, {outcome.noise}: {figure}, limit {outcome.limit}, exit {outcome.exit_code}, "
        f"{format_seconds(outcome.wall_s)}"
    )


def _make_table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(box=None)
    for name in (
        "user",
        "SUT",
        "noise",
        "runs",
        "no answer",
        "median error",
        "worst",
        "covered",
        "wrong limit",
        "wrong complete",
        "time",
    ):
        table.add_column(name, justify="left" if name in ("user", "SUT", "noise") else "right")
    quiet_s = _find_quiet_times(outcomes)
    for key in dict.fromkeys((each.user, each.sut, each.noise) for each in outcomes):
        cell = [each for each in outcomes if (each.user, each.sut, each.noise) == key]
        errors = [abs(each.error_ratio) for each in cell if each.error_ratio is not None]
        covered = [each.covers for each in cell if each.covers is not None]
        wall_s = statistics.median(each.wall_s for each in cell)
        ratio = f" ({wall_s / quiet_s[key[:2]]:.1f} x)" if key[:2] in quiet_s else ""
        table.add_row(
            *key,
            str(len(cell)),
            str(len(cell) - len(errors)),
            f"{statistics.median(errors):.2%}" if errors else "-",
            f"{max(errors):.2%}" if errors else "-",
            f"{sum(covered)}/{len(covered)}",
            str(sum(each.has_wrong_limit for each in cell)),
            str(sum(each.is_wrongly_complete for each in cell)),
            f"{format_seconds(wall_s)}{ratio}",
        )
    return table


if __name__ == "__main__":
    if shutil.which("setpriv") is None:
        sys.exit("setpriv is not installed; apt-get install util-linux")
    sys.exit(main())
