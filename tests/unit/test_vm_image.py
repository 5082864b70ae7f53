"""The parts of the loopback VM's image: packages, kernel modules, initramfs, configuration."""

import base64
import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.waiting import stretch

from nodrop import vmimage
from nodrop.cli import nodrop
from nodrop.errors import ImageError
from nodrop.vmimage.initrd import InitrdEntry, build_archive, find_libraries, link_entry, make_executable_entry
from nodrop.vmimage.manifest import describe_package, list_licenses
from nodrop.vmimage.modules import KernelModules
from nodrop.vmimage.packages import Deb, Packages

GUEST = Path(vmimage.__file__).parent / "guest"
CONTENT = "FORWARDER=testpmd\nINTF_MAC1=fa:16:3e:00:00:01\nTG_NET1=10.0.0.0/8,11.0.0.0/8\nINTF_MGMT_CIDR=\n"
"""As NFVbench writes it."""
CONTROL = """Package: thing
Version: 1:2.0-3+b1
Source: things (1:2.0-3)
Architecture: all
Maintainer: nobody <nobody@example.org>
Depends: libc6 (>= 2.36), one | other, more:any
Description: a thing
 that is long: very
"""


@pytest.fixture
def package(tmp_path: Path, require_tool: Callable[[str], Path]) -> Path:
    """Build a package as dpkg does."""
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(CONTROL)
    (tree / "usr/share/doc/thing").mkdir(parents=True)
    (tree / "usr/share/doc/thing/copyright").write_text("Files: *\nLicense: GPL-2+\n\nLicense: Expat\n text\n")
    (tree / "usr/bin").mkdir()
    (tree / "usr/bin/thing").write_bytes(b"thing")
    (tree / "usr/bin/alias").symlink_to("thing")
    subprocess.run([require_tool("dpkg-deb"), "--root-owner-group", "--build", tree, tmp_path], check=True)
    (built,) = tmp_path.glob("thing_*.deb")
    return built


def test_a_package_is_read_as_dpkg_built_it(package: Path) -> None:
    deb = Deb(package)
    for field in ("Package", "Version", "Source", "Depends"):
        output = subprocess.run(["dpkg-deb", "--field", package, field], capture_output=True, text=True, check=True)
        assert deb.fields[field] == output.stdout.strip()
    assert (deb.name, deb.source) == ("thing", "things 1:2.0-3")
    assert deb.files(lambda path: path.startswith("usr/bin/")) == {"usr/bin/thing": b"thing", "usr/bin/alias": b"thing"}
    assert deb.file("usr/bin/thing") == b"thing"
    output = subprocess.run(["sha256sum", package], capture_output=True, text=True, check=True)
    assert describe_package(deb).sha256 == output.stdout.split()[0]
    assert describe_package(deb).licences == ("GPL-2+", "Expat")
    with pytest.raises(ImageError, match="usr/bin/none is not in this package"):
        deb.file("usr/bin/none")


def test_packages_of_a_directory_are_found_by_name_and_what_they_need_is_known(package: Path) -> None:
    packages = Packages(package.parent)
    assert packages.dependencies(packages.find("thing")) == ("libc6", "one", "more")
    with pytest.raises(ImageError, match=r"--packages .*: no other_\*\.deb for package other"):
        packages.find("other")
    package.with_name("thing_3_all.deb").write_bytes(b"")
    with pytest.raises(ImageError, match=r"--packages .*: 2 files for package thing: .*; keep one of them"):
        packages.find("thing")


@pytest.mark.parametrize("content", [b"", b"no package", b"!<arch>\n" + b" " * 60])
def test_a_file_that_is_no_package_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "thing_1_all.deb").write_bytes(content)
    with pytest.raises(ImageError, match="not a readable Debian package"):
        Packages(tmp_path).find("thing")


def test_a_copyright_file_for_people_alone_is_pointed_at() -> None:
    assert list_licenses("This package was debianized by ...") == ("see its copyright file",)


def module(*message: str) -> bytes:
    return b"\x7fELF\0" + b"".join(each.encode() + b"\0" for each in message)


def test_modules_come_with_all_they_need_and_the_files_modprobe_reads() -> None:
    """Source: modules.dep(5), and the order in which busybox's modprobe loads: the last first."""
    files = {
        "kernel/drivers/net/virtio_net.ko": module("alias=virtio:d00000001v*", "depends=virtio,net-failover"),
        "kernel/drivers/net/net-failover.ko": module("depends=failover"),
        "kernel/net/core/failover.ko": module("depends="),
        "kernel/drivers/virtio/virtio.ko": module("depends=virtio_ring"),
        "kernel/drivers/virtio/virtio_ring.ko": module("depends="),
        "kernel/drivers/virtio/virtio_pci.ko": module("depends=virtio,virtio_ring", "alias=pci:v00001AF4d*"),
        "kernel/sound/loud.ko": module("depends=virtio"),
        "modules.order": b"",
    }
    chosen = KernelModules(files).select()
    assert set(chosen) == set(files) - {"kernel/sound/loud.ko", "modules.order"} | {"modules.dep", "modules.alias"}
    needs = dict(line.split(":") for line in chosen["modules.dep"].decode().splitlines())
    order = needs["kernel/drivers/net/virtio_net.ko"].split()
    assert set(order) == set(files) - {
        "kernel/sound/loud.ko", "modules.order", "kernel/drivers/virtio/virtio_pci.ko",
        "kernel/drivers/net/virtio_net.ko",
    }  # fmt: skip
    assert order.index("kernel/drivers/virtio/virtio.ko") < order.index("kernel/drivers/virtio/virtio_ring.ko")
    assert order.index("kernel/drivers/net/net-failover.ko") < order.index("kernel/net/core/failover.ko")
    assert chosen["modules.alias"].decode().splitlines() == [
        "alias virtio:d00000001v* virtio_net",
        "alias pci:v00001AF4d* virtio_pci",
    ]


def test_a_kernel_without_virtio_is_refused() -> None:
    with pytest.raises(ImageError, match="lacks module virtio_pci"):
        KernelModules({"kernel/net/other.ko": module("depends=")}).select()


def test_the_first_file_system_unpacks_to_what_was_put_in(tmp_path: Path, require_tool: Callable[[str], Path]) -> None:
    """As busybox's cpio sees it."""
    entries = {"bin/sh": make_executable_entry(b"program"), "a/b/c": InitrdEntry(b"text"), "sbin": link_entry("bin")}
    packed = build_archive(entries, 1_000_000_000)
    assert packed == build_archive(dict(reversed(entries.items())), 1_000_000_000)
    listed = subprocess.run(
        [require_tool("busybox"), "cpio", "-tv"], input=gzip.decompress(packed), capture_output=True, check=True
    )
    lines = [line.split() for line in listed.stdout.decode().splitlines()]
    assert [(line[0], line[-1]) for line in lines] == [
        ("drwxr-xr-x", "a"),
        ("drwxr-xr-x", "a/b"),
        ("-rw-r--r--", "a/b/c"),
        ("drwxr-xr-x", "bin"),
        ("-rwxr-xr-x", "bin/sh"),
        ("drwxr-xr-x", "dev"),
        ("crw-------", "dev/console"),
        ("lrwxrwxrwx", "bin"),
    ]
    subprocess.run(
        ["busybox", "cpio", "-i", "-d", "bin/sh", "a/b/c"], input=gzip.decompress(packed), check=True, cwd=tmp_path
    )
    assert (tmp_path / "bin/sh").read_bytes() == b"program" and (tmp_path / "a/b/c").read_bytes() == b"text"


def write_files(content: str, **more: str) -> dict[str, list[dict[str, str]]]:
    return {"write_files": [{"path": "/etc/nfvbenchvm.conf", "permissions": "0644", "content": content, **more}]}


CODED = base64.b64encode(CONTENT.encode()).decode()
WAYS = {
    "as it is": CONTENT,
    "as on Windows": CONTENT.replace("\n", "\r\n"),
    "quoted": "".join(f'{key}="{value}"\n' for key, value in (line.split("=") for line in CONTENT.splitlines())),
    "block": "#cloud-config\n" + yaml.safe_dump(write_files(CONTENT), default_style="|"),
    "single quotes": "#cloud-config\n" + yaml.safe_dump(write_files(CONTENT), default_style="'"),
    "double quotes": "#cloud-config\n" + yaml.safe_dump(write_files(CONTENT), default_style='"'),
    "as PyYAML likes": "#cloud-config\n" + yaml.safe_dump(write_files(CONTENT), sort_keys=False),
    "JSON": "#cloud-config\n" + json.dumps(write_files(CONTENT)),
    "base64": "#cloud-config\n" + yaml.safe_dump(write_files(CODED, encoding="b64")),
    "base64 in JSON": "#cloud-config\n" + json.dumps(write_files(CODED, encoding="base64")),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_guest_understands_every_way_to_write_what_it_is_told(way: str, require_tool: Callable[[str], Path]) -> None:
    done = parse_user_data(WAYS[way], require_tool)
    assert (done.stdout, done.stderr) == (CONTENT, "")


def parse_user_data(user_data: str, require_tool: Callable[[str], Path]) -> "subprocess.CompletedProcess[str]":
    command = [require_tool("busybox"), "sh", GUEST / "user-data"]
    return subprocess.run(command, input=user_data, capture_output=True, text=True, check=True, timeout=stretch(20))


def test_a_value_that_a_shell_could_take_for_more_is_a_fault(require_tool: Callable[[str], Path]) -> None:
    done = parse_user_data("FORWARDER=$(reboot)\nTG_NET1=10.0.0.0/8\n", require_tool)
    assert done.stdout == "TG_NET1=10.0.0.0/8\n"
    assert done.stderr == "nodrop-vm: fault: FORWARDER=$(reboot) requested; no value has such characters\n"


def test_a_program_is_taken_with_its_libraries_and_its_loader() -> None:
    libraries = find_libraries(Path(sys.executable).resolve())
    names = {Path(path).name for path in libraries}
    assert "libc.so.6" in names and any(name.startswith("ld-linux") for name in names)


def test_a_static_program_needs_none(require_tool: Callable[[str], Path]) -> None:
    assert find_libraries(require_tool("busybox").resolve()) == {}


@pytest.mark.parametrize(
    ("flags", "environment", "status", "sentence"),
    [
        (("--format", "raw", "--packages", "."), {}, 3, "--packages .: no linux-image-cloud-amd64_*.deb"),
        (("--format", "raw", "--vnf", "none", "--packages", "."), {}, 3, "none: cannot read nodrop-vnf"),
        (("-o", "none/loop.raw"), {}, 3, "none/loop.raw: directory none does not exist"),
        (
            (),
            {"SOURCE_DATE_EPOCH": "yesterday"},
            2,
            "SOURCE_DATE_EPOCH: 'yesterday' is not a number of seconds since 1970",
        ),
    ],
)
def test_what_is_missing_is_named(  # noqa: PLR0917
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: Sequence[str], environment: dict[str, str], status: int,
    sentence: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(nodrop, ["vm-image", "build", *flags], env=environment)
    assert done.exception is not None
    assert getattr(done.exception, "exit_code", None) == status and sentence in str(done.exception)


def test_what_is_no_program_cannot_be_the_forwarder(tmp_path: Path) -> None:
    (tmp_path / "vnf").write_text("#!/bin/sh\n")
    with pytest.raises(ImageError, match="not a program for x86-64"):
        find_libraries(tmp_path / "vnf")
    with pytest.raises(ImageError, match="cannot read nodrop-vnf"):
        find_libraries(tmp_path / "none")
