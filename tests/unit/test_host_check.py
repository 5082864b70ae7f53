"""Host checks: pass, fail and unknown of each, with the remedies."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable

import pytest
from tests.hosts import GIB, MOMENT, host, make_feature
from tests.machines import describe_machine
from tests.waiting import stretch

from nodrop.cli import main
from nodrop.host.check import CHECK_RULES, check_host
from nodrop.host.check.rfc8204 import RECORD_ITEMS
from nodrop.model.chd import CpuState, HostDescriptor, LargePages, Sriov, VSwitch
from nodrop.model.hostcheck import HostCheck, compute_score
from nodrop.model.observation import Feature, Observation

Change = Callable[[HostDescriptor], HostDescriptor]
UNKNOWN = MOMENT.unknown("needs root")


def replace_leaf(chd: HostDescriptor, path: str, value: object) -> HostDescriptor:
    """Return the descriptor with one leaf replaced, e.g. `capabilities.processor.slat`."""
    first, _, rest = path.partition(".")
    inner = getattr(chd, first)
    return chd.model_copy(update={first: replace_leaf(inner, rest, value) if rest else value})


def leaf(path: str, value: object) -> Change:
    return lambda each: replace_leaf(each, path, value)


def setting(**values: str | None) -> Change:
    def change(chd: HostDescriptor) -> HostDescriptor:
        message = {name: UNKNOWN if value is None else MOMENT.reported(value, "test") for name, value in values.items()}
        return replace_leaf(chd, "capabilities.settings", {**chd.capabilities.settings, **message})

    return change


def nodes(change: Callable) -> Change:
    return lambda each: replace_leaf(
        each, "resources.numa_nodes", tuple(change(node) for node in each.resources.numa_nodes)
    )


def pages(value: bool | None) -> dict:
    feature = Feature(supported=UNKNOWN) if value is None else make_feature(value)
    return {"2M": make_feature(True), "1G": feature}


def cards(**update: object) -> Change:
    return nodes(lambda node: node.model_copy(update={"nics": tuple(n.model_copy(update=update) for n in node.nics)}))


def ports(sriov: Sriov | None) -> Change:
    def change(node):
        nics = (
            nic.model_copy(update={"ports": tuple(p.model_copy(update={"sriov": sriov}) for p in nic.ports)})
            for nic in node.nics
        )
        return node.model_copy(update={"nics": tuple(nics)})

    return nodes(change)


def large_pages(count: Observation[int]) -> Change:
    reserved = LargePages(size_bytes=GIB, total_count=count, used_count=MOMENT.reported(0, "test"))
    return nodes(
        lambda node: node.model_copy(update={"memory": node.memory.model_copy(update={"large_pages": (reserved,)})})
    )


def eligible_cpus(value: Observation[bool]) -> Change:
    return nodes(
        lambda node: node.model_copy(
            update={
                "cpus": node.cpus.model_copy(update={"cpu": {cpu: CpuState(eligible=value) for cpu in node.cpus.cpu}})
            }
        )
    )


def switches(acceleration: str | None) -> Change:
    def change(chd: HostDescriptor) -> HostDescriptor:
        how = UNKNOWN if acceleration is None else MOMENT.reported(acceleration, "test")
        switch = VSwitch(name="br0", kind=MOMENT.reported("ovs", "test"), acceleration=how)
        return setting(polling_processes="none")(replace_leaf(chd, "capabilities.vswitches", (switch,)))

    return change


P = "capabilities.processor."
Y = "capabilities.hypervisor.capabilities."


def feature(path: str) -> tuple[Change, Change, Change]:
    """Return pass, fail and unknown of a capability."""
    supported_only = Feature(supported=MOMENT.reported(True, "test"), enabled=UNKNOWN)
    return leaf(path, make_feature(True)), leaf(path, make_feature(False)), leaf(path, supported_only)


def hardware(path: str) -> tuple[Change, Change, Change]:
    """Return pass, fail and unknown of a leaf that only has to exist."""
    off = Feature(supported=MOMENT.reported(True, "test"), enabled=MOMENT.reported(False, "test"))
    return leaf(path, off), leaf(path, make_feature(False)), leaf(path, Feature(supported=UNKNOWN))


def page_changes(path: str) -> tuple[Change, Change, Change]:
    return leaf(path, pages(True)), leaf(path, pages(False)), leaf(path, pages(None))


def flag(path: str) -> tuple[Change, Change, Change]:
    yes, no = (MOMENT.reported(value, "test") for value in (True, False))
    return leaf(path, yes), leaf(path, no), leaf(path, UNKNOWN)


ISOLATED = {"isolated_cpus": "1-7", "nohz_full": "1-7", "rcu_nocbs": "1-7"}
CASES: dict[str, tuple[Change, Change, Change]] = {
    "H1": page_changes(P + "large_pages"),
    "H2": page_changes(P + "io_large_pages"),
    "H3": (
        leaf(P + "tlb_large_pages", {"2M": MOMENT.reported(True, "test"), "1G": MOMENT.reported(True, "test")}),
        leaf(P + "tlb_large_pages", {"2M": MOMENT.reported(True, "test"), "1G": MOMENT.reported(False, "test")}),
        leaf(P + "tlb_large_pages", {"2M": MOMENT.reported(True, "test"), "1G": UNKNOWN}),
    ),
    "H4": flag(P + "iotlb_large_pages"),
    "H5": (
        leaf(P + "reduced_exits", MOMENT.reported(("vapic",), "test")),
        leaf(P + "reduced_exits", MOMENT.reported((), "test")),
        leaf(P + "reduced_exits", UNKNOWN),
    ),
    "H6": hardware(P + "slat"),
    "H7": page_changes(P + "slat_large_pages"),
    "H8": feature(P + "cache_extension"),
    "H9": feature(P + "tlb_extension"),
    "H10": hardware(P + "iommu_slat"),
    "H11": page_changes(P + "iommu_slat_large_pages"),
    "H12": hardware(P + "interrupt_remapping"),
    "H13": feature(P + "direct_cache_access"),
    "H14": hardware(P + "smt"),
    "Y1": feature(Y + "slat"),
    "Y2": feature(Y + "slat_large_pages"),
    "Y3": feature(Y + "iommu_slat"),
    "Y4": feature(Y + "iommu_slat_large_pages"),
    "Y5": feature(Y + "interrupt_remapping"),
    "Y6": feature(Y + "no_instruction_emulation"),
    "Y7": feature(Y + "cpu_pinning"),
    "Y8": feature(Y + "numa_memory_pinning"),
    "Y9": feature(Y + "numa_large_page_pinning"),
    "A1": (switches("dpdk"), switches("none"), switches(None)),
    "A2": (setting(**ISOLATED), setting(isolated_cpus="none"), setting(isolated_cpus="1-7", nohz_full=None)),
    "A3": (
        setting(nic_irq_cpus="eth0=0 eth1=8-9", **ISOLATED),
        setting(nic_irq_cpus="eth0=0 eth1=7-9", **ISOLATED),
        setting(nic_irq_cpus="eth0=0", isolated_cpus=None),
    ),
    "A4": (setting(irqbalance="not running"), setting(irqbalance="running"), setting(irqbalance=None)),
    "A5": (
        setting(services="ssh.service cron.service", firewall="none"),
        setting(services="ssh.service snapd.service", firewall="none"),
        setting(services="ssh.service", firewall=None),
    ),
    "A6": (
        leaf(P + "turbo", Feature(supported=MOMENT.reported(True, "test"), enabled=MOMENT.reported(False, "test"))),
        leaf(P + "turbo", make_feature(True)),
        leaf(P + "turbo", Feature(supported=UNKNOWN)),
    ),
    "A7": (
        eligible_cpus(MOMENT.reported(True, "test")),
        eligible_cpus(MOMENT.reported(False, "test")),
        eligible_cpus(UNKNOWN),
    ),
    "A8": (setting(nic_queues="eth0=4 eth1=2"), setting(nic_queues="eth0=4 eth1=1"), setting(nic_queues=None)),
    "A10": (
        setting(locked_memory_max="unlimited", max_map_count="65530"),
        setting(locked_memory_max="65536", max_map_count="65530"),
        setting(locked_memory_max="unlimited", max_map_count=None),
    ),
    "A11": (large_pages(MOMENT.reported(8, "test")), large_pages(MOMENT.reported(0, "test")), large_pages(UNKNOWN)),
    "A12": (
        ports(Sriov(total_count=MOMENT.reported(63, "test"), configured_count=MOMENT.reported(4, "test"))),
        ports(None),
        ports(Sriov(total_count=MOMENT.reported(63, "test"), configured_count=UNKNOWN)),
    ),
}


def check_by_id(host_: HostDescriptor, id_: str, profile="data-plane") -> HostCheck:
    return next(each for each in check_host(host_, profile) if each.id == id_)


@pytest.mark.parametrize("status", ["pass", "fail", "unknown"])
@pytest.mark.parametrize("id_", CASES)
def test_each_check_passes_fails_and_is_unknown(id_, status):
    change = CASES[id_][("pass", "fail", "unknown").index(status)]
    seen = check_by_id(change(host()), id_)
    assert seen.status == status, seen.evidence
    assert seen.evidence
    assert seen.why.endswith(".")
    if status == "fail":
        assert seen.fix or seen.by_hand
        assert seen.verify


def test_every_check_of_the_list_is_there_and_tested():
    ids = [rule.id for rule in CHECK_RULES]
    assert ids == [*(f"H{n}" for n in range(1, 15)), *(f"Y{n}" for n in range(1, 10)), *(f"A{n}" for n in range(1, 13))]
    assert set(ids) - set(CASES) == {"A9"}  # No host shows how a VNF is implemented.
    assert check_by_id(host(), "A9").status == "not required"


def test_what_the_clause_marks_as_not_present_everywhere_is_not_required():
    # ETSI GS NFV-PER 001 clauses 7.1 and 7.2, "NOT PRESENT IN ALL PROCESSORS" and "... HYPERVISORS", and its last
    # paragraph on SMT
    optional = {each.id for each in check_host(host()) if each.id[0] in "HY" and not each.required}
    assert optional == {"H11", "H13", "H14", "Y4"}


def test_unknown_never_counts_as_pass():
    nothing = type(host().capabilities.hypervisor.capabilities)()
    checks = [
        each for each in check_host(leaf("capabilities.hypervisor.capabilities", nothing)(host())) if each.id[0] == "Y"
    ]
    assert {each.status for each in checks} == {"unknown"}
    assert compute_score(checks) == (0, 0, 9)
    assert compute_score(checks).ratio is None


def test_the_score_leaves_out_what_only_has_to_be_on_record():
    checks = check_host(host())
    assert sum(compute_score(checks)[:3]) == sum(each.status != "not required" for each in checks if each.id[0] != "R")


def test_a_control_plane_needs_less_and_no_check_more():
    data, control = ({each.id: each for each in check_host(host(), name)} for name in ("data-plane", "control-plane"))
    let_go = {name for name in data if data[name].required and not control[name].required}
    assert {"Y7", "Y8", "Y9", "H10"} <= let_go
    assert all(control[name].status == "not required" for name in let_go)
    assert all(data[name].required for name in control if control[name].required)


def test_without_a_hypervisor_what_it_should_do_fails_and_the_fix_installs_one():
    bare = leaf("capabilities.hypervisor.kind", MOMENT.reported("none", "test"))(host())
    bare = leaf("host.os", MOMENT.reported("Debian GNU/Linux 12 (bookworm)", "test"))(bare)
    assert check_by_id(bare, "Y7").status == "fail"
    assert check_by_id(bare, "Y7").fix.startswith("apt-get install")


@pytest.mark.parametrize(
    ("os", "command"),
    [
        ("Debian GNU/Linux 12 (bookworm)", "update-grub"),
        ("Ubuntu 24.04.1 LTS", "update-grub"),
        ("Red Hat Enterprise Linux 9.4 (Plow)", "grubby --update-kernel=ALL"),
        ("Rocky Linux 9.3 (Blue Onyx)", "grubby --update-kernel=ALL"),
        ("SUSE Linux Enterprise Server 15 SP6", "grub2-mkconfig"),
        ("Arch Linux", "grub-mkconfig"),
    ],
)
def test_kernel_arguments_are_set_as_the_distribution_does_it(os, command):
    failing = CASES["A2"][1](leaf("host.os", MOMENT.reported(os, "test"))(host()))
    assert command in check_by_id(failing, "A2").fix


def test_cpus_to_isolate_leave_the_first_core_of_every_node_with_both_threads():
    # 2 nodes of 8 cores with 2 threads: node 0 has 0-7 and 16-23, node 1 has 8-15 and 24-31
    assert "isolcpus=managed_irq,domain,1-7,9-15,17-23,25-31 " in check_by_id(CASES["A2"][1](host()), "A2").fix


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("Dell Inc. PowerEdge R750", "Virtualization Technology"),
        ("HPE ProLiant DL380 Gen10", "Intel(R) VT-d"),
        ("Lenovo ThinkSystem SR650", "Intel VT for Directed I/O (VT-d)"),
        ("Supermicro SYS-620U-TNR", "Intel VT for Directed I/O (VT-d)"),
    ],
)
def test_a_bios_setting_has_the_name_its_maker_gives_it(product, name):
    failing = CASES["H10"][1](leaf("host.product", MOMENT.reported(product, "test"))(host()))
    assert name in check_by_id(failing, "H10").by_hand
    assert check_by_id(failing, "H10").by_hand.count("BIOS") == 1


def test_a_guest_is_told_that_its_host_has_to_provide_it():
    guest = leaf("host.virtualization", MOMENT.reported("kvm", "test"))(host())
    assert "this guest's hypervisor (kvm)" in check_by_id(CASES["H10"][1](guest), "H10").by_hand
    assert "this guest's hypervisor (kvm)" in check_by_id(CASES["H1"][1](guest), "H1").by_hand


VENDORS = ("Intel", "AMD")
SYSTEMS = ("Debian GNU/Linux 12 (bookworm)", "Red Hat Enterprise Linux 9.4 (Plow)", "openSUSE Leap 15.6")


def commands() -> list[str]:
    """Return every command that any check may print."""
    found_ = set()
    for vendor in VENDORS:
        for os in SYSTEMS:
            of = leaf(P + "vendor", MOMENT.reported(vendor, "test"))(
                leaf("host.os", MOMENT.reported(os, "test"))(host())
            )
            bare = leaf("capabilities.hypervisor.kind", MOMENT.reported("none", "test"))
            for id_, (_, fails, _) in CASES.items():
                for created in (fails(of), fails(bare(of))):
                    seen = check_by_id(created, id_)
                    found_ |= {seen.fix, seen.verify} - {""}
    return sorted(found_)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="needs shellcheck")
def test_every_command_is_one_a_shell_takes():
    script = "#!/bin/bash\n" + "\n".join(commands()) + "\n"
    done = subprocess.run(
        ["shellcheck", "-S", "warning", "-"],
        check=False,
        input=script,
        capture_output=True,
        text=True,
        timeout=stretch(60),
    )
    assert done.returncode == 0, done.stdout


PACKAGES = {
    **dict.fromkeys(("cat", "echo", "ls", "sort"), "coreutils"),
    **dict.fromkeys(("modprobe",), "kmod"),
    **dict.fromkeys(("systemctl", "journalctl"), "systemd"),
    **dict.fromkeys(("virsh", "virt-host-validate"), "libvirt-clients"),
    "grep": "grep",
    "sed": "sed",
    "sysctl": "procps",
    "apt-get": "apt",
    "cpuid": "cpuid",
    "lscpu": "util-linux",
    "lspci": "pciutils",
    "ethtool": "ethtool",
    "driverctl": "driverctl",
    "nft": "nftables",
    "xmllint": "libxml2-utils",
    "update-grub": "grub-pc",
    "grub-mkconfig": "grub-common",
    "nodrop": "",
}
"""Packages of Debian 12 by program; other distributions are not available in the test environment."""
ELSEWHERE = {"grubby", "grub2-mkconfig", "dnf", "zypper"}
WORDS = {"for", "do", "done", "ulimit", "["}
"""Words of the shell."""


def test_every_program_in_a_command_is_one_that_debian_has():
    steps = [re.sub(r"'[^']*'|\"[^\"]*\"", "Q", command) for command in commands()]
    starts = {part.split()[0] for step in steps for part in re.split(r"&&|\|\||[|;]", step) if part.strip()}
    named = {word for start in starts for word in [start] if word not in WORDS}
    assert named - set(PACKAGES) - ELSEWHERE == set()


def test_what_is_recorded_is_told_apart_from_what_is_missing():
    recorded = leaf("host.bios", MOMENT.reported("Dell Inc. 1.2.3 05/06/2024", "test"))(host())
    assert check_by_id(recorded, "R10").status == "pass"
    missing = check_by_id(leaf("host.bios", UNKNOWN)(host()), "R10")
    assert missing.status == "unknown"
    assert "needs root" in missing.evidence[0].value


def test_what_needs_root_says_so_where_it_is_unknown():
    assert check_by_id(CASES["H4"][2](host()), "H4").to_know == "run the command as root"


MACHINES = ("arm-cortex-a9", "epyc-8n-smt", "hmat-tiers", "s390-2c", "xeon-3n-smt", "xeon-e5-2680-2n")
"""A few captured machines; each takes a second or more to unpack and describe."""


@pytest.mark.parametrize("name", MACHINES)
def test_captured_machines_are_checked_and_passes_nothing_without_evidence(name):
    checks = check_host(describe_machine(name))
    assert len(checks) == len(CHECK_RULES) + len(RECORD_ITEMS)
    for each in checks:
        known_of = [one for one in each.evidence if ": unknown" not in one.value and "missing:" not in one.value]
        assert known_of or each.status in ("unknown", "not required"), each
        assert each.status != "unknown" or each.evidence


@pytest.mark.parametrize(
    ("name", "id_", "status"),
    [
        # as tests/trees/README.md and the machines' own files say
        ("epyc-8n-smt", "H14", "pass"),
        ("epyc-8n-smt", "A2", "fail"),
        ("xeon-3n-smt", "H1", "fail"),  # no pdpe1gb: Nehalem
        ("hmat-tiers", "H5", "fail"),  # a guest without virtualization of its own
        ("xeon-e5-2680-2n", "H13", "pass"),  # the first with DDIO
        ("s390-2c", "H14", "unknown"),
        ("arm-cortex-a9", "Y1", "unknown"),
    ],
)
def test_captured_machines_are_judged_by_what_their_files_say(name, id_, status):
    assert check_by_id(describe_machine(name), id_).status == status


def test_this_machine_is_checked_by_the_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code = main(["host", "check", "--format", "json"])
    output = json.loads(capsys.readouterr().out)
    checks = [HostCheck.model_validate(each) for each in output["checks"]]
    assert code == (9 if any(each.failed for each in checks) else 10 if any(each.open for each in checks) else 0)
    assert main(["host", "check"]) == code
    text = capsys.readouterr().out
    assert all(f"{each.id} " in text for each in checks if each.status != "pass" or each.id[0] != "R")
    assert main(["host", "check", "--format", "md"]) == code
    assert capsys.readouterr().out.count("| fail |") == output["score"]["failed"]


@pytest.mark.parametrize(("change", "code"), [(None, 10), (CASES["H6"][1], 9)])
def test_the_exit_code_tells_failed_from_unknown(tmp_path, capsys, change, code):
    changed = change(host()) if change else host()
    (tmp_path / "host.json").write_text(changed.model_dump_json())
    assert main(["host", "check", "--host", str(tmp_path / "host.json")]) == code
    assert main(["host", "check", "--host", str(tmp_path / "host.json"), "y7"]) == 0
    assert "pinned" in capsys.readouterr().out


def test_an_id_that_is_none_is_told_those_there_are(capsys):
    assert main(["host", "check", "X1"]) == 2
    assert "H1 H2" in capsys.readouterr().err


SETTINGS = (
    "isolated_cpus",
    "nohz_full",
    "nic_irq_cpus",
    "nic_queues",
    "locked_memory_max",
    "max_map_count",
    "irqbalance",
)


@pytest.mark.parametrize("held", ["", "many", "eth0=", "eth0=x eth1=2", "\x00", "9" * 5000, "-1", "\u0663", "=", "1-"])
def test_settings_that_hold_nonsense_neither_raise_nor_pass(held):
    for name in SETTINGS:
        good = {**ISOLATED, "nic_irq_cpus": "eth0=0", "nic_queues": "eth0=4", "irqbalance": "not running"}
        good |= {"locked_memory_max": "unlimited", "max_map_count": "65530"}
        passing = {each.id for each in check_host(setting(**good)(host())) if each.status == "pass"}
        assert {"A2", "A3", "A4", "A8", "A10"} <= passing
        broken = {each.id: each.status for each in check_host(setting(**{**good, name: held})(host()))}
        about = {"isolated_cpus": "A2", "nohz_full": "A2", "nic_irq_cpus": "A3", "nic_queues": "A8", "irqbalance": "A4"}
        assert broken[about.get(name, "A10")] != "pass"


def test_a_host_without_a_name_is_told_by_its_file(tmp_path, capsys):
    nameless = leaf("host.hostname", UNKNOWN)(host())
    (tmp_path / "rack-7.json").write_text(nameless.model_dump_json())
    main(["host", "check", "--host", str(tmp_path / "rack-7.json")])
    assert "Is rack-7 ready" in capsys.readouterr().out
