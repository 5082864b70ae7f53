"""`nodrop run`: measure, with as much or as little said about it as one likes."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, get_args

import click

from nodrop.cli.asking import overrides, search_options
from nodrop.errors import ConfigError, SearchError
from nodrop.model.plan import SutKind

if TYPE_CHECKING:
    from nodrop.model.event import Event, RunDone
    from nodrop.model.plan import Plan
    from nodrop.report.lines import LineProgress
    from nodrop.report.live import LiveProgress

STDOUT = "-"
EPILOG = """
\b
Examples:
  nodrop run                                  the default SUT, an answer in about a minute
  nodrop run --sut bridge --frame-bytes 1518  the Linux bridge with large frames
  nodrop run --profile standard               trials as long as in the MLRsearch drafts
  nodrop run --goal NDR=0 --goal PDR=0.1%     other goals than NDR and PDR at 0.5 %
  nodrop run --budget 60s                     the best answer after a minute
  nodrop run --search binary                  another search
  nodrop run --json - -q | jq .goals          the result for a program
  nodrop run --set search.width=2%            any key of the configuration

\b
Exit codes: 0 every goal has a load that meets it, 2 configuration, 3 the lab, 4 the generator,
5 the search ended without an answer, 130 Ctrl-C, 143 SIGTERM. What was measured is kept in every case.
"""


@click.command(epilog=EPILOG, short_help="Measure NDR, PDR and latency.")
@search_options
@click.option("--warm-start", metavar="RESULT", help="Start from a result of the same SUT: file, run id, latest.")
@click.option("--sut", type=click.Choice(get_args(SutKind)), help="What to measure.  [default: vnf-l2]")
@click.option("--lab", metavar="NAME", help="Measure in a lab left standing by `nodrop lab up`.")
@click.option("--frame-bytes", type=int, metavar="N", help="Frame size with FCS.  [default: 64]")
@click.option("--no-latency", is_flag=True, help="Leave out the latency trials.")
@click.option("--results-dir", metavar="DIR", help="Where results are kept.  [default: results]")
@click.option("--json", "json_file", metavar="FILE", help="Also write the result there; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only the result.")
def run(json_file: str | None, quiet: bool, **flags: Any) -> int:
    """Measure the highest loads that a SUT forwards without loss, and with a little loss.

    NDR, the no drop rate, is the highest load measured at which not one frame was lost; PDR, the partial drop rate,
    the highest at which no more than a stated share was lost (0.5 %). Loads are frames per second, both directions
    together. Each stands beside its upper bound, the lowest load that lost too much, and beside what limited it: where
    that was the tester, the figure is what the SUT does at least, not what it can.
    """
    from nodrop import store  # noqa: PLC0415
    from nodrop.config.load import load  # noqa: PLC0415
    from nodrop.plan import build  # noqa: PLC0415
    from nodrop.stage import standing  # noqa: PLC0415

    config = load(flags["files"], overrides(flags, _own_keys(flags)))
    plan = build(
        config,
        find_lab=lambda name: standing.find(name).plan,
        find_result=lambda wanted: store.load(wanted, config.results_dir),
    )
    if json_file not in (None, STDOUT):
        _require_writable(Path(json_file))
    return _measure(plan, json_file, quiet)


def _own_keys(flags: dict[str, Any]) -> dict[str, Any]:
    """The keys that the flags of this command alone stand for."""
    return {
        "search.warm_start": flags["warm_start"],
        "sut": flags["sut"],
        "lab": flags["lab"],
        "frame_bytes": flags["frame_bytes"],
        "latency.enabled": False if flags["no_latency"] else None,
        "results_dir": flags["results_dir"],
    }


def _require_writable(json_file: Path) -> None:
    from nodrop import store  # noqa: PLC0415

    if json_file.is_dir():
        raise ConfigError(f"--json: {json_file} asked, it is a directory; name a file in it")
    store.require_writable(json_file.parent, "--json")


def _measure(plan: "Plan", json_file: str | None, quiet: bool) -> int:
    """Run, show, store; gives the exit code."""
    from nodrop.cli.interruption import interruptible  # noqa: PLC0415
    from nodrop.model.event import RunDone  # noqa: PLC0415
    from nodrop.run import execute  # noqa: PLC0415

    out = sys.stderr if json_file == STDOUT else sys.stdout
    done: list[RunDone] = []
    with interruptible() as interruption:
        try:
            with _progress(out, quiet) as progress:

                def hear(event: "Event") -> None:
                    progress.hear(event)
                    if isinstance(event, RunDone):
                        done.append(event)

                execute(plan, hear)
        except KeyboardInterrupt as interrupt:
            click.echo(f"nodrop: {interrupt or 'stopped'}", err=True)
            return interruption.exit_code
        finally:
            if done:
                _show(done[0], json_file, out)
    _check_found(done[0])
    return 0


def _progress(out: TextIO, quiet: bool) -> "LineProgress | LiveProgress":
    from nodrop.cli.console import console  # noqa: PLC0415
    from nodrop.report.lines import LineProgress, NoProgress  # noqa: PLC0415
    from nodrop.report.live import LiveProgress  # noqa: PLC0415

    if quiet:
        return NoProgress(out)
    screen = console(out)
    return LiveProgress(screen) if out.isatty() and not screen.is_dumb_terminal else LineProgress(out)


def _show(done: "RunDone", json_file: str | None, out: TextIO) -> None:
    """The report, unless there is nothing to report; the file; the JSON."""
    from nodrop import store  # noqa: PLC0415
    from nodrop.cli.console import show  # noqa: PLC0415
    from nodrop.report.text import report  # noqa: PLC0415

    if done.result.trials:
        click.echo(file=out)
        show(report(done.result), out)
    if done.path:
        click.echo(f"\nresult: {done.path}", file=out)
    if json_file == STDOUT:
        click.echo(store.to_json(done.result), nl=False)
    elif json_file:
        store.write_whole(Path(json_file), store.to_json(done.result))


def _check_found(done: "RunDone") -> None:
    """Raises SearchError for goals with neither a load that meets them nor an estimate."""
    from nodrop.model.goal import Limit  # noqa: PLC0415

    without = [found for found in done.result.goals if not found.lower and found.estimate_pps is None]
    if not without:
        return
    labels = " and ".join(found.goal.label for found in without)
    if any(found.limit is not Limit.MIN_LOAD for found in without):
        raise SearchError(f"a load that meets {labels} asked, none was found; allow more time (--budget)")
    raise SearchError(
        f"a load that meets {labels} asked, even the lowest one loses more; "
        "allow a lower load (--min-load) or more loss (--goal)"
    )
