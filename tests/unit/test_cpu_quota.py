"""CPU quotas of control groups, versions 1 and 2, in trees as kernels and container runtimes show them."""

import os
from pathlib import Path

import pytest
from tests.factories import simulated_trial

from nodrop.config.load import build_config
from nodrop.errors import ConfigError, SearchError
from nodrop.formatting.doubts import QUOTA_REMEDY
from nodrop.formatting.messages import format_message
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.observe.cpu_quota import CpuQuotaObserver
from nodrop.run import local_planning
from nodrop.run.retries import check_retry_limit
from nodrop.system.cpu_quota import CpuQuota, CpuQuotaReader

V1_MOUNT = "30 20 0:26 {root} /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
V2_MOUNT = "31 20 0:27 {root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
OTHER_MOUNTS = "20 1 254:0 / / rw - ext4 /dev/vda rw\n29 20 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"


class Tree:
    """A file system with control groups."""

    def __init__(self, root: Path, own: str, mount: str, mount_root: str = "/") -> None:
        self._root = root
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/cgroup").write_text(own)
        (root / "proc/self/mountinfo").write_text(OTHER_MOUNTS + mount.format(root=mount_root))

    def add(self, directory: str, **files: str) -> None:
        """Add a group."""
        path = self._root / "sys/fs/cgroup" / directory
        path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / name.replace("__", ".")).write_text(text)

    def open(self) -> CpuQuotaReader:
        """Open the reader of a process in this tree."""
        return CpuQuotaReader(self._root / "proc", self._root)


def test_version_1_has_a_quota_and_a_period(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "4:cpu,cpuacct:/pods/one\n3:memory:/elsewhere\n", V1_MOUNT)
    tree.add("cpu,cpuacct", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n", cpu__stat="throttled_time 0\n")
    tree.add("cpu,cpuacct/pods", cpu__cfs_quota_us="150000\n", cpu__cfs_period_us="100000\n")
    tree.add(
        "cpu,cpuacct/pods/one",
        cpu__cfs_quota_us="120000\n",
        cpu__cfs_period_us="200000\n",
        cpu__stat="nr_periods 12\nnr_throttled 5\nthrottled_time 2500000000\n",
    )
    reader = tree.open()
    assert reader.read_quota() == CpuQuota(0.6, "/pods/one")
    assert reader.read_throttled_s() == pytest.approx(2.5)


def test_version_2_counts_the_quotas_of_parents(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/pods/one\n", V2_MOUNT)
    tree.add("pods", cpu__max="50000 100000\n", cpu__stat="usage_usec 7\nthrottled_usec 1500000\n")
    tree.add("pods/one", cpu__max="max 100000\n", cpu__stat="usage_usec 7\nthrottled_usec 0\n")
    reader = tree.open()
    assert reader.read_quota() == CpuQuota(0.5, "/pods")
    assert reader.read_throttled_s() == pytest.approx(1.5)
    tree.add("pods", cpu__stat="usage_usec 7\nthrottled_usec 1750000\n")
    assert reader.read_throttled_s() == pytest.approx(1.75)


@pytest.mark.parametrize(
    ("own", "mount", "mount_root"),
    [
        ("4:cpu,cpuacct:/docker/0123\n", V1_MOUNT, "/docker/0123"),  # the host's path, and only the own group mounted
        ("4:cpu,cpuacct:/docker/0123\n", V1_MOUNT, "/"),  # the same, as some runtimes show it
        ("4:cpu,cpuacct:/\n", V1_MOUNT, "/"),  # a namespace of control groups
        ("4:cpu,cpuacct:/../../other\n", V1_MOUNT, "/"),  # a process that joined the namespace from outside
    ],
)
def test_a_container_sees_its_own_group_as_the_root(tmp_path: Path, own: str, mount: str, mount_root: str) -> None:
    tree = Tree(tmp_path, own, mount, mount_root)
    tree.add("cpu,cpuacct", cpu__cfs_quota_us="30000\n", cpu__cfs_period_us="100000\n")
    assert tree.open().read_quota() == CpuQuota(0.3, "/")


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("", {}),
        ("0::/\n", {}),
        ("0::/\n", {"cpu__max": "max 100000\n", "cpu__stat": "usage_usec 7\n"}),
        ("0::/\n", {"cpu__max": "", "cpu__stat": ""}),
        ("0::/\n", {"cpu__max": "50000 0\n", "cpu__stat": "throttled_usec x\n"}),
    ],
)
def test_no_quota_is_none(tmp_path: Path, own: str, files: dict[str, str]) -> None:
    tree = Tree(tmp_path, own, V2_MOUNT)
    tree.add("", **files)
    assert tree.open().read_quota() is None
    assert tree.open().read_throttled_s() == 0.0


def test_the_own_process_can_be_read() -> None:
    reader = CpuQuotaReader()
    assert reader.read_throttled_s() >= 0.0
    quota = reader.read_quota()
    assert quota is None or quota.cpu_count > 0.0


def observe(tmp_path: Path, result: TrialResult, throttled_ms: int) -> TrialResult:
    """Return the trial as a process in a group of 0.6 CPUs would, throttled for a time during the trial."""
    tree = Tree(tmp_path, "0::/\n", V2_MOUNT)
    tree.add("", cpu__max="60000 100000\n", cpu__stat="throttled_usec 5000000\n")
    observer = CpuQuotaObserver(tree.open())
    observer.begin_trial()
    tree.add("", cpu__stat=f"throttled_usec {5_000_000 + throttled_ms * 1000}\n")
    return observer.end_trial(result)


def make_trial(lost_ratio: float, phase: str = "search") -> TrialResult:
    return simulated_trial(1e6 / (1.0 - lost_ratio)).replace(phase=phase)  # it forwards a million frames


@pytest.mark.parametrize(
    ("lost_ratio", "phase", "throttled_ms", "verdict"),
    [
        (0.1, "search", 400, ValidityStatus.INVALID),
        (0.1, "latency NDR", 400, ValidityStatus.INVALID),
        (0.1, "fixed", 400, ValidityStatus.SUSPECT),
        (0.0, "search", 400, ValidityStatus.SUSPECT),
        (0.1, "search", 9, ValidityStatus.VALID),
    ],
)
def test_a_trial_that_lost_frames_while_throttled_shows_nothing_of_the_sut(
    tmp_path: Path, lost_ratio: float, phase: str, throttled_ms: int, verdict: ValidityStatus
) -> None:
    result = observe(tmp_path, make_trial(lost_ratio, phase), throttled_ms)
    assert result.validity.verdict is verdict
    assert result.is_throttled is (verdict is not ValidityStatus.VALID)
    if result.is_throttled:
        (doubt,) = result.validity.doubts
        assert format_message(doubt) == "the CPU quota of 0.6 CPUs stopped tester or SUT for 0.4 s of CPU time"


def test_a_search_whose_trials_are_throttled_names_the_quota_and_the_remedy(tmp_path: Path) -> None:
    trials = [observe(tmp_path / str(index), make_trial(0.1), 400) for index in range(3)]
    check_retry_limit(trials, repeat_invalid=3)
    with pytest.raises(SearchError, match=r"a CPU quota made 3 consecutive trials .* invalid: .* 0\.6 CPUs") as raised:
        check_retry_limit(trials, repeat_invalid=2)
    assert str(raised.value).endswith(QUOTA_REMEDY)


@pytest.mark.parametrize(("quota", "backend"), [(None, "xdp_live"), (CpuQuota(0.6, "/pod"), "af_packet")])
def test_with_a_quota_no_program_sends_in_the_kernel(
    monkeypatch: pytest.MonkeyPatch, quota: CpuQuota | None, backend: str
) -> None:
    monkeypatch.setattr(CpuQuotaReader, "read_quota", lambda _: quota)
    monkeypatch.setattr(local_planning, "supports_xdp_live", lambda: True)
    (plan,) = local_planning.make_plans(build_config((), {}), [0, 1])
    assert plan.engine.backend == backend
    assert any("a run needs 2" in warning for warning in plan.warnings) is (quota is not None)


@pytest.mark.parametrize("keys", [{"sut": "xdp"}, {"engine.backend": "xdp_live"}])
def test_a_program_that_no_quota_can_stop_is_refused(monkeypatch: pytest.MonkeyPatch, keys: dict[str, str]) -> None:
    monkeypatch.setattr(CpuQuotaReader, "read_quota", lambda _: CpuQuota(0.6, "/pod"))
    with pytest.raises(
        ConfigError, match=r"xdp_live cannot send under a CPU quota \(0\.6 CPUs .*; use --backend af_packet"
    ):
        local_planning.make_plans(build_config((), keys), [0, 1])
    (plan,) = local_planning.make_plans(build_config((), {**keys, "engine.backend": "af_packet"}), [0, 1])
    assert plan.engine.backend == "af_packet"


def test_a_quota_of_all_cpus_throttles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    count = len(os.sched_getaffinity(0))
    monkeypatch.setattr(CpuQuotaReader, "read_quota", lambda _: CpuQuota(float(count), "/pod"))
    (plan,) = local_planning.make_plans(build_config((), {"engine.backend": "xdp_live"}), [0, 1])
    assert plan.warnings == ()
