"""`nodrop run`: measure, with as much or as little said about it as one likes."""

from typing import TYPE_CHECKING, Any, get_args

import click

from nodrop.cli.completion_types import DIR, FILE, LAB, RESULT
from nodrop.cli.help_sections import GroupedCommand
from nodrop.cli.nfvbench_actions import instead
from nodrop.cli.nfvbench_flags import nfvbench_keys, nfvbench_options, notes
from nodrop.cli.outputs import Outputs, form_option, nfvbench_json_option
from nodrop.cli.search_options import overrides, search_options, turn_options
from nodrop.errors import ConfigError
from nodrop.model.choices import Backend, PatternKind, SutKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodrop.config.load import Source
    from nodrop.config.schema import Config
    from nodrop.model.plan import Plan

EPILOG = """
\b
Examples:
  nodrop run                                  the default SUT, an answer in about a minute
  nodrop run --sut bridge --frame-bytes 1518  the Linux bridge with large frames
  nodrop run --sut vnf-l3 --hops 2            two routers in line
  nodrop run --profile standard               trials as long as in the MLRsearch drafts
  nodrop run --goal NDR=0 --goal PDR=0.1%     other goals than NDR and PDR at 0.5 %
  nodrop run --budget 60s                     the best answer after a minute
  nodrop run --search binary                  another search
  nodrop run --json - -q | jq .goals          the result for a program
  nodrop run --rate 1Mpps --interval 1        one trial at a fixed rate, told every second
  nodrop run -fs 64 -fs IMIX -fs 1518         several frame sizes, one after the other
  nodrop run --repeat 5                       five times, and how far the figures differ
  nodrop run --repeat 5 --interleave new.yaml this set-up and another in turn, and which is better
  nodrop run --sut ext --ports eth1,eth2      what is between two interfaces of this machine
  nodrop run --set search.width=2%            any key of the configuration

\b
Exit codes: 0 every goal has a load that meets it, 2 configuration, 3 the lab, 4 the generator,
5 the search ended without an answer, 130 Ctrl-C, 143 SIGTERM. What was measured is kept in every case.
"""

INTERLEAVED_REPEATS = 5
"""How often two set-ups are measured in turn unless asked otherwise: fewer seldom show a difference of some percent."""
TWICE = {"chains": ("service_chain_count", "-scc"), "frame_bytes": ("frame_sizes", "-fs")}
"""nodrop's own key, and the key and flag of NFVbench for the same thing."""


@click.command(cls=GroupedCommand, epilog=EPILOG, short_help="Measure NDR, PDR and latency.")
@search_options
@click.option("--warm-start", type=RESULT, help="Start from a result of the same SUT: file, run id, latest.")
@click.option("--sut", type=click.Choice(get_args(SutKind)), help="What to measure.  [default: vnf-l2]")
@click.option("--chains", type=int, metavar="N", help="Parallel chains of forwarders.  [default: 1]")
@click.option("--hops", type=int, metavar="N", help="Forwarders in line in each chain, 1 or 2.  [default: 1]")
@click.option("--ports", metavar="LEFT,RIGHT", help="Interfaces that lead to a SUT that is there (--sut ext).")
@click.option("--lab", type=LAB, help="Measure in a lab left standing by `nodrop lab up`.")
@click.option(
    "--backend", type=click.Choice(["auto", *get_args(Backend)]), help="How packets are sent.  [default: auto]"
)
@click.option("--frame-bytes", type=int, metavar="N", help="Frame size with FCS.  [default: 64]")
@click.option("--pattern", type=click.Choice(get_args(PatternKind)), help="How the load varies.  [default: flat]")
@click.option("--replay", type=FILE, help="Send the frames of a pcap or pcapng file.")
@click.option("--capture", type=FILE, help="Keep frames at the loads found: FILE-12.pcapng for trial 12.")
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Measure N times.  [default: 1; in turn: 5]")
@click.option("--interleave", type=FILE, help="Measure in turn what its keys change, and judge: A, then B with them.")
@click.option("--no-latency", is_flag=True, help="Leave out the latency trials.")
@click.option("--results-dir", type=DIR, help="Where results are kept.  [default: results]")
@click.option("--json", "json_file", type=FILE, help="Also write the result there; - is standard output.")
@form_option
@nfvbench_json_option
@click.option("--events", type=FILE, help="Add every event of the run to it, a line of JSON each.")
@click.option("--openmetrics", type=FILE, help="Write the figures there, for Prometheus' node_exporter.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only the result.")
@turn_options
@nfvbench_options
@click.pass_context
def run(context: click.Context, /, json_file: str | None, quiet: bool, **flags: Any) -> int:
    """Measure the highest loads that a SUT forwards without loss, and with a little loss.

    NDR, the no drop rate, is the highest load measured at which not one frame was lost; PDR, the partial drop rate,
    the highest at which no more than a stated share was lost (0.5 %). Loads are frames per second, both directions
    together. Each stands beside its upper bound, the lowest load that lost too much, and beside what limited it: where
    that was the tester, the figure is what the SUT does at least, not what it can.
    """
    done = instead(context, flags, _keys(flags))
    if done is not None:
        return done
    for note in notes(flags, json_file):
        click.echo(f"nodrop: {note}", err=True)
    from nodrop.cli.measure import measure_each
    from nodrop.run.machine_lock import measurement_lock

    config = configuration(flags)
    plans = _plans(config, flags)
    with measurement_lock(config.results_dir, alongside=flags["alongside"], wait=flags["wait"]):
        if any(plan.trex for plan in plans):
            plans = _plans(config, flags, asks_trex=True)
        return measure_each(plans, Outputs(json_file, flags["nfvbench_json"], flags["form"]), quiet)


def _plans(config: "Config", flags: dict[str, Any], *, asks_trex: bool = False) -> "tuple[Plan, ...]":
    """Everything that is to be measured, in order. Raises ConfigError, and what a TRex server says."""
    from nodrop.run.local_planning import plans_here

    plans = plans_here(config, asks_trex=asks_trex)
    for plan in plans:
        if plan.repeat == 1 and not asks_trex:  # which is the second time
            _beyond_calibration(plan, config)
    if not flags["interleave"]:
        return plans
    from nodrop.cli.variant_plans import other_plans
    from nodrop.run.suite import interleaved

    other = configuration(flags, overlays=(flags["interleave"],))
    return interleaved(plans, other_plans(config, other, asks_trex=asks_trex))


def _beyond_calibration(plan: "Plan", config: "Config") -> None:
    """Say so where more is asked than the tester itself is known to do."""
    from nodrop.report.calibration import calibration_text
    from nodrop.units import format_pps

    known, asked_pps = plan.calibration, config.search.max_load
    if known and asked_pps and asked_pps > known.load_pps:
        asked = format_pps(asked_pps)
        click.echo(f"nodrop: search.max_load: {asked} asked; {calibration_text(known)}", err=True)


def configuration(flags: dict[str, Any], overlays: "Sequence[Source]" = ()) -> "Config":
    """What was asked for, by files and flags, and by overlays that win over both. Raises ConfigError."""
    from nodrop.config.load import load

    defaults = {"repeat": INTERLEAVED_REPEATS} if flags.get("interleave") else None
    return load(flags["files"], _keys(flags), defaults, overlays)


def _keys(flags: dict[str, Any]) -> dict[str, Any]:
    """What all flags set, NFVbench's first. Raises ConfigError for one thing asked in both forms."""
    theirs, ours = nfvbench_keys(flags), overrides(flags, _own_keys(flags))
    for own, (key, flag) in TWICE.items():
        if own in ours and key in theirs:
            raise ConfigError(
                f"command line: --{own.replace('_', '-')} {ours[own]} and {flag} {theirs[key]}: both asked, they say "
                "the same thing; write one of them"
            )
    return theirs | ours


def _own_keys(flags: dict[str, Any]) -> dict[str, Any]:
    """The keys that the flags of this command alone stand for."""
    return {
        "search.warm_start": flags["warm_start"],
        "sut": flags["sut"],
        "chains": flags["chains"],
        "hops": flags["hops"],
        "ports": flags["ports"].split(",") if flags["ports"] else None,
        "lab": flags["lab"],
        "engine.backend": flags["backend"],
        "frame_bytes": flags["frame_bytes"],
        "pattern.kind": flags["pattern"],
        "traffic.replay.file": flags["replay"],
        "capture.file": flags["capture"],
        "repeat": flags["repeat"],
        "latency.enabled": False if flags["no_latency"] else None,
        "results_dir": flags["results_dir"],
        "ship.events_file": flags["events"],
        "ship.openmetrics_file": flags["openmetrics"],
    }
