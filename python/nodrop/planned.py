"""A configuration decided on this machine: with its labs, results, files, interfaces, and its tester's calibration."""

from collections.abc import Sequence

from nodrop import store
from nodrop.config.schema import Config
from nodrop.ethtool import link_speed_bps
from nodrop.generator import inspection
from nodrop.model.plan import Plan
from nodrop.model.trex import TrexPlan, TrexPort
from nodrop.plan import build_each
from nodrop.plan.lookups import Lookups
from nodrop.stage import standing
from nodrop.stage.external import port_macs
from nodrop.stage.host import read_host
from nodrop.store import calibration


def plans_here(config: Config, cpus: Sequence[int] | None = None) -> tuple[Plan, ...]:
    """What will be done: a plan for each frame size, with these CPUs or all that there are.

    Raises: ConfigError, or StageError for what has to be there.
    """
    host = read_host()
    return tuple(
        plan.model_copy(update={"calibration": calibration.find(calibration.key_of(plan, host))})
        for plan in build_each(config, lookups_here(config.results_dir), cpus)
    )


def lookups_here(results_dir: str) -> Lookups:
    """Everything that is on this machine, and results in that directory."""
    return Lookups(
        find_lab=lambda name: standing.find(name).plan,
        find_result=lambda wanted: store.load(wanted, results_dir),
        inspect=inspection.inspect,
        check_filter=inspection.check_filter,
        inspect_ports=port_macs,
        read_speed=link_speed_bps,
        inspect_trex=_inspect_trex,
    )


def _inspect_trex(plan: TrexPlan) -> tuple[TrexPort, ...]:
    from nodrop.generator.trex.inspection import inspect  # noqa: PLC0415 - only where there is such a server

    return inspect(plan)
