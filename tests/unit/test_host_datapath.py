"""Settings of the packet path, from files in the kernel's layout."""

from pathlib import Path

from nodrop.host.datapath import describe_datapath
from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.observation import ObservationTime


def tree(root: Path, files: dict[str, str]) -> Source:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Source(FileTree(root), ObservationTime("2026-01-01T00:00:00+00:00"))


def card(root: Path, name: str, device: str, interrupts: dict[int, str], queues: int) -> dict[str, str]:
    """Create a card whose device directory contains its interrupts, as for a PCI function."""
    (root / "sys/class/net" / name).mkdir(parents=True)
    (root / "sys/class/net" / name / "device").symlink_to(f"../../../devices/{device}")
    files = {f"sys/devices/{device}/vendor": "0x8086\n"}
    files |= {f"sys/devices/{device}/msi_irqs/{number}": "msix\n" for number in interrupts}
    files |= {f"proc/irq/{number}/effective_affinity_list": f"{cpus}\n" for number, cpus in interrupts.items()}
    return files | {f"sys/class/net/{name}/queues/rx-{each}/rps_cpus": "0\n" for each in range(queues)}


def test_interrupts_and_queues_are_told_for_each_card(tmp_path):
    files = card(tmp_path, "ens1f0", "pci0000:00/0000:03:00.0", {40: "0", 41: "8", 42: "9"}, queues=3)
    files |= card(tmp_path, "ens1f1", "pci0000:00/0000:03:00.1", {50: "2-3"}, queues=1)
    (tmp_path / "sys/class/net/br0").mkdir()
    result = describe_datapath(tree(tmp_path, files))
    assert result["nic_irq_cpus"].value == "ens1f0=0,8-9 ens1f1=2-3"
    assert result["nic_queues"].value == "ens1f0=3 ens1f1=1"


def test_interrupts_of_a_virtio_card_are_those_of_the_function_below(tmp_path):
    files = card(tmp_path, "eth0", "pci0000:00/0000:00:03.0/virtio2", {}, queues=1)
    files |= {
        "sys/devices/pci0000:00/0000:00:03.0/msi_irqs/38": "msix\n",
        "proc/irq/38/effective_affinity_list": "1\n",
    }
    assert describe_datapath(tree(tmp_path, files))["nic_irq_cpus"].value == "eth0=1"


def test_a_card_whose_interrupts_are_not_told_makes_them_unknown(tmp_path):
    result = describe_datapath(tree(tmp_path, card(tmp_path, "eth0", "pci0000:00/0000:00:03.0", {}, queues=1)))
    assert not result["nic_irq_cpus"].known
    assert "eth0" in result["nic_irq_cpus"].why


def test_what_a_capture_lacks_is_unknown_and_not_none(tmp_path):
    result = describe_datapath(tree(tmp_path, {}))
    assert {name for name, each in result.items() if each.known} == set()


def test_limits_are_read_as_the_kernel_prints_them(tmp_path):
    limits = "Limit                     Soft Limit           Hard Limit           Units\n"
    limits += "Max locked memory         unlimited            unlimited            bytes\n"
    result = describe_datapath(tree(tmp_path, {"proc/self/limits": limits, "proc/sys/vm/max_map_count": "65530\n"}))
    assert result["locked_memory_max"].value == "unlimited"
    assert result["max_map_count"].value == "65530"


def test_a_number_that_is_none_is_unknown(tmp_path):
    result = describe_datapath(tree(tmp_path, {"proc/sys/vm/max_map_count": "many\n", "proc/self/limits": "\x00\xff"}))
    assert "expected" in result["max_map_count"].why
    assert not result["locked_memory_max"].known


def test_running_dpdk_programs_are_named(tmp_path):
    result = describe_datapath(tree(tmp_path, {"run/dpdk/rte/config": "", "run/dpdk/old/hugepage_info": ""}))
    assert result["polling_processes"].value == "rte"
