"""Files of a machine, live or captured, with any content; and captures of any packer."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from tests.machines import make_tree

from nodrop.descriptors.chd import check_chd
from nodrop.errors import ConfigError
from nodrop.host.capture import capture_host, open_capture
from nodrop.host.describe import describe_host
from nodrop.host.file_tree import FILE_BYTES_MAX, FileTree
from nodrop.host.inputs import Source
from nodrop.model.observation import ObservationTime
from nodrop.system.cpu_sets import format_cpu_list, parse_cpu_list


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8\n", (0, 1, 2, 3, 8)),
        ("", ()),
        ("5", (5,)),
        ("0-10:2/4", (0, 1, 4, 5, 8, 9)),
        ("3-1", None),
        ("0-99999999999", None),
        ("0-999999", None),
        ("a", None),
        ("0,,1", None),
        ("-1", None),
        ("\x00\xff", None),
    ],
)
def test_lists_of_cpus_are_read_as_the_kernel_writes_them(text: str, cpus: tuple[int, ...] | None) -> None:
    assert parse_cpu_list(text) == cpus


def test_lists_of_cpus_are_written_as_the_kernel_does() -> None:
    assert format_cpu_list((8, 0, 1, 2, 3, 10, 11)) == "0-3,8,10-11"
    assert format_cpu_list(()) == ""
    assert all(parse_cpu_list(format_cpu_list(each)) == each for each in ((0,), (0, 2), (1, 2, 3)))


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    tree = make_tree(
        tmp_path, {"/a/number": "42\n", "/a/text": "many\n", "/a/hex": "0x1f", "/a/binary": b"\x00\xff\xfe"}
    )
    assert (tree.read_number("/a/number"), tree.read_number("/a/hex")) == (42, 31)
    assert tree.read_number("/a/text") is None
    assert tree.failure_reason("/a/text") == "holds 'many', a number expected"
    assert tree.read_number("/a/binary") is None
    assert "a number expected" in tree.failure_reason("/a/binary")
    assert tree.read_text("/a/none") is None
    assert tree.failure_reason("/a/none") == "not in the capture"
    assert tree.read_text("/a") is None
    assert tree.failure_reason("/a") == "unreadable"
    assert FileTree("/").read_text("/proc/none") is None
    assert tree.list_directory("/b") == ()


def test_absurd_files_are_cut_and_absurd_numbers_are_none(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"/long": "9" * (FILE_BYTES_MAX + 5)})
    assert len(tree.read_bytes("/long") or b"") == FILE_BYTES_MAX
    assert tree.read_number("/long") is None
    assert len(tree.failure_reason("/long")) < 80
    os.mkfifo(tmp_path / "pipe")
    assert tree.read_text("/pipe") is None


def test_names_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {f"/{name}": "" for name in ("cpu10", "cpu2", "cpu1", "cpufreq")})
    assert tree.list_directory("/") == ("cpu1", "cpu2", "cpu10", "cpufreq")


def test_links_of_a_capture_never_lead_out_of_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = tmp_path / "secret"
    outside.write_text("mine")
    tree = make_tree(
        root,
        {
            "/etc/real": "kept",
            "/sys/a": "-> /etc/real",
            "/sys/b": "-> ../../../../../../etc/real",
            "/sys/c": f"-> {outside}",
            "/sys/d": "-> ../../secret",
            "/sys/e": "-> e",
            "/sys/dir": "-> ..",
        },
    )
    assert tree.read_text("/sys/a") == tree.read_text("/sys/b") == tree.read_text("/sys/dir/etc/real") == "kept"
    assert tree.read_text("/sys/c") is None
    assert tree.read_text("/sys/d") is None
    assert tree.read_text("/sys/e") is None
    assert tree.resolve_path("/sys/a") == "/etc/real"
    assert tree.read_link("/sys/d") == "../../secret"


def test_a_machine_is_the_same_by_its_capture(tmp_path: Path) -> None:
    live = capture_host(tmp_path / "here.tar.gz")
    with tarfile.open(tmp_path / "here.tar.gz") as archive:
        assert not [name for name in archive.getnames() if name.startswith("/") or ".." in name]
    with open_capture(tmp_path / "here.tar.gz") as source:
        again = describe_host(source)
    assert again.captured_at == live.captured_at
    assert again.host.hostname.value == live.host.hostname.value
    actual, again_nodes = live.resources.numa_nodes, again.resources.numa_nodes
    assert [node.cpus.sibling_sets for node in actual] == [node.cpus.sibling_sets for node in again_nodes]
    assert [node.memory.total_bytes for node in actual] == [node.memory.total_bytes for node in again_nodes]
    assert [node.memory.large_pages for node in actual] == [node.memory.large_pages for node in again_nodes]
    eligible = [[each.eligible for each in node.cpus.cpu.values()] for node in actual]
    assert eligible == [[each.eligible for each in node.cpus.cpu.values()] for node in again_nodes]


def _tar(place: Path, *entries: tuple[str, str | bytes]) -> Path:
    with tarfile.open(place, "w:gz") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
            else:
                entry.type, entry.linkname = (tarfile.SYMTYPE, content) if content else (tarfile.CHRTYPE, "")
                archive.addfile(entry)
    return place


def test_a_hostile_capture_writes_nothing_outside_and_reads_nothing_outside(tmp_path: Path) -> None:
    target = tmp_path / "target"
    archive = _tar(
        tmp_path / "bad.tar.gz",
        ("sys/x", b"1"),
        ("../target", b"out"),
        (str(target), b"out"),
        ("link", str(tmp_path)),
        ("link/target", b"through"),
        ("sys/device", ""),
        ("etc/machine-id", "/etc/passwd"),
    )
    with open_capture(archive) as source:
        assert source.tree.read_text("/sys/x") == "1"
        assert source.tree.read_text("/etc/machine-id") is None
        assert not source.tree.exists("/sys/device")
        assert tuple(check_chd(describe_host(source))) == ()
    assert not target.exists()


@pytest.mark.parametrize("content", [b"", b"no tar", b"\x1f\x8b\x08\x00broken"])
def test_what_is_no_capture_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "x.tar.gz"
    place.write_bytes(content)
    with pytest.raises(ConfigError, match="--root: "), open_capture(place):
        pass


def test_a_truncated_capture_and_an_empty_directory_are_refused(tmp_path: Path) -> None:
    whole = _tar(tmp_path / "w.tar.gz", ("sys/x", os.urandom(100_000)))
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole.read_bytes()[:5000])
    with pytest.raises(ConfigError, match="or truncated"), open_capture(cut):
        pass
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="neither sys/ nor proc/"), open_capture(tmp_path / "empty"):
        pass


ABSURD = ("", "-5", "99999999999999999999999", "\x00\x01\x02", "0-", "ffffffff,", "NaN", "1e9", "0-16384", "%s{}" * 50)


@pytest.mark.parametrize("held", ABSURD)
def test_a_machine_of_absurd_files_is_described_without_an_error(tmp_path: Path, held: str) -> None:
    base = "/sys/devices/system"
    names = (
        f"{base}/cpu/online",
        f"{base}/cpu/present",
        f"{base}/cpu/isolated",
        f"{base}/cpu/cpu0/topology/core_cpus_list",
        f"{base}/cpu/cpu0/topology/physical_package_id",
        f"{base}/cpu/cpu0/cache/index0/size",
        f"{base}/node/node0/cpulist",
        f"{base}/node/node0/cpumap",
        f"{base}/node/node0/meminfo",
        f"{base}/node/node0/distance",
        f"{base}/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
        f"{base}/node/node0/hugepages/hugepages-2048kB/free_hugepages",
        f"{base}/node/node0/access0/initiators/read_bandwidth",
        "/sys/bus/pci/devices/0000:00:03.0/class",
        "/sys/class/net/eth0/speed",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/stat",
        "/proc/cmdline",
        "/proc/interrupts",
        "/proc/sys/vm/overcommit_memory",
        "/proc/7/comm",
        "/proc/7/task/7/status",
        "/etc/nova/nova.conf",
        "/var/lib/kubelet/config.yaml",
        "/var/lib/kubelet/cpu_manager_state",
        "/nodrop-capture.json",
        "/cpuid.txt",
    )
    make_tree(tmp_path, dict.fromkeys(names, held))
    with open_capture(tmp_path) as source:
        assert tuple(check_chd(describe_host(source))) == ()


def test_bandwidth_of_memory_and_of_a_link_is_what_the_firmware_says(tmp_path: Path) -> None:
    base = "/sys/devices/system"
    tree = make_tree(
        tmp_path,
        {
            f"{base}/cpu/online": "0\n",
            f"{base}/node/node0/cpulist": "0\n",
            f"{base}/node/node1/cpulist": "\n",
            f"{base}/node/node0/distance": "10 17\n",
            f"{base}/node/node1/distance": "28 10\n",
            f"{base}/node/node0/access0/initiators/node0/cpulist": "0\n",
            f"{base}/node/node0/access0/initiators/read_bandwidth": "131072\n",
            f"{base}/node/node1/access0/initiators/node0/cpulist": "0\n",
            f"{base}/node/node1/access0/initiators/read_bandwidth": "30720\n",
        },
    )
    host = describe_host(Source(tree, ObservationTime("")))
    bandwidths = [node.memory.bandwidth.total_bytes_per_s.value for node in host.resources.numa_nodes]
    assert bandwidths == [131072 * 2.0**20, 30720 * 2.0**20]
    link = host.resources.links[0]
    assert (link.distance.value, link.distance.why) == (17, "the way back is 28")
    assert link.bandwidth.total_bytes_per_s.value == 30720 * 2.0**20
