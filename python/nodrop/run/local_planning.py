"""A configuration decided on this machine: with its labs, results, files, interfaces, and its tester's calibration."""

from collections.abc import Sequence

from nodrop import store
from nodrop.config.schema import Config
from nodrop.errors import PlacementError
from nodrop.generator import engine_inspect
from nodrop.model.cloud import CloudFlavor
from nodrop.model.plan import Plan
from nodrop.model.trex import TrexPlan, TrexPort
from nodrop.plan import build_each
from nodrop.plan.resolvers import InspectTrex, Lookups
from nodrop.stage import persistent_lab
from nodrop.stage.external import port_macs
from nodrop.stage.host_facts import read_host
from nodrop.store import calibration
from nodrop.system.ethtool import link_speed_bps


def plans_here(config: Config, cpus: Sequence[int] | None = None, *, asks_trex: bool = False) -> tuple[Plan, ...]:
    """What will be done: a plan for each frame size, with these CPUs or all that there are.

    A TRex server is asked for its ports, and started where that is wanted, only by who has the turn to measure; without
    that a plan is good to look at.

    Raises: ConfigError, or StageError or GeneratorError for what has to be there.
    """
    host = read_host()
    lookups = lookups_here(config.results_dir)
    if asks_trex:
        lookups = lookups._replace(inspect_trex=_inspect_trex())
    return tuple(
        plan.model_copy(update={"calibration": calibration.find(calibration.key_of(plan, host))})
        for plan in build_each(config, lookups, cpus)
    )


def lookups_here(results_dir: str) -> Lookups:
    """Everything that is on this machine but TRex servers, and results in that directory."""
    return Lookups(
        find_lab=lambda name: persistent_lab.find(name).plan,
        find_result=lambda wanted: store.load(wanted, results_dir),
        inspect=engine_inspect.inspect,
        check_filter=engine_inspect.check_filter,
        inspect_ports=port_macs,
        read_speed=link_speed_bps,
        read_flavor=_read_flavor,
    )


def _inspect_trex() -> InspectTrex:
    """Asks a server once, however many plans there are."""
    from nodrop.generator.trex.inspection import inspect  # only where there is such a server

    known: list[tuple[TrexPlan, tuple[TrexPort, ...]]] = []

    def asked(trex: TrexPlan) -> tuple[TrexPort, ...]:
        found = next((ports for plan, ports in known if plan == trex), None)
        if found is None:
            known.append((trex, found := inspect(trex)))
        return found

    return asked


def _read_flavor(vmd: str, host: str | None) -> CloudFlavor:
    """The flavor of a VM that is placed on a host, or on this machine. Raises ConfigError, PlacementError."""
    from nodrop.descriptors import read_chd, read_vmd  # only where a descriptor is named
    from nodrop.host.describe import describe, this_machine
    from nodrop.vm.config.instance import instance
    from nodrop.vm.config.nova import flavor
    from nodrop.vm.place import place

    asked, _ = read_vmd(vmd)
    on = read_chd(host) if host else describe(this_machine())
    found = place(asked, [on])
    if found.placement is None:
        raise PlacementError(
            f"openstack.flavor.vmd: {vmd} asked, that VM does not fit on {host or 'this machine'}; `nodrop vm place` "
            "says why, openstack.flavor.host names the Compute Host Descriptor of another"
        )
    return flavor(instance(asked, found.placement, on))
