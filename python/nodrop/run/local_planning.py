"""Plans for this machine: with its labs, results, files and interfaces, and the calibration of its tester."""

import os
from collections.abc import Sequence

from nodrop import store
from nodrop.config.schema import Config
from nodrop.errors import ConfigError, PlacementError
from nodrop.formatting.doubts import QUOTA_REMEDY
from nodrop.generator.inspection import check_filter, inspect_replay, inspect_trex_ports, supports_xdp_live
from nodrop.model.cloud import CloudFlavor
from nodrop.model.plan import Plan
from nodrop.model.trex import TrexPlan, TrexPort
from nodrop.plan import build_each, build_plan
from nodrop.plan.backend import use_packet_sockets
from nodrop.plan.resolvers import InspectTrex, Resolvers
from nodrop.stage import persistent_lab
from nodrop.stage.external import read_port_macs
from nodrop.stage.host_facts import read_host
from nodrop.store import calibration
from nodrop.system.cpu_quota import CpuQuota, CpuQuotaReader
from nodrop.system.ethtool import link_speed_bps


def make_plans(config: Config, cpus: Sequence[int] | None = None, *, query_trex: bool = False) -> tuple[Plan, ...]:
    """Make a plan for each frame size, with the given CPUs or all CPUs of this process.

    Args:
        config: the configuration.
        cpus: CPUs to use.
        query_trex: query a TRex server for its ports, and start it if configured. Only the owner of the measurement
            lock may; plans made without it can be shown but not carried out.

    Raises: ConfigError; StageError or GeneratorError for a lab, interface or server that is not available.
    """
    host = read_host()
    resolvers = make_local_resolvers(config.results_dir)
    if query_trex:
        resolvers = resolvers._replace(inspect_trex=_inspect_trex())
    return tuple(
        _fit_quota(plan).replace(calibration=calibration.find(calibration.build_key(plan, host)))
        for plan in build_each(config, resolvers, cpus)
    )


def use_one_back_end(a: Config, b: Config) -> tuple[Config, Config]:
    """Return two configurations that send by the same back end, if it is not named: their runs are compared."""
    backends = {plan.engine.backend for each in (a, b) for plan in make_plans(each)}
    return (a, b) if len(backends) == 1 else (use_packet_sockets(a), use_packet_sockets(b))


def make_calibration_plan(config: Config, run_config: Config, cpus: Sequence[int] | None = None) -> Plan:
    """Make the plan of a calibration: with the back end and the CPUs of the runs that it is for.

    Args:
        config: the configuration of the calibration, over a wire.
        run_config: that of the runs; its SUT decides the back end.
        cpus: CPUs to use.

    Raises: as `make_plans`.
    """
    resolvers = make_local_resolvers(config.results_dir)
    if run_config.sut not in ("ext", "openstack") and not run_config.lab and run_config.generator != "trex":
        engine = build_plan(run_config, resolvers, cpus).engine
        cores = engine.cores or config.engine.cores
        config = config.replace(engine=config.engine.replace(backend=engine.backend, cores=cores))
    return build_plan(config, resolvers, cpus)


def make_local_resolvers(results_dir: str) -> Resolvers:
    """Return resolvers into this machine, except TRex servers, and into the results of a directory."""
    return Resolvers(
        find_lab=lambda name: persistent_lab.find_lab(name).plan,
        find_result=lambda reference: store.load(reference, results_dir),
        inspect_replay=inspect_replay,
        check_filter=check_filter,
        inspect_ports=read_port_macs,
        read_speed=link_speed_bps,
        read_flavor=_read_flavor,
        supports_xdp_live=_supports_xdp_live,
    )


def _fit_quota(plan: Plan) -> Plan:
    """Return the plan with a warning if the CPU quota is too small for a run.

    Raises: ConfigError for a back end that no quota can throttle, see `_supports_xdp_live`.
    """
    quota = _read_throttling_quota()
    if quota is None:
        return plan
    if plan.engine.backend == "xdp_live":
        raise ConfigError(
            f"engine.backend: xdp_live cannot send under a CPU quota ({quota.cpu_count:g} CPUs in control group "
            f"{quota.group}); use --backend af_packet, or allow all CPUs"
        )
    shortage = quota.describe_shortage()
    return plan.with_warnings((f"{shortage}; {QUOTA_REMEDY}",)) if shortage else plan


def _supports_xdp_live() -> bool:
    """Return whether XDP programs can send here. Under a CPU quota they must not.

    Such a program runs in one system call, and Linux (from 6.18 on) throttles a task only when it returns to user mode:
    it would use up the quota of all other threads for as long as the trial lasts.
    """
    return _read_throttling_quota() is None and supports_xdp_live()


def _read_throttling_quota() -> CpuQuota | None:
    """Return the CPU quota of this process if it has more CPUs than that."""
    quota = CpuQuotaReader().read_quota()
    return quota if quota and quota.cpu_count < len(os.sched_getaffinity(0)) else None


def _inspect_trex() -> InspectTrex:
    """Return a query that asks each server once, however many plans use it."""
    replies: list[tuple[TrexPlan, tuple[TrexPort, ...]]] = []

    def query(trex: TrexPlan) -> tuple[TrexPort, ...]:
        ports = next((ports for plan, ports in replies if plan == trex), None)
        if ports is None:
            replies.append((trex, ports := inspect_trex_ports(trex)))
        return ports

    return query


def _read_flavor(vmd: str, host: str | None) -> CloudFlavor:
    """Return the flavor of a VM placed on a host, by default this machine. Raises ConfigError, PlacementError."""
    from nodrop.descriptors import read_chd, read_vmd
    from nodrop.host.describe import describe_host, open_local_source
    from nodrop.vm.config.instance import build_instance
    from nodrop.vm.config.nova import build_flavor
    from nodrop.vm.place import place_vm

    vm, _ = read_vmd(vmd)
    chd = read_chd(host) if host else describe_host(open_local_source())
    result = place_vm(vm, [chd])
    if result.placement is None:
        raise PlacementError(
            f"openstack.flavor.vmd: the VM of {vmd} does not fit on {host or 'this machine'}; run 'nodrop vm place' "
            "for the reasons, or set openstack.flavor.host to the Compute Host Descriptor of another host"
        )
    return build_flavor(build_instance(vm, result.placement, chd))
