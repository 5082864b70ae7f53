"""Differences of two hosts: leaf by leaf, in a readable order, without times and timestamps."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.hosts import AT, GIB, Shape, host
from tests.recorded import record_run
from tests.running import MILLION

from nodrop import store
from nodrop.analysis.host_diff import HostChange, diff_hosts
from nodrop.cli import main
from nodrop.descriptors import add_fingerprints, format_descriptor
from nodrop.model.base import Value
from nodrop.model.chd import HostDescriptor
from nodrop.model.observation import Observation, ObservationTime

LATER = ObservationTime("2026-02-02T00:00:00+00:00")


def replace_leaf(value: Any, path: str, to: object) -> Any:
    """Return the leaf with another value at `a.b.0.c`; dict keys are as in JSON."""
    name, _, rest = path.partition(".")
    if isinstance(value, Value):
        return value.model_copy(update={name: replace_leaf(getattr(value, name), rest, to) if rest else to})
    if isinstance(value, dict):
        key = next((each for each in value if str(each) == name), name)
        return {**value, key: replace_leaf(value[key], rest, to) if rest else to}
    return tuple(replace_leaf(each, rest, to) if str(index) == name else each for index, each in enumerate(value))


def diff_rows(a: HostDescriptor, b: HostDescriptor, **options: bool) -> list[tuple[str, str, str, str]]:
    return [(each.part, each.text, each.a_text, each.b_text) for each in diff_hosts(a, b, **options)]


def single_change(path: str, to: object) -> HostChange:
    (change,) = diff_hosts(host(), replace_leaf(host(), path, to))
    return change


def test_a_host_does_not_differ_from_itself_later() -> None:
    again = HostDescriptor.model_validate_json(host().model_dump_json().replace(AT, LATER.at))
    assert again != host()
    assert diff_hosts(host(), again) == ()


@pytest.mark.parametrize(
    ("path", "to", "expected"),
    [
        ("host.kernel", LATER.reported("6.2.0", "uname"), ("host", "kernel", "6.1.0", "6.2.0")),
        (
            "capabilities.processor.base_mhz",
            LATER.reported(1800.0, "x"),
            ("capabilities", "processor: base clock", "2700 MHz", "1800 MHz"),
        ),
        (
            "capabilities.processor.smt.enabled",
            LATER.reported(False, "x"),
            ("capabilities", "processor: SMT: enabled", "yes", "no"),
        ),
        (
            "resources.numa_nodes.1.memory.total_bytes",
            LATER.reported(32 * GIB, "x"),
            ("resources", "node 1: memory: total", "64 GiB", "32 GiB"),
        ),
        (
            "resources.numa_nodes.0.memory.large_pages.0.used_count",
            LATER.reported(3, "x"),
            ("resources", "node 0: memory: large pages of 1 GiB: used", "0", "3"),
        ),
        (
            "resources.numa_nodes.0.nics.0.ports.1.speed_bps",
            LATER.reported(25 * 10**9, "x"),
            ("resources", "node 0: NIC 0000:03:00: port 0000:03:00.1: speed", "10.00 Gb/s", "25.00 Gb/s"),
        ),
    ],
)
def test_a_change_is_told_in_words(path: str, to: object, expected: tuple[str, ...]) -> None:
    change = single_change(path, to)
    assert (change.part, change.text, change.a_text, change.b_text) == expected
    assert change.kind == "differs"
    assert (change.a_source, change.b_source) == ("test", to.source)  # type: ignore[attr-defined]


def test_cpus_that_change_alike_are_told_once() -> None:
    used = host()
    for cpu in (2, 3, 5):
        used = replace_leaf(used, f"resources.numa_nodes.0.cpus.cpu.{cpu}.in_use", LATER.reported(True, "x"))
    assert diff_rows(host(), used) == [("resources", "node 0: CPUs 2-3,5: in use", "no", "yes")]


def test_what_is_there_on_one_host_alone_is_told_as_a_whole() -> None:
    whole, smaller = (host("host-a", Shape(nodes=nodes, threads=1)) for nodes in (2, 1))
    texts = [each.text for each in diff_hosts(whole, smaller) if each.kind == "there"]
    assert texts == ["node 1", "link between nodes 0 1"]
    back = [(each.a_text, each.b_text) for each in diff_hosts(smaller, whole) if each.kind == "there"]
    assert back == [("absent", "there")] * 2


def test_what_became_known_is_told_apart() -> None:
    observation = LATER.reported("1.2", "BIOS")
    change = single_change("host.bios", observation)
    assert (change.kind, change.a_text, change.b_text) == ("known", "unknown", "1.2")
    hidden: Observation[str] = LATER.unknown("needs root")
    change = single_change("host.kernel", hidden)
    assert (change.kind, change.a_text, change.b_text) == ("known", "6.1.0", "unknown: needs root")


def test_why_something_is_unknown_is_no_difference() -> None:
    a = replace_leaf(host(), "host.bios", LATER.unknown("needs root"))
    assert diff_hosts(host(), a) == ()


@pytest.mark.parametrize(
    "path", ["capabilities.processor.current_mhz", "resources.numa_nodes.0.cpus.cpu.1.usage_ratio"]
)
def test_what_is_another_the_next_moment_is_told_on_demand(path: str) -> None:
    a, b = (replace_leaf(host(), path, LATER.reported(value, "x")) for value in (0.5, 0.6))
    assert diff_hosts(a, b) == ()
    assert len(diff_hosts(a, b, momentary=True)) == 1


def test_of_long_text_the_words_that_differ_are_shown() -> None:
    words = " ".join(f"word{each}=1" for each in range(20))
    a, b = (
        replace_leaf(host(), "capabilities.settings", {"kernel_cmdline": LATER.reported(text, "/proc/cmdline")})
        for text in (f"{words} mitigations=auto", f"{words} mitigations=off isolcpus=2-7")
    )
    assert diff_rows(a, b) == [
        ("settings", "kernel_cmdline", "... mitigations=auto", "... mitigations=off isolcpus=2-7")
    ]


def test_parts_are_in_the_order_of_a_descriptor() -> None:
    b = replace_leaf(host(), "host.kernel", LATER.reported("7", "x"))
    b = replace_leaf(b, "capabilities.processor.vendor", LATER.reported("AMD", "x"))
    b = replace_leaf(b, "resources.numa_nodes.0.socket", LATER.reported(7, "x"))
    assert [each.part for each in diff_hosts(host(), b)] == ["host", "capabilities", "resources"]


def run_diff(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["host", "diff", *arguments])
    return code, *capsys.readouterr()


def test_the_command_compares_files_of_any_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.yaml", tmp_path / "b.xml"
    a.write_text(format_descriptor(add_fingerprints(host()), "yaml"))
    b.write_text(
        format_descriptor(add_fingerprints(replace_leaf(host(), "host.kernel", LATER.reported("7", "uname"))), "xml")
    )
    code, text, error = run_diff(capsys, str(a), str(b))
    assert (code, error) == (1, "")
    assert "1 difference: 1 in identity.\n" in text
    assert "  kernel: 6.1.0 → 7  [test | uname]\n" in text
    code, text, _ = run_diff(capsys, str(a), str(a), "--format", "json")
    assert (code, json.loads(text)["same"]) == (0, True)


def test_the_command_warns_of_an_edited_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    file.write_text(format_descriptor(add_fingerprints(host()), "json").replace('"DDR4"', '"DDR5"'))
    code, _, error = run_diff(capsys, str(file), str(file))
    assert (code, error) == (
        0,
        f"nodrop: warning: {file}: its capabilities were changed after they were written\n" * 2,
    )


def test_the_command_compares_what_runs_were_measured_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = record_run(tmp_path, MILLION)
    assert result.facts
    for name, kernel in (("before", "6.1.0"), ("after", "7.0")):
        measured_on = replace_leaf(host(), "host.kernel", LATER.reported(kernel, "uname"))
        stored = result.model_copy(update={"facts": result.facts.model_copy(update={"chd": measured_on})})
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(store.to_json(stored))
    code, text, _ = run_diff(capsys, "before", "after", "--results-dir", str(tmp_path))
    assert code == 1
    assert "  kernel: 6.1.0 → 7.0  [uname]\n" in text
    file = str(tmp_path / "before" / "result.json")
    assert run_diff(capsys, file, "before", "--results-dir", str(tmp_path))[0] == 0


def test_a_run_without_a_description_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = record_run(tmp_path, MILLION)
    assert result.facts
    assert result.facts.chd is None
    code, _, error = run_diff(capsys, result.run_id, "latest", "--results-dir", str(tmp_path))
    assert code == 2
    assert f"run {result.run_id}, of an older release, has no description of its host" in error


def test_what_is_no_descriptor_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("a: 1")
    assert run_diff(capsys, str(file))[0] == 2
    assert run_diff(capsys, "nowhere", "--results-dir", str(tmp_path))[0] == 2
