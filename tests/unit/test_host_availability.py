"""CPUs that are available and CPUs that are in use: machines built file by file in their tools' formats."""

from pathlib import Path

import pytest
from tests.machines import make_tree

from nodrop.host import cpu_users, utilization, vm_cpu_policy
from nodrop.host.describe import describe_host
from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.chd import CpuState
from nodrop.model.observation import ObservationTime

CPUS = tuple(range(8))
NODE = {
    "/sys/devices/system/cpu/online": "0-7\n",
    "/sys/devices/system/node/node0/cpulist": "0-7\n",
    "/sys/devices/system/cpu/isolated": "\n",
    "/proc/self/ns/pid": f"-> {cpu_users.FIRST_PID_NAMESPACE}",
    "/proc/1/status": "Name:\tsystemd\n",
    "/proc/1/comm": "systemd\n",
}
NOVA = """[DEFAULT]
transport_url = rabbit://nova:hunter2@10.0.0.1
cpu_allocation_ratio = 4.0
[compute]
cpu_dedicated_set = 2-6,^4
cpu_shared_set = 1
"""


def source(tree: FileTree) -> Source:
    return Source(tree, ObservationTime("2026-01-01T00:00:00+00:00"))


def find_policy(
    root: Path, files: dict[str, str | bytes], own: tuple[int, ...] | None = None
) -> vm_cpu_policy.VmCpuPolicy:
    return vm_cpu_policy.find_policy(source(make_tree(root, {**NODE, **files})), own, CPUS)


def thread(name: str, cpus: str, program: bool = True) -> str:
    return (
        f"Name:\t{name}\nUmask:\t0022\n" + ("VmSize:\t  1000 kB\n" if program else "") + f"Cpus_allowed_list:\t{cpus}\n"
    )


def vm(pid: int, name: str, *vcpus: str) -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {
        f"/proc/{pid}/comm": "qemu-system-x86\n",
        f"/proc/{pid}/cmdline": f"qemu\0-name\0guest={name},debug-threads=on\0-object\0secret,data=x\0",
        f"/proc/{pid}/task/{pid}/status": thread("qemu-system-x86", "0-7"),
    }
    for number, cpus in enumerate(vcpus):
        files[f"/proc/{pid}/task/{pid + 1 + number}/status"] = thread(f"CPU {number}/KVM", cpus)
    return files


def cpu_states(root: Path, files: dict[str, str | bytes]) -> dict[int, CpuState]:
    return describe_host(source(make_tree(root, {**NODE, **files}))).resources.numa_nodes[0].cpus.cpu


def test_novas_sets_decide_and_its_ratio_counts_where_cpus_are_shared(tmp_path: Path) -> None:
    result = find_policy(tmp_path, {"/etc/nova/nova.conf": NOVA, "/sys/devices/system/cpu/isolated": "7\n"})
    assert result.cpus == {1, 2, 3, 5, 6}
    assert result.dedicated == {2, 3, 5, 6}
    about = source(FileTree(tmp_path))
    assert result.observe_ratio(about, 1).value == 4.0
    assert result.observe_ratio(about, 2).value == 1.0
    assert result.observe_ratio(about, 7).why == "no VM may have it"


def test_of_novas_file_nothing_is_kept_but_what_was_asked(tmp_path: Path) -> None:
    about = source(make_tree(tmp_path, {**NODE, "/etc/nova/nova.conf": NOVA}))
    vm_cpu_policy.find_policy(about, None, CPUS)
    assert b"hunter2" not in (about.tree.touched["/etc/nova/nova.conf"] or b"")


def test_the_operators_own_word_comes_first(tmp_path: Path) -> None:
    result = find_policy(tmp_path, {"/etc/nova/nova.conf": NOVA}, own=(6, 7, 99))
    assert (result.cpus, result.confidence) == ({6, 7}, "declared")


def test_the_kubelets_static_manager_leaves_what_is_not_reserved(tmp_path: Path) -> None:
    text = 'kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: "0,4"\n'
    assert find_policy(tmp_path, {vm_cpu_policy.KUBELET: text}).cpus == {1, 2, 3, 5, 6, 7}


def test_isolated_partitions_and_isolated_cpus_are_for_vms(tmp_path: Path) -> None:
    group = "/sys/fs/cgroup/vms.slice"
    partition = {
        "/sys/fs/cgroup/cgroup.controllers": "cpuset\n",
        f"{group}/cpuset.cpus.partition": "isolated\n",
        f"{group}/cpuset.cpus.effective": "4-7\n",
    }
    assert find_policy(tmp_path / "a", partition).cpus == {4, 5, 6, 7}
    result = find_policy(tmp_path / "b", {"/sys/devices/system/cpu/isolated": "2-3\n"})
    assert (result.cpus, result.confidence) == ({2, 3}, "inferred")


def test_without_a_policy_all_cpus_are_eligible_only_if_all_could_be_looked_at(tmp_path: Path) -> None:
    looked = dict.fromkeys((*vm_cpu_policy.NOVA, vm_cpu_policy.KUBELET), "no such file")
    tree = make_tree(tmp_path, NODE)
    assert vm_cpu_policy.find_policy(source(FileTree(tmp_path, looked)), None, CPUS).cpus == frozenset(CPUS)
    hidden = looked | {vm_cpu_policy.NOVA[0]: "needs root"}
    policy = vm_cpu_policy.find_policy(source(FileTree(tmp_path, hidden)), None, CPUS)
    assert policy.cpus is None
    assert "nova.conf: needs root" in policy.why
    assert vm_cpu_policy.find_policy(source(tree), None, CPUS).cpus is None


def test_a_pinned_vcpu_has_its_cpu_for_itself_and_a_floating_one_shares(tmp_path: Path) -> None:
    result = cpu_states(tmp_path, {**vm(100, "router", "2", "3"), **vm(200, "web", "4-5"), **vm(300, "db", "3")})
    assert (result[2].use.value, result[2].owners) == ("dedicated", ("VM router",))
    assert (result[3].use.value, result[3].owners) == ("shared", ("VM router", "VM db"))
    assert (result[4].use.value, result[4].owners) == ("shared", ("VM web",))
    assert (result[0].in_use.value, result[0].use.value) == (False, "none")


def test_threads_that_poll_hold_their_cpus_and_kernel_threads_do_not(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/proc/50/comm": "testpmd\n",
        "/proc/50/task/50/comm": "testpmd\n",
        "/proc/50/task/50/status": thread("testpmd", "0-7"),
        "/proc/50/task/51/comm": "lcore-worker-6\n",
        "/proc/50/task/51/status": thread("lcore-worker-6", "6"),
        "/proc/60/comm": "kworker/7:0\n",
        "/proc/60/task/60/status": thread("kworker/7:0", "7", program=False),
    }
    result = cpu_states(tmp_path, files)
    assert result[6].owners == ("testpmd (50)",)
    assert result[7].in_use.value is False
    isolated = cpu_states(tmp_path / "i", {**files, "/sys/devices/system/cpu/isolated": "7\n"})
    assert isolated[7].in_use.value is False


def test_whatever_a_program_binds_to_an_isolated_cpu_holds_it(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "/sys/devices/system/cpu/isolated": "7\n",
        "/proc/70/comm": "forwarder\n",
        "/proc/70/task/70/status": thread("forwarder", "7"),
    }
    assert cpu_states(tmp_path, files)[7].owners == ("forwarder (70)",)


def test_pods_have_the_cpus_that_the_kubelet_gave_them(tmp_path: Path) -> None:
    state = '{"policyName":"static","defaultCpuSet":"0-1","entries":{"0c1d":{"upf":"2-3"}},"checksum":1}'
    result = cpu_states(tmp_path, {vm_cpu_policy.KUBELET_STATE: state})
    assert (result[2].use.value, result[2].owners) == ("dedicated", ("pod 0c1d/upf",))


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"entries": 5}', '{"entries": {"a": 1}}', '{"entries": {"a": {"b": "x"}}}']
)
def test_a_malformed_state_of_the_kubelet_gives_nobody(tmp_path: Path, content: str) -> None:
    assert vm_cpu_policy.read_kubelet_owners(make_tree(tmp_path, {vm_cpu_policy.KUBELET_STATE: content})) == {}


def test_in_a_container_what_is_not_seen_is_not_known_to_be_free(tmp_path: Path) -> None:
    result = cpu_states(tmp_path, {"/proc/self/ns/pid": "-> pid:[4026532000]"})
    assert result[0].in_use.value is None
    assert "container" in result[0].in_use.why


def test_busy_shares_are_what_proc_stat_counted_in_between() -> None:
    first = utilization.LoadCounters(10.0, {0: (100, 1000), 1: (5, 1000)}, {0: 1000})
    second = utilization.LoadCounters(10.5, {0: (150, 1100), 1: (5, 1100), 2: (1, 1)}, {0: 6000})
    load = utilization.compute_load(first, second)
    assert load.busy_ratio == {0: 0.5, 1: 0.0}
    assert load.memory_bytes_per_s == {0: 10_000.0}


def test_ticks_of_guests_are_counted_once(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"/proc/stat": "cpu  9 9 9 9\ncpu0 10 2 3 80 5 0 0 0 7 1\nintr 5\n"})
    assert utilization.read_counters(tree).cpus == {0: (15, 100)}


def test_memory_traffic_is_summed_over_control_groups(tmp_path: Path) -> None:
    base = "/sys/fs/resctrl"
    tree = make_tree(
        tmp_path,
        {
            f"{base}/mon_data/mon_L3_00/mbm_total_bytes": "100\n",
            f"{base}/vms/schemata": "L3:0=ff\n",
            f"{base}/vms/mon_data/mon_L3_00/mbm_total_bytes": "40\n",
            f"{base}/mon_groups/x/mon_data/mon_L3_00/mbm_total_bytes": "7\n",
            f"{base}/mon_data/mon_L3_01/mbm_total_bytes": "Unavailable\n",
        },
    )
    assert utilization.read_counters(tree).memory == {0: 140}
