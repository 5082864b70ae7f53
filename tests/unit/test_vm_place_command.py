"""`nodrop vm place` from the user's side."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.hosts import Shape, host
from tests.vms import forwarder, sample

from nodrop.cli import nodrop
from nodrop.descriptors import format_descriptor, list_altered, read_chd
from nodrop.errors import NodropError
from nodrop.model.placement import Placement, PlacementBatch


@pytest.fixture
def place(files: None, tmp_path: Path):  # noqa: ARG001
    """Run the command; return its result and raise nodrop's errors. @ stands for the directory of the files."""

    def run(*arguments: str) -> Result:
        result = invoke_place(tmp_path, *arguments)
        if isinstance(result.exception, NodropError):
            raise result.exception
        return result

    return run


def invoke_place(directory: Path, *arguments: str) -> Result:
    words = [each.replace("@", f"{directory}/") for each in arguments]
    return CliRunner().invoke(nodrop, ["vm", "place", *words], env={"COLUMNS": "100"})


@pytest.fixture
def files(tmp_path: Path) -> None:
    """Write descriptors of three hosts and two VMs."""
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    (hosts / "rack1-a.json").write_text(format_descriptor(host("rack1-a"), "json"))
    (hosts / "rack1-b.yaml").write_text(format_descriptor(host("rack1-b", Shape(nodes=1)), "yaml"))
    (hosts / "rack1-c.xml").write_text(format_descriptor(host("rack1-c", Shape(cores=3)), "xml"))
    (hosts / "README").write_text("no descriptor")
    (tmp_path / "sample.yaml").write_text(format_descriptor(sample(), "yaml"))
    (tmp_path / "forwarder.yaml").write_text(format_descriptor(forwarder(), "yaml"))


def test_a_vm_goes_to_the_best_of_the_descriptors_in_a_directory(place) -> None:  # type: ignore[no-untyped-def]
    result = place("--vmd", "@sample.yaml", "--host", "@hosts")
    assert result.exit_code == 0, result.output
    assert "goes to rack1-b" in result.output
    assert "rack1-c is rejected" in result.output
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_several_vms_see_what_those_before_them_left_and_files_say_so(place, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = place(
        "--vmd", "@sample.yaml", "--vmd", "@sample.yaml", "--host", "@hosts", "--format", "json", "-o", "@out"
    )
    batch = PlacementBatch.model_validate(json.loads(result.stdout))
    assert [(each.vm, each.placement and each.placement.host_id) for each in batch.results] == [
        ("etsi-8.2.2.4", "rack1-b"),
        ("etsi-8.2.2.4#2", "rack1-a"),
    ]
    out = tmp_path / "out"
    after = read_chd(out / "rack1-a.chd.json")
    owners = {owner for node in after.resources.numa_nodes for each in node.cpus.cpu.values() for owner in each.owners}
    assert owners == {"etsi-8.2.2.4#2"}
    assert not list_altered(after), "its hashes are of what it says"
    text = yaml.safe_load((out / "etsi-8.2.2.4-2.placement.yaml").read_text())
    assert Placement.model_validate(text) == batch.results[1].placement


def test_a_vm_that_fits_nowhere_ends_with_5_and_every_reason(place) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NodropError, match="no host fits") as raised:
        place("--vmd", "@sample.yaml", "--host", "@hosts/rack1-c.xml")
    assert raised.value.exit_code == 5


def test_all_or_nothing_writes_nothing_when_one_does_not_fit(place, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    both = ("--vmd", "@sample.yaml", "--vmd", "@sample.yaml", "--host", "@hosts/rack1-b.yaml", "-o", "@out")
    with pytest.raises(NodropError, match="nothing was written"):
        place(*both, "--all-or-nothing")
    assert not (tmp_path / "out").exists()
    with pytest.raises(NodropError, match=r"no host fits .*#2 "):
        place(*both)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "etsi-8.2.2.4.placement.yaml",
        "rack1-b.chd.json",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--reserve", "cores=many"), "--reserve: cores"),
        (("--reserve", "disks=1"), "unknown key in disks=1"),
        (("--reserve", "cores=-1"), "contains a negative value"),
        (("--min-guarantee", "150%"), "0 % to 100 %"),
        (("--ranking", "nothing.yaml"), "unknown ranking"),
        (("--host", "@hosts/rack1-a.json"), "both describe host rack1-a"),
        (("--host", "@empty"), "has no descriptor"),
    ],
)
def test_what_cannot_be_done_as_written_is_said_with_its_remedy(  # type: ignore[no-untyped-def]
    place, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NodropError, match=says) as raised:
        place("--vmd", "@sample.yaml", "--host", "@hosts", *arguments)
    assert raised.value.exit_code == 2


def test_a_table_of_scores_comes_from_a_file_that_says_who_measured(place, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    profile = forwarder().profiles[0]
    ranked = profile.processor.model_copy(update={"rank_min": 100.0})
    vmd = forwarder().model_copy(update={"profiles": (profile.model_copy(update={"processor": ranked}),)})
    (tmp_path / "ranked.yaml").write_text(format_descriptor(vmd, "yaml"))
    table = tmp_path / "scores.yaml"
    table.write_text("name: a benchmark\nsource: a vendor\nscores:\n  E5-2680: 120\n")
    requested = ("--vmd", "@ranked.yaml", "--host", "@hosts", "--ranking", "@scores.yaml")
    assert "a benchmark (a vendor)" in " ".join(place(*requested).output.split())
    for text, says in (("scores: {E5-2680: 120}\n", "source: missing"), ("source: x\nscores: {a: -1}\n", "above 0")):
        table.write_text(text)
        with pytest.raises(NodropError, match=says):
            place(*requested)
    with pytest.raises(NodropError, match="no result with an NDR"):
        place("--vmd", "@ranked.yaml", "--host", "@hosts", "--ranking", "results", "--results-dir", "@out")


@pytest.mark.usefixtures("files")
def test_many_refused_hosts_are_counted_by_what_decides(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(6):
        shape = Shape(nodes=1, cores=2) if number < 4 else Shape(nodes=1, cores=16, large_pages=1)
        (many / f"{number}.json").write_text(format_descriptor(host(f"host-{number}", shape), "json"))
    runner = invoke_place(tmp_path, "--vmd", "@sample.yaml", "--host", "@many")
    assert "6 hosts rejected, by the first failed constraint" in runner.stdout
    assert "      4" in runner.stdout
    assert "cpus, e.g. host-0" in runner.stdout
    assert "large pages, e.g. host-4" in runner.stdout
