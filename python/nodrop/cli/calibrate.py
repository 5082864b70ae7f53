"""`nodrop calibrate`: what the tester can do by itself."""

from typing import Any, get_args

import click

from nodrop.cli.completion_types import DIR, FILE
from nodrop.cli.search_options import overrides, search_options, turn_options
from nodrop.model.choices import Backend

EPILOG = """
\b
Examples:
  nodrop calibrate                            with what `nodrop run` does by default
  nodrop calibrate --frame-bytes 1518         for other frames
  nodrop calibrate --set bidirectional=false  for one way
"""


@click.command(epilog=EPILOG, short_help="Measure the tester itself, over a bare wire.")
@search_options
@click.option(
    "--backend", type=click.Choice(["auto", *get_args(Backend)]), help="How packets are sent.  [default: auto]"
)
@click.option("--frame-bytes", type=int, metavar="N", help="Frame size with FCS.  [default: 64]")
@click.option("--results-dir", type=DIR, help="Where results are kept.  [default: results]")
@click.option("--json", "json_file", type=FILE, help="Also write the result there; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only the result.")
@turn_options
def calibrate(json_file: str | None, quiet: bool, **flags: Any) -> int:
    """Find the highest load at which the tester itself loses nothing and is on time, and its own latency.

    The tester's two ports are the ends of one veth pair, with nothing between them. What it finds is kept for this
    host, kernel, CPU, back end, frame size and number of streams; `nodrop run` prints it beside its results and says
    so when a search went above it.
    """
    from nodrop.cli.measure import measure
    from nodrop.cli.outputs import Outputs
    from nodrop.config.load import load
    from nodrop.model.result import RunResult
    from nodrop.plan import build
    from nodrop.report.calibration import calibration_text
    from nodrop.run.local_planning import lookups_here
    from nodrop.run.machine_lock import measurement_lock
    from nodrop.store import calibration

    def keep(result: RunResult) -> str:
        found = calibration.calibration_of(result)
        return f"{calibration_text(found)}\nkept: {calibration.save(found)}" if found else "nothing to keep"

    own = {
        "sut": "wire",
        "rate": "ndr",
        "engine.backend": flags["backend"],
        "frame_bytes": flags["frame_bytes"],
        "results_dir": flags["results_dir"],
    }
    asked = {**overrides({**flags, "goals": ("NDR=0",)}, {}), **{key: value for key, value in own.items() if value}}
    config = load(flags["files"], asked)
    plan = build(config, lookups_here(config.results_dir))
    with measurement_lock(plan.results_dir, alongside=flags["alongside"], wait=flags["wait"]):
        return measure(plan, Outputs(json_file), quiet, epilogue=keep)
