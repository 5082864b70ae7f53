"""`nodrop vm config` from the user's side."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.hosts import Shape, host
from tests.placements import sample_placement
from tests.vms import sample

from nodrop.cli import nodrop
from nodrop.descriptors import format_descriptor
from nodrop.errors import ConfigError, PlacementError
from nodrop.vm.config import libvirt
from nodrop.vm.config.instance import build_instance


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "vmd").write_text(format_descriptor(sample(), "yaml"))
    (tmp_path / "host").write_text(format_descriptor(host(), "json"))
    (tmp_path / "other").write_text(format_descriptor(host("host-b"), "xml"))
    (tmp_path / "small").write_text(format_descriptor(host("small", Shape(cores=2)), "json"))
    (tmp_path / "placement").write_text(format_descriptor(sample_placement(), "json"))
    return tmp_path


def run(files: Path, *words: str) -> Result:
    flags = [str(files / word[1:]) if word.startswith("@") else word for word in words]
    return CliRunner().invoke(nodrop, ["vm", "config", "--vmd", str(files / "vmd"), *flags])


def test_a_placement_is_written_as_it_was_given(files: Path) -> None:
    done = run(files, "--host", "@other", "--host", "@host", "--placement", "@placement", "--format", "libvirt")
    assert done.stdout == libvirt.write_domain(build_instance(sample(), sample_placement(), host()))


def test_without_a_placement_the_vm_is_placed(files: Path) -> None:
    done = run(files, "--host", "@small", "--host", "@host", "--format", "k8s", "--image", "registry/vnf:1")
    pod = list(yaml.safe_load_all(done.stdout))[-1]
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "host-a"}
    assert {each["image"] for each in pod["spec"]["containers"]} == {"registry/vnf:1"}


def test_a_vm_that_fits_nowhere_says_what_each_host_lacks(files: Path) -> None:
    done = run(files, "--host", "@small", "--format", "libvirt")
    assert isinstance(done.exception, PlacementError)
    assert "small is rejected" in done.stderr
    assert done.stdout == ""


def test_a_file_holds_what_the_output_would(files: Path) -> None:
    words = ("--host", "@host", "--placement", "@placement", "--format", "tosca")
    assert run(files, *words, "-o", "@out").stdout == ""
    assert (files / "out").read_text() == run(files, *words).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--format", "nova", "--emulate"), "use it with libvirt"),
        (("--format", "k8s", "--image", "a", "--image", "b"), "--image: given 2 times; --format k8s takes one"),
        (("--format", "nova", "--image", "x\udcff"), "invalid Unicode in a name"),
        (("--format", "nova", "-o", "/nowhere/at/all"), "-o /nowhere/at/all: cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(files: Path, words: tuple[str, ...], message: str) -> None:
    done = run(files, "--host", "@host", "--placement", "@placement", *words)
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)
