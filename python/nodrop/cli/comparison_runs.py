"""The runs of `nodrop compare --sut A,B`: two SUTs in alternation."""

from typing import TYPE_CHECKING, Any, TextIO, get_args

import click

from nodrop.cli.choice import ChoiceList
from nodrop.cli.nfvbench_flags import collect_nfvbench_keys, collect_notes, traffic_options
from nodrop.cli.search_options import Command, collect_overrides, lock_options, search_options
from nodrop.errors import ConfigError
from nodrop.model.choices import SutKind
from nodrop.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nodrop.cli.measure import MeasuredSuite
    from nodrop.config.schema import Config
    from nodrop.model.plan import Plan

INTERLEAVED_REPEATS = 5
"""Default repeats of two interleaved setups: fewer seldom show a difference of a few percent."""
OPTIONS = (
    click.option(
        "--sut", "suts", type=ChoiceList(get_args(SutKind)), metavar="A,B", help="Measure and compare two SUTs."
    ),
    click.option(
        "--repeat",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Number of repeats of each SUT.  [default: {INTERLEAVED_REPEATS}]",
    ),
    click.option("--no-latency", is_flag=True, help="Skip the latency trials."),
    click.option("-q", "--quiet", is_flag=True, help="Print the comparison only."),
)


def run_options(command: Command) -> Command:
    """Add `--sut` and the options of the runs."""
    command = lock_options(traffic_options(search_options(command)))
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def list_run_options(flags: "Mapping[str, Any]") -> list[str]:
    """Return the given options that only the runs of `--sut` use."""

    @run_options
    def command() -> None: ...

    options = click.command()(command).params
    return [
        each.opts[-1] for each in options if each.name != "suts" and flags[each.name or ""] not in (None, False, ())
    ]


def measure_suts(flags: "Mapping[str, Any]", results_dir: str, out: TextIO) -> "MeasuredSuite":
    """Measure two SUTs in alternation, as `nodrop run --interleave`.

    Args:
        flags: the arguments of `run_options`.
        results_dir: directory of the results.
        out: stream of the progress.

    Raises: ConfigError; BusyError if another run measures; StageError if the software of a SUT is not installed.
    """
    from nodrop.cli.measure import admit_runs, measure_suite
    from nodrop.system.cpu_load import CpuSample

    if len(flags["suts"]) != 2:
        raise ConfigError(
            f"--sut: {format_count(len(flags['suts']), 'SUT')} to compare; name two, e.g. --sut bridge,ovs"
        )
    for note in collect_notes(flags, None):
        click.echo(f"nodrop: {note}", err=True)
    sample = CpuSample()  # its time passes while the configuration is read
    a, b = (_build_config(flags, sut, results_dir) for sut in flags["suts"])
    with admit_runs(lambda cpus: _make_plans(a, b, cpus), flags, sample) as admission:
        plans = admission.plans
        if any(plan.trex for plan in plans):
            plans = _make_plans(a, b, admission.cpus, query_trex=True)
        return measure_suite(plans, out, flags["quiet"], sample)


def _build_config(flags: "Mapping[str, Any]", sut: str, results_dir: str) -> "Config":
    from nodrop.config.load import build_config

    keys = {
        "sut": sut,
        "results_dir": results_dir,
        "repeat": flags["repeat"],
        "latency.enabled": False if flags["no_latency"] else None,
    }
    overrides = collect_overrides(dict(flags), keys)
    return build_config(flags["files"], collect_nfvbench_keys(flags) | overrides, {"repeat": INTERLEAVED_REPEATS})


def _make_plans(
    a: "Config", b: "Config", cpus: "Sequence[int] | None" = None, *, query_trex: bool = False
) -> "tuple[Plan, ...]":
    from nodrop.cli.variant_plans import make_variant_plans
    from nodrop.run.local_planning import make_plans, use_one_back_end
    from nodrop.run.suite import interleave

    a, b = use_one_back_end(a, b)
    plans = make_plans(a, cpus, query_trex=query_trex)
    return interleave(plans, make_variant_plans(a, b, cpus, query_trex=query_trex))
