"""Host descriptor files: written, read again, and refused with a message."""

import json
import time
from pathlib import Path
from typing import get_args

import pytest
from tests.hosts import Shape, host
from tests.machines import NAMES, describe_machine, machine, make_tree

from nodrop.descriptors import (
    DescriptorForm,
    add_fingerprints,
    compute_fingerprint,
    format_descriptor,
    list_altered,
    read_chd,
)
from nodrop.errors import ConfigError
from nodrop.host.observations import observe_number
from nodrop.model.chd import HostDescriptor
from nodrop.model.observation import ObservationTime

LATER = ObservationTime("2026-02-02T00:00:00+00:00")


def write_and_read(value: HostDescriptor, form: DescriptorForm, directory: Path) -> HostDescriptor:
    file = directory / f"host.{form}"
    file.write_text(format_descriptor(value, form))
    return read_chd(file)


@pytest.mark.parametrize("form", get_args(DescriptorForm))
@pytest.mark.parametrize("shape", [Shape(), Shape(nodes=1, cores=1, threads=1, ports=0), Shape(nodes=4, vfs=0)])
def test_a_host_is_the_same_after_it_was_written_and_read(shape: Shape, form: DescriptorForm, tmp_path: Path) -> None:
    value = add_fingerprints(host("a", shape))
    assert write_and_read(value, form, tmp_path) == value
    assert list_altered(write_and_read(value, form, tmp_path)) == ()


@pytest.mark.parametrize("form", get_args(DescriptorForm))
def test_text_of_every_kind_survives(form: DescriptorForm, tmp_path: Path) -> None:
    value = host()
    odd = {
        "kernel_cmdline": "a=b <&> \"quoted\" 'x'\r\nsecond\tline",
        "2M": " true ",
        "item": "12",
        "no": "é😀",
        "entry": "",
    }
    settings = {name: LATER.reported(text, "/proc/<x>") for name, text in odd.items()}
    value = value.model_copy(
        update={"capabilities": value.capabilities.model_copy(update={"settings": settings})},
    )
    assert write_and_read(value, form, tmp_path) == value


def test_a_hash_is_of_values_not_of_when_and_how_they_were_found() -> None:
    value = host()
    again = value.capabilities.model_copy(
        update={
            "captured_at": LATER.at,
            "processor": value.capabilities.processor.model_copy(
                update={"vendor": LATER.inferred("Intel", "elsewhere", "by a guess")}
            ),
        }
    )
    assert compute_fingerprint(again) == compute_fingerprint(value.capabilities)
    other = again.model_copy(update={"processor": again.processor.model_copy(update={"vendor": LATER.unknown("no")})})
    assert compute_fingerprint(other) != compute_fingerprint(value.capabilities)


def test_an_edited_half_is_noticed() -> None:
    value = add_fingerprints(host())
    edited = value.model_copy(
        update={"resources": value.resources.model_copy(update={"links": ()})},
    )
    assert list_altered(edited) == ("resources",)
    assert list_altered(host()) == ()


def refusal(content: str | bytes, directory: Path) -> str:
    file = directory / "host"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        read_chd(file)
    message = str(caught.value)
    assert all(line.startswith((f"{file}: ", "and ")) for line in message.splitlines())
    assert len(message) < 3000
    return message.replace(f"{file}: ", "")


YAML = format_descriptor(host("a", Shape(nodes=1, cores=1, threads=2)), "yaml")
NODE = "resources.numa_nodes.0"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "value: 68719476736\n",
            f"value: 1{'0' * 30}\n",
            f"{NODE}.memory.total_bytes.value: 1e+30 is not from 0 to 2^64",
        ),
        ("value: 68719476736\n", "value: -1\n", "memory.total_bytes.value: -1 is not from 0 to 2^64"),
        ("value: 68719476736\n", "value: .nan\n", "memory.total_bytes.value: should be a finite number (nan)"),
        (
            "value: 68719476736\n",
            "value: 64 GiB\n",
            "memory.total_bytes.value: should be an integer ('64 GiB')",
        ),
        ("value: 68719476736\n", "value: null\n", "no value contradicts confidence reported; correct one of them"),
        ("ids: [0, 1]", "ids: [0]", f"{NODE}.cpus.sibling_sets: CPU 1 is in a sibling set of a node without it"),
        ("ids: [0, 1]", "ids: [0, 1, 2]", f"{NODE}.cpus.sibling_sets: CPU 2 is in 0 sibling sets"),
        ("ids: [0, 1]", "ids: [0, 1, 1]", f"{NODE}.cpus.ids: CPU 1 is on several nodes"),
        (
            "sibling_sets: [[0, 1]]",
            "sibling_sets: [[0, 1], [1]]",
            "CPU 1 is in 2 sibling sets; list each CPU of the node",
        ),
        ("sibling_sets: [[0, 1]]", "sibling_sets: &a [*a]", "more than 24 levels"),
        ("captured_at:", "color: red\ncaptured_at:", "line 2: color: unknown key ('red')"),
        ("captured_at:", "chd_version: '1'\ncaptured_at:", "duplicate key 'chd_version'"),
        ("chd_version: '1'", "chd_version: '9'", "line 1: chd_version: should be '1' ('9')"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key_and_value(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in YAML
    assert message in refusal(YAML.replace(old, new, 1), tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1, "a": 2}', "key 'a' is a duplicate"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": ', "line 1, column 7: invalid JSON: "),
        ('{"a":' * 10**5, "invalid JSON: nested too deep"),
        (f'{{"a": 1{"0" * 5000}}}', "invalid JSON"),
        (
            json.dumps({f"k{each}": 1 for each in range(20_000)}),
            "20004 values cannot be used; it is another file",
        ),
        (f"[{'1,' * 10**6}1]", "more than 300000 values"),
        ("{}", "captured_at: missing and has no default; add it"),
        ("[" * 10**6, "more than 24 levels"),
        ("- a\n" * 10**5, "not a mapping"),
        ("", "captured_at: missing and has no default"),
        (b"\xff\xfe", "line 1: not a Compute Host Descriptor: invalid UTF-8"),
        ("\0" * 10, "control character (U+0000)"),
        ("<chd/>", 'the XML root is not of type="map"'),
        ("<chd", "no well-formed XML"),
        ("<a type='map'>" * 10**5, "XML"),
        ("<a/>" * 2**21, "XML elements; not a descriptor"),
        (
            '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><chd type="map">&b;</chd>',
            "has a document type",
        ),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><chd type="map"/>', "has a document type"),
    ],
    ids=range(19),
)
def test_hostile_files_are_refused_in_a_sentence(content: str | bytes, message: str, tmp_path: Path) -> None:
    started = time.monotonic()
    assert message in refusal(content, tmp_path)
    assert time.monotonic() - started < 30


def test_aliases_that_multiply_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))]
    assert "values, aliases included" in refusal("\n".join(lines), tmp_path)


def test_a_hundred_megabytes_are_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    with file.open("wb") as opened:
        opened.truncate(100 * 2**20)
    with pytest.raises(ConfigError, match=r"larger than 16 MiB \(100 MiB\)"):
        read_chd(file)


@pytest.mark.parametrize("cut", range(100, len(YAML), len(YAML) // 12))
def test_a_truncated_descriptor_is_refused_or_less(cut: int, tmp_path: Path) -> None:
    file = tmp_path / "host.yaml"
    file.write_text(YAML[:cut])
    try:
        chd = read_chd(file)
    except ConfigError as error:
        assert str(error).startswith(str(file))
    else:
        assert chd.host == host("a").host


def test_a_host_of_512_cpus_is_read_in_seconds(tmp_path: Path) -> None:
    value = add_fingerprints(host("big", Shape(nodes=8, cores=32, threads=2)))
    started = time.monotonic()
    assert write_and_read(value, "json", tmp_path) == value
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("name", NAMES)
def test_captured_machines_are_the_same_after_they_were_written_and_read(name: str, tmp_path: Path) -> None:
    value = describe_machine(name)
    for form in get_args(DescriptorForm) if name in ("xeon-2n-smt", "arm-big-little") else ("json",):
        assert write_and_read(value, form, tmp_path) == value
    assert list_altered(value) == ()


@pytest.mark.parametrize("content", ["-5", "9" * 20, "9" * 31, "nan", "", "\xff"])
def test_a_number_that_cannot_be_is_unknown_so_that_every_description_reads_back(content: str, tmp_path: Path) -> None:
    source = machine("xeon-2n-smt")._replace(tree=make_tree(tmp_path, {"/sys/x": content.encode("latin-1")}))
    result = observe_number(source, "/sys/x")
    assert not result.known
    assert result.why.startswith("holds ")
