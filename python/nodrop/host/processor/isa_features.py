"""ISA extensions for packet processing, direct cache access, cache allocation."""

from nodrop.host.msr import read_msr
from nodrop.host.processor import identification, models
from nodrop.host.processor.inputs import CPUINFO, ProcessorInputs
from nodrop.model.observation import Feature, Observation

_IIO_LLC_WAYS = 0xC8B
"""Bit mask of LLC ways that devices write to, on Xeon. Source: Intel, Xeon Scalable uncore reference."""
_RESCTRL = "/sys/fs/resctrl"


def read_isa_extensions(chip: ProcessorInputs) -> Observation[tuple[str, ...]]:
    """Return the kernel's names of relevant ISA extensions."""
    if not chip.flags:
        return chip.source.moment.unknown(chip.source.tree.failure_reason(CPUINFO) or "no flags are listed", CPUINFO)
    flag_names = models.load_models().flags
    extensions = flag_names.x86 if "flags" in chip.fields else flag_names.arm
    grouped = sorted(each for each in chip.flags if each.startswith(flag_names.x86_beginnings))
    return chip.source.moment.reported((*(each for each in extensions if each in chip.flags), *grouped), CPUINFO)


def describe_direct_cache_access(chip: ProcessorInputs) -> Feature:
    """Describe direct cache access; most processors have no bit for it, so a table of models decides."""
    moment, cpuid = chip.source.moment, chip.source.cpuid
    family, model = identification.read_family(chip).value, identification.read_model_number(chip).value
    name = identification.read_model(chip).value or ""
    # SDCIAE, AMD APM volume 2, 19.4.7: injection can be steered, so it is there
    if chip.amd and cpuid and cpuid.test_bit(0x8000_0020, "ebx", 6):
        supported = moment.reported(True, "cpuid 0x80000020", "L3 smart data cache injection")
        return Feature(supported=supported, enabled=moment.unknown("each device's driver decides", "cpuid 0x80000020"))
    row = (
        None
        if family is None or model is None
        else models.find_direct_cache_access(chip.vendor_id, family, model, name)
    )
    if row is None:
        unknown: Observation[bool] = moment.unknown("this model is in no table", "models.toml")
        return Feature(supported=unknown, enabled=unknown)
    supported = moment.seen(row.value, row.source, "database", row.why)
    if not row.value:
        return Feature(supported=supported, enabled=moment.inferred(False, row.source, "not supported"))
    if chip.virtual:
        return Feature(supported=supported, enabled=moment.unknown("the hypervisor does not show it", "msr"))
    ways = read_msr(chip.source, _IIO_LLC_WAYS)
    if ways.value is not None:
        return Feature(
            supported=supported,
            enabled=moment.reported(ways.value != 0, ways.source, f"{ways.value.bit_count()} ways of the cache"),
        )
    reason = f"on from the factory; which root ports use it, setpci shows to root ({ways.why})"
    return Feature(supported=supported, enabled=moment.inferred(True, row.source, reason))


def describe_cache_allocation(chip: ProcessorInputs) -> Feature:
    """Describe cache and memory bandwidth allocation; enabled: resctrl is mounted."""
    moment, tree = chip.source.moment, chip.source.tree
    if "flags" not in chip.fields:
        reason = tree.failure_reason(CPUINFO) or "this architecture does not list it"
        return Feature(supported=moment.unknown(reason, CPUINFO), enabled=moment.unknown(reason, CPUINFO))
    flags = [each for each in ("cat_l3", "cat_l2", "cdp_l3", "cdp_l2", "mba") if each in chip.flags]
    supported = moment.reported(bool(flags), CPUINFO, ", ".join(flags) or "no flag cat_l3, cat_l2 or mba")
    if not flags:
        return Feature(supported=supported, enabled=moment.inferred(False, CPUINFO, "not supported"))
    mounted = tree.exists(f"{_RESCTRL}/info")
    return Feature(supported=supported, enabled=moment.reported(mounted, _RESCTRL, "" if mounted else "not mounted"))
