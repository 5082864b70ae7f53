"""Numbers of sockets, cores and threads, and SMT."""

from typing import NamedTuple

from nodrop.host import cpu_lists, observations
from nodrop.host.cpu_lists import CPUS
from nodrop.host.processor.inputs import ProcessorInputs
from nodrop.model.observation import Feature, Observation

_SMT = f"{CPUS}/smt"


class CoreCounts(NamedTuple):
    """Numbers of online CPUs."""

    sockets: Observation[int]
    cores: Observation[int]
    threads_per_core: Observation[int]


def count_cores(chip: ProcessorInputs) -> CoreCounts:
    """Count by the sysfs files of every CPU."""
    tree = chip.source.tree
    numbers = [int(each[3:]) for each in chip.cpus]
    package_ids = (tree.read_number(f"{CPUS}/{cpu}/topology/physical_package_id") for cpu in chip.cpus)
    sockets = {each for each in package_ids if each is not None and each >= 0}
    reported = cpu_lists.read_siblings(tree, numbers, [])
    running = cpu_lists.read_online_cpus(tree)
    cores = {reported[cpu] for cpu in running if cpu in reported}
    topology = f"{CPUS}/cpu*/topology"
    return CoreCounts(
        _observe_sockets(chip, len(sockets), f"{topology}/physical_package_id"),
        _observe_count(chip, len(cores), f"{topology}/thread_siblings_list"),
        _observe_count(chip, max(map(len, cores), default=0), f"{topology}/thread_siblings_list"),
    )


def describe_smt(chip: ProcessorInputs, counts: CoreCounts) -> Feature:
    """Describe simultaneous multithreading: supported, and active."""
    moment, tree = chip.source.moment, chip.source.tree
    control = tree.read_text(f"{_SMT}/control")
    active = observations.observe_switch(chip.source, f"{_SMT}/active")
    threads = counts.threads_per_core
    if not active.known and threads.value:
        active = moment.inferred(threads.value > 1, threads.source, f"{threads.value} threads on a core")
    if control in ("on", "off", "forceoff"):
        supported = moment.reported(True, f"{_SMT}/control", control)
    elif control in ("notsupported", "notimplemented"):
        reason = f"{control}; also said where the firmware has it off"
        supported = moment.reported(bool(active.value), f"{_SMT}/control", reason)
    elif active.value:
        supported = moment.inferred(True, active.source, "it is active")
    else:
        supported = observations.observe_unreadable(chip.source, f"{_SMT}/control")
    return Feature(supported=supported, enabled=active)


def _observe_sockets(chip: ProcessorInputs, count: int, path: str) -> Observation[int]:
    if len(chip.parts) > 1 and count > 1:
        return chip.source.moment.unknown("the kernel's packages are clusters of unlike cores here", path)
    return _observe_count(chip, count, path)


def _observe_count(chip: ProcessorInputs, count: int, path: str) -> Observation[int]:
    if count:
        return chip.source.moment.reported(count, path)
    return chip.source.moment.unknown("no CPU's files tell", path)
