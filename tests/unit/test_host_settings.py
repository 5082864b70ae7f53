"""Settings of a system in plain words, and the host's identity without disclosing it."""

import pytest
from tests.chips import MOMENT, dump, machine

from nodrop.host import identity, os_settings
from nodrop.host.inputs import ProgramOutput

SYSTEMD = "/sys/fs/cgroup/system.slice"


def describe_settings(root, files):
    return {name: leaf.value for name, leaf in os_settings.describe_os_settings(machine(root, files)).items()}


def test_a_host_set_up_for_packets_says_so(tmp_path):
    result = describe_settings(
        tmp_path,
        {
            "/proc/cmdline": "BOOT_IMAGE=/vmlinuz isolcpus=2-5 nohz_full=2-5 rcu_nocbs=2-5 mitigations=off\n",
            "/sys/devices/system/cpu/isolated": "2-5\n",
            "/sys/devices/system/cpu/nohz_full": "2-5\n",
            "/proc/1/comm": "systemd\n",
            "/proc/700/comm": "irqbalance\n",
            "/proc/irq/default_smp_affinity": "00000000,00000003\n",
            "/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n",
            "/sys/kernel/mm/ksm/run": "0\n",
            "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1048572 0 -2\n",
            "/proc/sys/kernel/nmi_watchdog": "0\n",
            "/proc/sys/kernel/sched_rt_runtime_us": "-1\n",
            "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
            "/etc/tuned/active_profile": "cpu-partitioning\n",
            "/sys/devices/system/cpu/vulnerabilities/meltdown": "Vulnerable\n",
            "/sys/devices/system/cpu/vulnerabilities/l1tf": "Not affected\n",
            f"{SYSTEMD}/sshd.service/cgroup.events": "populated 1\nfrozen 0\n",
            f"{SYSTEMD}/tuned.service/cgroup.events": "populated 0\n",
        },
    )
    expected = {
        "isolated_cpus": "2-5",
        "nohz_full": "2-5",
        "rcu_nocbs": "2-5",
        "irqbalance": "running",
        "irq_affinity": "0-1",
        "transparent_hugepages": "never",
        "ksm": "off",
        "swap": "1048572 KiB on /dev/sda2",
        "nmi_watchdog": "off",
        "rt_throttling": "off",
        "tuned_profile": "cpu-partitioning",
        "mitigations": "meltdown: Vulnerable",
        "services": "sshd",
    }
    assert expected.items() <= result.items()


def test_nothing_isolated_is_an_answer(tmp_path):
    result = os_settings.describe_os_settings(
        machine(tmp_path, {"/proc/cmdline": "quiet\n", "/sys/devices/system/cpu/isolated": "\n"})
    )
    assert result["isolated_cpus"].value == "none"
    assert (result["nohz_full"].value, result["nohz_full"].confidence) == ("none", "inferred")
    assert result["rcu_nocbs"].value == "none"


def test_a_capture_without_processes_does_not_say_that_irqbalance_is_off(tmp_path):
    result = os_settings.describe_os_settings(machine(tmp_path, {}))
    assert not result["irqbalance"].known
    assert all(leaf.why for leaf in result.values() if not leaf.known)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ks=http://root:hunter2@10.0.0.1/ks.cfg quiet", "ks=http://...@10.0.0.1/ks.cfg quiet"),
        ("rd.password=hunter2 ro", "rd.password=... ro"),
        ("systemd.api_key=abc luks.token=x", "systemd.api_key=... luks.token=..."),
        ("isolcpus=1-3 --auth-required", "isolcpus=1-3 --auth-required"),
    ],
)
def test_secrets_on_the_command_line_are_left_out_even_of_captures(tmp_path, text, expected):
    source = machine(tmp_path, {"/proc/cmdline": text})
    assert os_settings.describe_os_settings(source)["kernel_cmdline"].value == expected
    assert source.tree.touched["/proc/cmdline"] == expected.encode()


@pytest.mark.parametrize(
    ("ruleset", "expected"),
    [
        ("", "none"),
        (
            "table inet filter {\n chain input {\n  type filter hook input priority filter; policy accept;\n }\n}\n",
            "nftables, 1 hooks",
        ),
    ],
)
def test_the_packet_filter_is_told_by_its_hooks(tmp_path, ruleset, expected):
    source = machine(tmp_path, {})._replace(live=True, programs=lambda *_: ProgramOutput(ruleset))
    assert os_settings.describe_os_settings(source)["firewall"].value == expected


def test_a_packet_filter_that_cannot_be_asked_is_unknown(tmp_path):
    source = machine(tmp_path, {})._replace(live=True, programs=lambda *_: ProgramOutput(None, "nft is not installed"))
    assert not os_settings.describe_os_settings(source)["firewall"].known


def test_an_id_is_stable_and_does_not_give_the_machine_id_away(tmp_path):
    source = machine(tmp_path, {"/etc/machine-id": "0123456789abcdef0123456789abcdef\n"})
    result = identity.describe_identity(source).id
    assert result.value is not None
    assert "0123456789abcdef" not in result.value
    captured = machine(tmp_path / "again", {"/etc/machine-id": source.tree.touched["/etc/machine-id"] or b""})
    assert identity.describe_identity(captured).id.value == result.value


def test_a_virtual_machine_names_its_hypervisor(tmp_path):
    files = {"/sys/class/dmi/id/sys_vendor": "QEMU\n", "/sys/class/dmi/id/product_name": "Standard PC\n"}
    source = machine(tmp_path, {"/proc/cpuinfo": "flags\t: hypervisor\n", **files})._replace(
        cpuid=dump("zen4-under-kvm")
    )
    result = identity.detect_virtualization(source)
    assert (result.value, result.why) == ("KVM", "QEMU Standard PC")


def test_fillers_that_makers_left_in_are_no_product(tmp_path):
    files = {
        "/sys/class/dmi/id/sys_vendor": "To be filled by O.E.M.\n",
        "/sys/class/dmi/id/product_name": "Default string\n",
    }
    assert not identity.describe_identity(machine(tmp_path, files)).product.known


def test_every_leaf_has_its_time(tmp_path):
    assert {leaf.at for leaf in os_settings.describe_os_settings(machine(tmp_path, {})).values()} == {MOMENT.at}
