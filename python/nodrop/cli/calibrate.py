"""`nodrop calibrate`: the limits of the tester itself."""

from typing import Any, get_args

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import DIR, FILE
from nodrop.cli.frame_bytes import FrameBytes
from nodrop.cli.search_options import collect_overrides, lock_options, search_options
from nodrop.model.choices import Backend

EPILOG = """
\b
Examples:
  nodrop calibrate                            with the defaults of `nodrop run`
  nodrop calibrate --frame-bytes 1518         with large frames
  nodrop calibrate --set bidirectional=false  in one direction
"""


WIRE = {"sut": "wire", "rate": "ndr"}


@click.command(epilog=EPILOG, short_help="Measure the tester itself.")
@search_options
@click.option("--backend", type=Choice(["auto", *get_args(Backend)]), help="Packet I/O back end.  [default: auto]")
@click.option("--frame-bytes", type=FrameBytes(), metavar="N", help="Frame size with FCS.  [default: 64]")
@click.option("--results-dir", type=DIR, help="Directory of results.  [default: results]")
@click.option("--json", "json_file", type=FILE, help="Write the result as JSON; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Print the result only.")
@lock_options
def calibrate(json_file: str | None, quiet: bool, **flags: Any) -> int:
    """Find the highest load that the tester sends without loss and in time, and its own latency.

    The back end and the CPUs are those of `nodrop run` with the same options. The two tester ports are
    the ends of one veth pair. nodrop stores the calibration for this host, kernel, CPU, back end, frame size and number
    of streams; `nodrop run` prints it with its results and warns if a search exceeds it.
    """
    from nodrop.cli.measure import admit_runs, measure
    from nodrop.cli.outputs import Outputs
    from nodrop.config.load import build_config
    from nodrop.model.result import RunResult
    from nodrop.report.calibration import describe_calibration
    from nodrop.run.local_planning import make_calibration_plan
    from nodrop.store import calibration

    def save(result: RunResult) -> str:
        measured = calibration.derive_calibration(result)
        if not measured:
            return "nothing to keep"
        return f"{describe_calibration(measured)}\nkept: {calibration.save(measured)}"

    command_keys = {
        "engine.backend": flags["backend"],
        "frame_bytes": flags["frame_bytes"],
        "results_dir": flags["results_dir"],
    }
    keys = collect_overrides({**flags, "goals": ("NDR=0",)}, {})
    keys |= {key: value for key, value in command_keys.items() if value}
    config, run_config = build_config(flags["files"], keys | WIRE), build_config(flags["files"], keys)
    with admit_runs(lambda cpus: (make_calibration_plan(config, run_config, cpus),), flags) as (plans, _):
        return measure(plans, Outputs(json_file), quiet, epilogue=save)
