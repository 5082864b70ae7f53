"""`nodrop run`: measure a SUT."""

from typing import TYPE_CHECKING, Any, get_args

import click

from nodrop.cli.choice import Choice
from nodrop.cli.comparison_runs import INTERLEAVED_REPEATS
from nodrop.cli.completion_types import DIR, FILE, LAB, RESULT
from nodrop.cli.frame_bytes import FrameBytes
from nodrop.cli.help_sections import GroupedCommand
from nodrop.cli.nfvbench_actions import run_action
from nodrop.cli.nfvbench_flags import collect_nfvbench_keys, collect_notes, nfvbench_options
from nodrop.cli.outputs import Outputs, format_option, nfvbench_json_option
from nodrop.cli.search_options import collect_overrides, lock_options, search_options
from nodrop.errors import ConfigError
from nodrop.model.choices import Backend, PatternKind, SutKind, WorkloadName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodrop.config.load import Source
    from nodrop.config.schema import Config
    from nodrop.model.plan import Plan

EPILOG = """
\b
Examples:
  nodrop run                                   the default SUT, in about a minute
  nodrop run --sut ext --ports eth1,eth2       an external SUT between two interfaces
  nodrop run --sut bridge -fs 64,IMIX,1518     the Linux bridge, three frame sizes
  nodrop run --rate 1Mpps --interval 1         one trial at a fixed rate
  nodrop run --rate 50%NDR                     latency at half of the NDR
  nodrop run --expect 'ndr>5Mpps'              a gate: exit code 8 if missed
  nodrop run --budget 60s                      the best result after a minute
  nodrop run --repeat 5                        five repeats and their spread
  nodrop run --repeat 5 --interleave new.yaml  two setups, alternating, and their comparison
  nodrop run --set search.width=2% --json -    any configuration key; JSON on standard output

\b
Exit codes: 0 all goals met at some load, 2 configuration, 3 lab, 4 generator,
5 search without a result, 8 expectation missed, 11 fixed rate not reached,
130 Ctrl-C, 143 SIGTERM. Measurements are stored in every case.
"""

COMMON_OPTIONS = (
    *("sut", "ports", "chains", "nfvbench_frame_size", "nfvbench_rate", "nfvbench_duration"),
    *("profile", "goals", "budget", "repeat", "interleave", "no_latency", "expect", "files", "settings"),
    *("form", "json_file", "quiet", "wait_idle"),
)
"""Arguments of the options that `--help` shows; `--help-all` shows all."""
EQUIVALENT_FLAGS = {"chains": ("service_chain_count", "-scc"), "frame_bytes": ("frame_sizes", "-fs")}
"""nodrop's key, and NFVbench's equivalent key and flag."""


@click.command(cls=GroupedCommand, common=COMMON_OPTIONS, epilog=EPILOG, short_help="Measure NDR, PDR and latency.")
@search_options
@click.option("--warm-start", type=RESULT, help="Start from a result of the same SUT.")
@click.option("--sut", type=Choice(get_args(SutKind)), help="System under test.  [default: vnf-l2]")
@click.option("--workload", type=Choice(get_args(WorkloadName)), help="Traffic of a network function: a BRAS.")
@click.option("--chains", type=int, metavar="N", help="Parallel chains of forwarders.  [default: 1]")
@click.option("--hops", type=int, metavar="N", help="Forwarders per chain, 1 or 2.  [default: 1]")
@click.option("--ports", metavar="LEFT,RIGHT", help="Interfaces connected to an external SUT (--sut ext).")
@click.option("--sut-pid", "sut_pids", type=int, metavar="PID", multiple=True, help="Process of an external SUT, here.")
@click.option(
    "--sut-cgroup", "sut_cgroups", metavar="PATH", multiple=True, help="Control group of an external SUT, here."
)
@click.option("--lab", type=LAB, help="Use a persistent lab of `nodrop lab up`.")
@click.option("--backend", type=Choice(["auto", *get_args(Backend)]), help="Packet I/O back end.  [default: auto]")
@click.option("--frame-bytes", type=FrameBytes(), metavar="N", help="Frame size with FCS.  [default: 64]")
@click.option("--pattern", type=Choice(get_args(PatternKind)), help="Load pattern.  [default: flat]")
@click.option("--replay", type=FILE, help="Send the frames of a pcap or pcapng file.")
@click.option("--capture", type=FILE, help="Capture frames at the bounds, to FILE-<trial>.pcapng.")
@click.option(
    "--repeat", type=click.IntRange(min=1), metavar="N", help="Number of repeats.  [default: 1; with --interleave: 5]"
)
@click.option("--interleave", type=FILE, help="Alternate runs without and with the keys in FILE, then compare.")
@click.option("--no-latency", is_flag=True, help="Skip the latency trials.")
@click.option("--expect", multiple=True, metavar="THRESHOLD", help="Fail unless met, e.g. 'p99@50%<50us'.")
@click.option(
    "--at", "trial_events", multiple=True, metavar="EVENT", help="Change SUT or load at a time, e.g. '3s kill 0'."
)
@click.option("--results-dir", type=DIR, help="Directory of results.  [default: results]")
@click.option("--json", "json_file", type=FILE, help="Write the result as JSON; - is standard output.")
@format_option
@nfvbench_json_option
@click.option("--events", type=FILE, help="Append run events to FILE as JSON lines.")
@click.option("--openmetrics", type=FILE, help="Write metrics for Prometheus' node_exporter.")
@click.option("-q", "--quiet", is_flag=True, help="Print the result only.")
@click.option("--verbose", is_flag=True, help="Print all findings and doubts, as `nodrop show --all`.")
@lock_options
@click.option("--wait-idle", metavar="TIME", help="Wait up to TIME for idle CPUs, e.g. 5min.")
@nfvbench_options
@click.pass_context
def run(context: click.Context, /, json_file: str | None, quiet: bool, **flags: Any) -> int:
    """Measure the highest loads that a SUT forwards without loss and with little loss.

    NDR, the no drop rate, is the highest load measured without loss; PDR, the partial drop rate, the highest load with
    at most the stated loss ratio (0.5 %). Loads are frames per second, both directions together. Each has an upper
    bound, the lowest load with too much loss, and a limit: if that is the tester, the SUT may forward more.
    """
    exit_code = run_action(context, flags, _collect_keys(flags))
    if exit_code is not None:
        return exit_code
    for note in collect_notes(flags, json_file):
        click.echo(f"nodrop: {note}", err=True)
    from nodrop.cli.measure import admit_runs, measure
    from nodrop.system.cpu_load import CpuSample

    sample = CpuSample()  # its time passes while the configuration is read and the path is brought up
    config = load_config(flags)
    with admit_runs(lambda cpus: _make_plans(config, flags, cpus), flags, sample) as admission:
        plans = admission.plans
        if any(plan.trex for plan in plans):
            plans = _make_plans(config, flags, admission.cpus, query_trex=True)
        if flags["wait_idle"]:
            _await_idle(plans, flags["wait_idle"])
        outputs = Outputs(json_file, flags["nfvbench_json"], flags["form"], flags["verbose"])
        return measure(plans, outputs, quiet, sample=sample)


def _await_idle(plans: "Sequence[Plan]", limit: str) -> None:
    """Wait for idle CPUs. Raises ConfigError for an invalid time, BusyError when it is over."""
    from nodrop.run.cpu_watch import await_idle_cpus
    from nodrop.units import parse_seconds

    try:
        limit_s = parse_seconds(limit)
    except ValueError as error:
        raise ConfigError(f"command line: --wait-idle: {error}") from None
    await_idle_cpus(plans, limit_s, lambda line: click.echo(f"nodrop: {line}", err=True))


def _make_plans(
    config: "Config", flags: dict[str, Any], cpus: "Sequence[int] | None" = None, *, query_trex: bool = False
) -> "tuple[Plan, ...]":
    """Make the plans of all runs, in order. Raises ConfigError, and GeneratorError for a TRex server."""
    from nodrop.run.local_planning import make_plans, use_one_back_end

    other = load_config(flags, overlays=(flags["interleave"],)) if flags["interleave"] else None
    if other:
        config, other = use_one_back_end(config, other)
    plans = make_plans(config, cpus, query_trex=query_trex)
    for plan in plans:
        if plan.repeat == 1 and not query_trex and cpus is None:  # once: plans may be made again
            _check_calibration(plan, config)
    if not other:
        return plans
    from nodrop.cli.variant_plans import make_variant_plans
    from nodrop.run.suite import interleave

    return interleave(plans, make_variant_plans(config, other, cpus, query_trex=query_trex))


def _check_calibration(plan: "Plan", config: "Config") -> None:
    """Warn if the maximum load exceeds the calibrated load of the tester."""
    from nodrop.report.calibration import describe_calibrated_load
    from nodrop.units import format_pps

    calibration, max_pps = plan.calibration, config.search.max_load
    if calibration and max_pps and max_pps > calibration.load_pps:
        limit = describe_calibrated_load(calibration)
        click.echo(
            f"nodrop: search.max_load: {format_pps(max_pps)} exceeds the tester's calibration: {limit}", err=True
        )


def load_config(flags: dict[str, Any], overlays: "Sequence[Source]" = ()) -> "Config":
    """Load the configuration of files and flags, and of overlays that override both. Raises ConfigError."""
    from nodrop.config.load import build_config

    defaults = {"repeat": INTERLEAVED_REPEATS} if flags.get("interleave") else None
    return build_config(flags["files"], _collect_keys(flags), defaults, overlays)


def _collect_keys(flags: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of all flags. Raises ConfigError for a key that is set by equivalent flags."""
    nfvbench, keys = collect_nfvbench_keys(flags), collect_overrides(flags, _collect_run_keys(flags))
    for flag_name, (key, flag) in EQUIVALENT_FLAGS.items():
        if flag_name in keys and key in nfvbench:
            raise ConfigError(
                f"command line: --{flag_name.replace('_', '-')} {keys[flag_name]} and {flag} {nfvbench[key]} "
                "set the same thing; use one of them"
            )
    return nfvbench | keys


def _collect_run_keys(flags: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of this command's own flags."""
    return {
        "search.warm_start": flags["warm_start"],
        "sut": flags["sut"],
        "workload": flags["workload"],
        "chains": flags["chains"],
        "hops": flags["hops"],
        "ports": flags["ports"] or None,
        "sut_pids": list(flags["sut_pids"]) or None,
        "sut_cgroups": list(flags["sut_cgroups"]) or None,
        "lab": flags["lab"],
        "engine.backend": flags["backend"],
        "frame_bytes": flags["frame_bytes"],
        "pattern.kind": flags["pattern"],
        "traffic.replay.file": flags["replay"],
        "capture.file": flags["capture"],
        "repeat": flags["repeat"],
        "expect": list(flags["expect"]) or None,
        "trial_events": list(flags["trial_events"]) or None,
        "latency.enabled": False if flags["no_latency"] else None,
        "results_dir": flags["results_dir"],
        "ship.events_file": flags["events"],
        "ship.openmetrics_file": flags["openmetrics"],
    }
