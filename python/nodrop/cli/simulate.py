"""`nodrop simulate`: search against models of SUTs, at once, and see how near the truth it ends."""

from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click

from nodrop.cli.completion_types import DIR, FILE
from nodrop.cli.search_options import overrides, searches_options
from nodrop.config.profiles import END_BY_TIME
from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName

if TYPE_CHECKING:
    from nodrop.model.plan import Plan
    from nodrop.model.result import RunResult
    from nodrop.simulation import Sut

DEFAULTS = {
    "profile": "standard",
    "search.min_load": "18002pps",
    "search.max_load": "37.5Mpps",
    "latency.enabled": False,
}
"""Two directions of FD.io CSIT's lowest load, 9001 frames per second, and of what 64-byte frames its NICs can do."""
EPILOG = """
\b
Examples:
  nodrop simulate --list                                          the SUTs there are
  nodrop simulate --sut stall-random --seed 7                     one search, shown like a real one
  nodrop simulate --sut stall-random --search mlrsearch-01        another search
  nodrop simulate --sut deep-buffer --param buffer_count=5e6      a SUT of another make
  nodrop simulate --compare --sut two-modes-time --sut drift      all searches, 20 times each
  nodrop simulate --compare --search nodrop --search binary       two searches at every SUT
"""


@click.command(epilog=EPILOG, short_help="Search against models of SUTs, at once.")
@searches_options
@click.option("--sut", "suts", multiple=True, metavar="KIND", help="What to search; with --compare also several.")
@click.option("--param", "params", multiple=True, metavar="NAME=NUMBER", help="Parameter of the SUT; --list has all.")
@click.option("--seed", type=int, default=1, show_default=True, metavar="N", help="Of the SUT's random numbers.")
@click.option("--list", "listing", is_flag=True, help="Say which SUTs there are, and stop.")
@click.option("--compare", is_flag=True, help="Compare searches over many seeds; by default all, at every SUT.")
@click.option("--seeds", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="How many.")
@click.option("--results-dir", type=DIR, help="Where results are kept.  [default: results]")
@click.option("--json", "json_file", type=FILE, help="Also write the result there; - is standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only the result.")
def simulate(listing: bool, compare: bool, **flags: Any) -> int:
    """Run a search against a simulated SUT whose truth is known, on a clock of its own.

    Trials, tables and result file are those of a real run; no packet is sent and no time passes. At the end stands what
    the highest load is at which the SUT meets each goal, and how far from it the search ended.

    Unless asked otherwise it searches from 18,002 pps to 37.5 Mpps with the standard profile.
    """
    if listing:
        return _list()
    if compare:
        return _compare(flags)
    return _simulate(flags)


def _list() -> int:
    """Every SUT in a sentence, with its parameters."""
    from nodrop.simulation.registry import KINDS, parameters_of

    for name, kind in KINDS.items():
        click.echo(f"{name:<22} {(kind.__doc__ or '').partition(chr(10))[0]}")
        click.echo(f"{'':<22} {', '.join(f'{key}={value:g}' for key, value in parameters_of(name).items())}")
    return 0


def _simulate(flags: dict[str, Any]) -> int:
    """One search, carried out and shown like a real one."""
    from nodrop.cli.measure import measure
    from nodrop.cli.outputs import Outputs
    from nodrop.run.execute import Parts
    from nodrop.simulation import SimulatedMeasurer, create
    from nodrop.stage.null_stage import SimulatedStage

    if len(flags["suts"]) != 1 or len(flags["algorithm"]) > 1:
        raise ConfigError("command line: one --sut and at most one --search expected; compare several with --compare")
    (name,), seed = flags["suts"], flags["seed"]
    sut = create(name, seed, _parameters(flags))
    plan = _plan(flags, *flags["algorithm"])
    measurer = SimulatedMeasurer(plan.traffic, sut, plan.search.overhead_s)
    parts = Parts(
        stage=lambda _plan, _record: SimulatedStage(f"{name} (simulated, seed {seed})"),
        measurer=lambda _plan, _stage: measurer,
        clock=lambda: measurer.now_s,
    )
    return measure(
        plan,
        Outputs(flags["json_file"]),
        flags["quiet"],
        parts,
        lambda result: _truth_text(result, sut, measurer.now_s),
    )


def _truth_text(result: "RunResult", sut: "Sut", at_s: float) -> str:
    """What is true of each goal, and how far from it the search ended."""
    from nodrop.simulation.benchmark import true_pps
    from nodrop.units import format_pps

    texts = []
    for found in result.goals:
        truth_pps = true_pps(result.plan.search, found.goal, sut, at_s)
        found_pps = found.lower.load_pps if found.lower else found.estimate_pps
        error = f"{found_pps / truth_pps - 1:+.1%}".replace("%", " %") if found_pps and truth_pps else ""
        said = error or ("something" if found_pps else "nothing")
        texts.append(f"{found.goal.label} {format_pps(truth_pps) if truth_pps else 'none'} (found {said})")
    return f"truth: {', '.join(texts) or 'not looked for'}"


def _compare(flags: dict[str, Any]) -> int:
    """Searches by SUTs, in a table."""
    from nodrop.cli.simulate_compare import compare
    from nodrop.simulation import SUTS, create

    parameters = _parameters(flags)
    suts = {name: partial(create, name, parameters=parameters) for name in flags["suts"] or SUTS}
    algorithms = flags["algorithm"] or [name for name in get_args(AlgorithmName) if name not in END_BY_TIME]
    searches = {name: _plan(flags, name).search for name in algorithms}
    compare(searches, suts, range(flags["seed"], flags["seed"] + flags["seeds"]), flags["json_file"])
    return 0


def _parameters(flags: dict[str, Any]) -> dict[str, float]:
    parameters = {}
    for written in flags["params"]:
        key, _, value = written.partition("=")
        try:
            parameters[key] = float(value)
        except ValueError:
            raise ConfigError(f"--param: {written!r} asked, name and number expected; write {key}=1e6") from None
    return parameters


def _plan(flags: dict[str, Any], algorithm: AlgorithmName | None = None) -> "Plan":
    from nodrop.config.load import load
    from nodrop.plan import build

    keys = overrides(flags | {"algorithm": algorithm}, {"results_dir": flags["results_dir"]})
    return build(load(flags["files"], keys, DEFAULTS))
