"""`nodrop simulate`: searches on simulated SUTs, compared with the true values."""

from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click

from nodrop.cli.completion_types import DIR, FILE
from nodrop.cli.search_options import collect_overrides, multi_search_options
from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName
from nodrop.model.profiles import PRESCRIBED_SEARCHES, TIME_LIMITED_SEARCHES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nodrop.model.plan import Plan
    from nodrop.model.result import RunResult
    from nodrop.simulation import Sut

DEFAULTS = {
    "profile": "standard",
    "search.min_load": "18002pps",
    "search.max_load": "37.5Mpps",
    "latency.enabled": False,
}
"""FD.io CSIT's lowest load, 9001 frames per second, and its NICs' rate of 64-byte frames, in both directions."""
EPILOG = """
\b
Examples:
  nodrop simulate --list                                          list the simulated SUTs
  nodrop simulate --sut stall-random --seed 7                     one search
  nodrop simulate --sut stall-random --search mlrsearch-01        another search algorithm
  nodrop simulate --sut deep-buffer --param buffer_count=5e6      a SUT with other parameters
  nodrop simulate --compare --sut two-modes-time --sut drift      all searches, 20 times each
  nodrop simulate --compare --search nodrop --search binary       two searches on every SUT
"""


@click.command(epilog=EPILOG, short_help="Run searches on simulated SUTs.")
@multi_search_options
@click.option("--sut", "suts", multiple=True, metavar="KIND", help="Simulated SUT; repeatable with --compare.")
@click.option("--param", "params", multiple=True, metavar="NAME=NUMBER", help="Parameter of the SUT, see --list.")
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Random seed of the SUT.")
@click.option("--list", "listing", is_flag=True, help="List the SUTs and exit.")
@click.option("--compare", is_flag=True, help="Compare searches over many seeds, by default all on every SUT.")
@click.option(
    "--seeds", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Number of seeds."
)
@click.option("--results-dir", type=DIR, help="Directory of results.  [default: results]")
@click.option("--json", "json_file", type=FILE, help="Write the result as JSON; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="Print the result only.")
def simulate(listing: bool, compare: bool, **flags: Any) -> int:
    """Run a search on a simulated SUT with known true values, on a simulated clock.

    Trials, tables and result file are those of a real run; no packets are sent. The last line shows the true highest
    load of each goal, and the error of the search.

    By default the search covers 18,002 pps to 37.5 Mpps with the standard profile.
    """
    if listing:
        return _list()
    if compare:
        return _compare(flags)
    return _simulate(flags)


def _list() -> int:
    """Print every SUT with its parameters."""
    from nodrop.simulation.registry import KINDS, get_default_parameters

    for name, kind in KINDS.items():
        click.echo(f"{name:<22} {(kind.__doc__ or '').partition(chr(10))[0]}")
        click.echo(f"{'':<22} {', '.join(f'{key}={value:g}' for key, value in get_default_parameters(name).items())}")
    return 0


def _simulate(flags: dict[str, Any]) -> int:
    """Run one search and show it like a real run."""
    from nodrop.cli.measure import measure
    from nodrop.cli.outputs import Outputs
    from nodrop.run.execute import RunEnvironment
    from nodrop.simulation import SimulatedMeasurer, create
    from nodrop.stage.null_stage import NullStage

    if len(flags["suts"]) != 1 or len(flags["algorithm"]) > 1:
        raise ConfigError("command line: give one --sut and at most one --search, or use --compare")
    (name,), seed = flags["suts"], flags["seed"]
    sut = create(name, seed, parameters := _parse_parameters(flags))
    plan = _make_plan(flags, *flags["algorithm"])
    measurer = SimulatedMeasurer(plan.traffic, sut, plan.search.overhead_s - plan.traffic.warm_up_s)
    environment = RunEnvironment(
        open_stage=lambda _plan, _run_id, _on_progress: NullStage(_format_sut_name(name, parameters, seed)),
        open_generator=lambda _plan, _stage: measurer,
        clock=lambda: measurer.now_s,
        rest=measurer.rest,
    )
    return measure(
        [plan],
        Outputs(flags["json_file"]),
        flags["quiet"],
        environment=environment,
        epilogue=lambda result: _format_truth(result, sut, measurer.now_s),
    )


def _format_sut_name(name: str, parameters: "Mapping[str, float]", seed: int) -> str:
    """Return `noisy-capacity (simulated, capacity_pps 5e+06, seed 1)`; the seed is last, see `analysis.setup_diff`."""
    return (
        f"{name} ({', '.join(['simulated', *(f'{key} {value:g}' for key, value in parameters.items())])}, seed {seed})"
    )


def _format_truth(result: "RunResult", sut: "Sut", at_s: float) -> str:
    """Format the true load of each goal and the error of the search."""
    from nodrop.simulation.benchmark import compute_true_pps
    from nodrop.units import format_pps

    texts = []
    for goal_result in result.goals:
        truth_pps = compute_true_pps(result.plan.search, goal_result.goal, sut, at_s)
        result_pps = goal_result.lower.load_pps if goal_result.lower else goal_result.estimate_pps
        error = f"{result_pps / truth_pps - 1:+.1%}".replace("%", " %") if result_pps and truth_pps else ""
        outcome = error or ("a load" if result_pps else "no load")
        texts.append(f"{goal_result.goal.label} {format_pps(truth_pps) if truth_pps else 'none'} (found {outcome})")
    return f"truth: {', '.join(texts) or 'no goals'}"


def _compare(flags: dict[str, Any]) -> int:
    """Print a table of searches by SUTs."""
    from nodrop.cli.simulate_compare import print_benchmark
    from nodrop.simulation import SUTS, create

    parameters = _parse_parameters(flags)
    suts = {name: partial(create, name, parameters=parameters) for name in flags["suts"] or SUTS}
    without_loads = [name for name in flags["algorithm"] if name in PRESCRIBED_SEARCHES]
    if without_loads:
        raise ConfigError(f"--search: {without_loads[0]} finds no load to compare; remove it, or --compare")
    others = TIME_LIMITED_SEARCHES | PRESCRIBED_SEARCHES
    algorithms = flags["algorithm"] or [name for name in get_args(AlgorithmName) if name not in others]
    searches = {name: _make_plan(flags, name).search for name in algorithms}
    print_benchmark(searches, suts, range(flags["seed"], flags["seed"] + flags["seeds"]), flags["json_file"])
    return 0


def _parse_parameters(flags: dict[str, Any]) -> dict[str, float]:
    parameters = {}
    for text in flags["params"]:
        key, _, value = text.partition("=")
        try:
            parameters[key] = float(value)
        except ValueError:
            raise ConfigError(f"--param: {text!r} is not NAME=NUMBER; use e.g. {key}=1e6") from None
    return parameters


def _make_plan(flags: dict[str, Any], algorithm: AlgorithmName | None = None) -> "Plan":
    from nodrop.config.load import build_config
    from nodrop.plan import build_plan

    keys = collect_overrides(flags | {"algorithm": algorithm}, {"results_dir": flags["results_dir"]})
    plan = build_plan(build_config(flags["files"], keys, DEFAULTS))
    if plan.events:
        raise ConfigError(
            f"trial_events: neither a simulated SUT nor its load changes in a trial ({plan.events[0].name}); remove "
            "trial_events, or measure with nodrop run"
        )
    return plan
