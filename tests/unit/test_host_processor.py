"""Leaves of a processor: the source of each, with supported and enabled kept separate."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.chips import dump, machine
from tests.machines import reopen_machine
from tests.waiting import stretch

from nodrop.host import processor
from nodrop.host.describe import open_local_source
from nodrop.model.chd import Processor
from nodrop.model.observation import Feature

CPU = "/sys/devices/system/cpu"
KVM = "/sys/module"
SKYLAKE = {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "85", "stepping": "4"}
EPYC = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "1", "stepping": "1"}
CAPTURED = (
    "bulldozer-8n",
    "epyc-8n-smt",
    "qemu-16n-dies",
    "vmware-4n",
    "xeon-1s-linux6",
    "xeon-4n-pci",
    "xeon-e5-2680-2n",
)
"""Machines of tests/trees that lscpu can read."""
XEON = "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz"


def cpuinfo(fields: dict[str, str], flags: str, **others: str) -> dict[str, str | bytes]:
    lines = {"processor": "0", **fields, "model name": XEON, "flags": flags, **others}
    return {"/proc/cpuinfo": "".join(f"{key}\t: {value}\n" for key, value in lines.items())}


def describe_processor(root: Path, *parts: dict[str, str | bytes], dumped: str = "") -> Processor:
    files = {path: content for part in parts for path, content in part.items()}
    return processor.describe_processor(machine(root, files, dump(dumped) if dumped else None))


def feature_values(feature: Feature) -> tuple[bool | None, bool | None]:
    return feature.supported.value, feature.enabled.value


def intel_units(*caps: int, ecap: int) -> dict[str, str | bytes]:
    at = "/sys/class/iommu/dmar{}/intel-iommu/{}"
    values = ((place, name, value) for place, cap in enumerate(caps) for name, value in (("cap", cap), ("ecap", ecap)))
    return {at.format(place, name): f"{value:x}\n" for place, name, value in values}


def iommu_files(kind: str = "DMA") -> dict[str, str | bytes]:
    return {"/sys/kernel/iommu_groups/0/type": f"{kind}\n", "/sys/firmware/acpi/tables/DMAR": b"DMAR"}


def test_intels_virtualization_is_supported_by_cpuid_and_enabled_by_the_kernel(tmp_path):
    result = describe_processor(
        tmp_path,
        cpuinfo(SKYLAKE, "vmx pse pdpe1gb", **{"vmx flags": "vnmi ept vpid ept_1gb ple pml apicv posted_intr"}),
        {f"{KVM}/kvm_intel/parameters/{name}": "Y\n" for name in ("ept", "vpid", "enable_apicv")},
        dumped="skylake-6140",
    )
    assert feature_values(result.virtualization) == (True, True)
    assert feature_values(result.slat) == (True, True)
    assert feature_values(result.tlb_extension) == (True, True)
    assert feature_values(result.slat_large_pages["1G"]) == (True, True)
    assert feature_values(result.slat_large_pages["2M"]) == (True, True)
    assert result.slat_large_pages["2M"].supported.confidence == "inferred"
    assert result.reduced_exits.value == ("apicv", "posted_intr", "ple", "pml", "vnmi")


def test_what_the_module_switched_off_is_supported_but_not_enabled(tmp_path):
    result = describe_processor(
        tmp_path,
        cpuinfo(SKYLAKE, "vmx", **{"vmx flags": "ept vpid ept_1gb"}),
        {f"{KVM}/kvm_intel/parameters/ept": "N\n", f"{KVM}/kvm_intel/parameters/vpid": "0\n"},
    )
    assert feature_values(result.slat) == (True, False)
    assert feature_values(result.tlb_extension) == (True, False)
    assert feature_values(result.slat_large_pages["1G"]) == (True, False)


def test_a_module_that_is_not_loaded_leaves_what_is_enabled_unknown(tmp_path):
    result = describe_processor(tmp_path, cpuinfo(SKYLAKE, "vmx", **{"vmx flags": "ept vpid"}))
    assert feature_values(result.slat) == (True, None)
    assert result.slat.enabled.why == "kvm_intel is not loaded"


def test_a_flag_that_the_kernel_struck_is_virtualization_off_in_the_firmware(tmp_path):
    """CPUID still has the bit; Linux 5.6 and newer clears the flag where IA32_FEATURE_CONTROL forbids VMX."""
    result = describe_processor(tmp_path, cpuinfo(SKYLAKE, "pse"), dumped="skylake-6140")
    assert feature_values(result.virtualization) == (True, False)
    assert "off in the firmware" in result.virtualization.enabled.why


def test_a_kernel_that_lists_few_flags_of_vmx_is_not_taken_to_deny_the_others(tmp_path):
    """Linux before 5.7 lists tpr_shadow, vnmi, flexpriority, ept and vpid in the flags, and no others."""
    result = describe_processor(tmp_path, cpuinfo(SKYLAKE, "vmx tpr_shadow vnmi flexpriority ept"))
    assert result.slat.supported.value is True
    assert result.tlb_extension.supported.value is None
    assert result.reduced_exits.value == ("tpr_shadow", "flexpriority", "vnmi")
    assert "5.7" in result.reduced_exits.why


def test_amds_nested_paging_has_the_processors_page_sizes(tmp_path):
    result = describe_processor(
        tmp_path,
        cpuinfo(EPYC, "svm npt pse pdpe1gb flushbyasid decodeassists nrip_save avic vgif"),
        {f"{KVM}/kvm_amd/parameters/{name}": "1\n" for name in ("npt", "avic")},
        dumped="zen3-epyc-7763",
    )
    assert feature_values(result.slat) == (True, True)
    assert feature_values(result.slat_large_pages["1G"]) == (True, True)
    assert feature_values(result.tlb_extension) == (True, True)
    assert result.tlb_extension.supported.why.endswith("ASIDs")
    assert result.reduced_exits.value == ("avic", "decodeassists", "nrip_save", "vgif")


def test_large_pages_of_guests_that_are_split_say_so(tmp_path):
    result = describe_processor(
        tmp_path,
        cpuinfo(SKYLAKE, "vmx", **{"vmx flags": "ept ept_1gb"}),
        {
            f"{KVM}/kvm_intel/parameters/ept": "Y\n",
            f"{CPU}/vulnerabilities/itlb_multihit": "KVM: Mitigation: Split huge pages\n",
        },
    )
    enabled = result.slat_large_pages["2M"].enabled
    assert enabled.value is True
    assert enabled.why.startswith("enabled but split")


@pytest.mark.parametrize(
    ("message", "flush", "expected"),
    [
        ("Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable", "cond", False),
        ("Mitigation: PTE Inversion; VMX: cache flushes, SMT disabled", None, False),
        ("Mitigation: PTE Inversion; VMX: flush not necessary, SMT disabled", "not required", True),
        ("Mitigation: PTE Inversion; VMX: cache flushes, SMT vulnerable", "never", True),
        ("Not affected", None, True),
        (None, None, None),
    ],
)
def test_flushing_the_first_cache_on_entry_negates_its_extension(tmp_path, message, flush, expected):
    """Texts of Linux, arch/x86/kernel/cpu/bugs.c, l1tf_show_state."""
    files: dict[str, str | bytes] = {f"{CPU}/vulnerabilities/l1tf": message} if message else {}
    if flush:
        files[f"{KVM}/kvm_intel/parameters/vmentry_l1d_flush"] = flush
    assert describe_processor(tmp_path, cpuinfo(SKYLAKE, "vmx"), files).cache_extension.enabled.value is expected


def test_registers_of_vt_d_are_read_bit_by_bit(tmp_path):
    """A Skylake server: CAP 8d2078c106f0466 has 2 MB and 1 GB pages and posted interrupts; ECAP f020df remaps."""
    result = describe_processor(
        tmp_path,
        cpuinfo(SKYLAKE, "vmx"),
        intel_units(0x8D2078C106F0466, 0x8D2078C106F0466, ecap=0xF020DF),
        iommu_files(),
        {"/proc/interrupts": "  24:  0  IR-PCI-MSI 1-edge dmar0\n", f"{KVM}/kvm_intel/parameters/enable_apicv": "Y"},
    )
    assert feature_values(result.iommu) == (True, True)
    assert feature_values(result.iommu_slat) == (True, True)
    assert feature_values(result.iommu_slat_large_pages["2M"]) == (True, True)
    assert feature_values(result.io_large_pages["1G"]) == (True, True)
    assert feature_values(result.interrupt_remapping) == (True, True)
    assert feature_values(result.posted_interrupts) == (True, True)


def test_one_unit_without_large_pages_denies_them_to_all(tmp_path):
    """A Westmere unit, CAP c90780106f0462, and one that supports large pages: a guest's pages must suit every unit."""
    result = describe_processor(
        tmp_path,
        cpuinfo(SKYLAKE, "vmx"),
        intel_units(0x8D2078C106F0466, 0xC90780106F0462, ecap=0xF020DF),
        iommu_files(),
    )
    assert feature_values(result.iommu_slat_large_pages["2M"]) == (False, False)
    assert "1 of 2 units" in result.iommu_slat_large_pages["2M"].supported.why


def test_a_unit_that_the_kernel_does_not_use_is_supported_but_off(tmp_path):
    result = describe_processor(
        tmp_path,
        cpuinfo(SKYLAKE, "vmx"),
        {"/sys/firmware/acpi/tables/DMAR": b"DMAR", "/sys/kernel/iommu_groups/keep": b""},
        {"/proc/interrupts": "  24:  0  PCI-MSI 1-edge eth0\n"},
    )
    (tmp_path / "sys/kernel/iommu_groups/keep").unlink()
    result = describe_processor(tmp_path)
    assert feature_values(result.iommu) == (True, False)
    assert result.interrupt_remapping.enabled.value is False
    assert result.iommu_slat.enabled.value is False


def test_amds_unit_remaps_always_and_posts_by_its_features(tmp_path):
    """Linux prints `Extended features (0x246577efa2254afa, ...)` of a Zen 3 server: GAMSup is 1."""
    unit = "/sys/class/iommu/ivhd0/amd-iommu"
    result = describe_processor(
        tmp_path,
        cpuinfo(EPYC, "svm npt"),
        {f"{unit}/cap": "40\n", f"{unit}/features": "246577efa2254afa:0\n"},
        {f"{unit.replace('0', '1')}/cap": "40\n", f"{unit.replace('0', '1')}/features": "246577efa2254afa\n"},
        iommu_files("identity"),
    )
    assert feature_values(result.iommu_slat_large_pages["1G"]) == (True, True)
    assert result.interrupt_remapping.supported.value is True
    assert result.posted_interrupts.supported.value is True


def test_switching_large_pages_off_on_the_command_line_counts(tmp_path):
    result = describe_processor(
        tmp_path,
        cpuinfo(SKYLAKE, "vmx"),
        intel_units(0x8D2078C106F0466, ecap=0xF020DF),
        iommu_files(),
        {"/proc/cmdline": "root=/dev/sda1 intel_iommu=on,sp_off\n"},
    )
    assert feature_values(result.io_large_pages["2M"]) == (True, False)
    assert feature_values(result.iommu_slat) == (True, True)


@pytest.mark.parametrize(
    ("fields", "name", "expected"),
    [
        ({**SKYLAKE}, XEON, True),
        ({**SKYLAKE, "model": "45"}, "Intel(R) Core(TM) i7-3960X CPU @ 3.30GHz", None),
        ({**SKYLAKE, "model": "47"}, "Intel(R) Xeon(R) CPU E7- 4870 @ 2.40GHz", None),
        ({**EPYC}, "AMD EPYC 7763 64-Core Processor", False),
        ({**EPYC, "cpu family": "26"}, "AMD EPYC 9755 128-Core Processor", None),
        ({"vendor_id": "HygonGenuine", "cpu family": "24", "model": "0"}, "Hygon C86 7185", False),
    ],
)
def test_direct_cache_access_is_known_of_models_in_the_table_alone(tmp_path, fields, name, expected):
    result = describe_processor(tmp_path, cpuinfo(fields, "pse", **{"model name": name})).direct_cache_access
    assert result.supported.value is expected
    assert result.supported.confidence == ("unknown" if expected is None else "database")


def test_smt_that_the_kernel_switched_off_is_supported_but_not_active(tmp_path):
    result = describe_processor(tmp_path, {f"{CPU}/smt/control": "forceoff\n", f"{CPU}/smt/active": "0\n"})
    assert feature_values(result.smt) == (True, False)


def test_clocks_come_from_the_driver_then_cpuid_then_the_name(tmp_path):
    freq = f"{CPU}/cpu0/cpufreq"
    cpu = cpuinfo(SKYLAKE, "ida", **{"cpu MHz": "2300.123"})
    named = describe_processor(tmp_path, cpu)
    assert (named.base_mhz.value, named.base_mhz.confidence) == (2300.0, "inferred")
    requested = describe_processor(tmp_path, cpu, dumped="skylake-6140")
    assert requested.base_mhz.source == "cpuid 0x16"
    driven = describe_processor(
        tmp_path,
        {
            f"{freq}/base_frequency": "2300000\n",
            f"{freq}/cpuinfo_max_freq": "3700000\n",
            f"{freq}/scaling_governor": "performance\n",
            f"{freq}/scaling_driver": "intel_pstate\n",
            f"{CPU}/intel_pstate/no_turbo": "1\n",
        },
    )
    assert (driven.base_mhz.value, driven.max_mhz.value, driven.current_mhz.value) == (2300.0, 3700.0, 2300.123)
    assert driven.governor.value == "performance"
    assert feature_values(driven.turbo) == (True, False)


def test_governors_that_differ_are_all_named(tmp_path):
    result = describe_processor(
        tmp_path,
        {f"{CPU}/cpu{each}/cpufreq/scaling_governor": name for each, name in enumerate(["powersave", "performance"])},
    )
    assert result.governor.value == "performance, powersave"


def test_idle_states_that_are_disabled_are_left_out(tmp_path):
    at = f"{CPU}/cpu0/cpuidle"
    result = describe_processor(
        tmp_path,
        *({f"{at}/state{n}/name": name, f"{at}/state{n}/disable": off} for n, name, off in
          ((0, "POLL", "0"), (1, "C1", "0"), (2, "C6", "1"))),
    )  # fmt: skip
    assert result.idle_states.value == ("POLL", "C1")


def test_an_arm_core_is_named_by_its_registers(tmp_path):
    result = describe_processor(
        tmp_path,
        {"/proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n"},
        {f"{CPU}/cpu0/regs/identification/midr_el1": "0x00000000413fd0c1\n"},
    )
    assert (result.vendor.value, result.model.value) == ("Arm", "Neoverse-N1")
    assert (result.architecture.value, result.stepping.value) == ("aarch64", 1)
    assert result.model.confidence == "database"


def test_a_core_in_no_table_is_unknown_with_its_numbers(tmp_path):
    result = describe_processor(
        tmp_path,
        {"/proc/cpuinfo": "CPU implementer\t: 0x99\nCPU architecture: 8\nCPU variant : 0x1\nCPU part : 0xabc\n"
         "CPU revision\t: 2\n"},
    )  # fmt: skip
    assert not result.vendor.known
    assert "0x99" in result.vendor.why
    assert "0xabc" in result.model.why


@pytest.fixture(params=["", *CAPTURED], ids=lambda name: name or "this machine")
def machine_and_lscpu(request, require_tool):
    """Return a machine, and the lscpu command for it."""
    source = reopen_machine(request.param) if request.param else open_local_source()
    command = [str(require_tool("lscpu")), "-J", "-B"]
    return source, [*command, "--sysroot", str(source.tree.root)] if request.param else command


def test_a_machine_is_what_lscpu_says_it_is(machine_and_lscpu):
    source, command = machine_and_lscpu
    output = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=stretch(20)).stdout)
    listed = dict(_flat(output["lscpu"]))
    result = processor.describe_processor(source)
    assert result.architecture.value == listed["Architecture:"] or not source.live
    assert str(result.model.value) == " ".join(listed["Model name:"].split())
    for field, leaf in (
        ("CPU family:", result.family),
        ("Model:", result.model_number),
        ("Stepping:", result.stepping),
        ("Socket(s):", result.socket_count),
        ("Thread(s) per core:", result.threads_per_core_count),
    ):
        if field in listed:
            assert str(leaf.value) == listed[field], field
    assert result.core_count.value == int(listed["Socket(s):"]) * int(listed["Core(s) per socket:"])
    assert set(result.isa_extensions.value or ()) <= set(listed["Flags:"].split())


def test_a_machines_caches_are_those_of_lscpu(machine_and_lscpu):
    source, command = machine_and_lscpu
    output = json.loads(
        subprocess.run([*command, "--caches"], capture_output=True, check=True, timeout=stretch(20)).stdout
    )
    expected = {
        (int(row["level"]), row["type"].lower(), int(row["one-size"]), int(row["all-size"])) for row in output["caches"]
    }
    result = processor.describe_processor(source).caches
    assert expected == {
        (each.level, each.kind, each.size_bytes.value, each.size_bytes.value * each.instance_count.value)
        for each in result
    }


def test_clusters_of_unlike_cores_are_no_sockets():
    """Cortex-A510, A710, A715 and X3 of one chip: its kernel calls each cluster a package."""
    result = processor.describe_processor(reopen_machine("arm-big-little"))
    assert not result.socket_count.known
    assert result.model.value == "Cortex-A510"
    assert "Cortex-X3" in result.model.why


def _flat(rows):
    for row in rows:
        yield row["field"], row["data"]
        yield from _flat(row.get("children", []))
