"""Documents: YAML with the plain types of YAML 1.2, JSON, and error messages for everything else."""

import errno
import math
import os
import re
from pathlib import Path

import pytest

from nodrop.config.source import NamedMapping, read_source
from nodrop.errors import ConfigError
from nodrop.system import yaml_reader
from nodrop.system.yaml_reader import Dumper, from_mapping, parse_document, to_yaml_line


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_document(text, "lab.yaml")
    return str(caught.value)


def test_values_are_what_yaml_1_2_says() -> None:
    # Source: YAML 1.2.2 section 10.3.2, and the words that YAML 1.1 read as other types.
    text = "a: no\nb: 010\nc: 1e3\nd: 10:30\ne: 0x1F\nf: 2001-01-01\ng: ~\nh: True\ni: -1.5\nj: 0o17\nk: on"
    assert parse_document(text, "x").content == {
        "a": "no",
        "b": 10,
        "c": 1000.0,
        "d": "10:30",
        "e": 31,
        "f": "2001-01-01",
        "g": None,
        "h": True,
        "i": -1.5,
        "j": 15,
        "k": "on",
    }


def test_every_key_and_item_has_its_line() -> None:
    lines = parse_document("a: 1\nb:\n  c: 2\n  d:\n    - 3\n    - {e: 4}\n", "x").lines
    assert lines == {
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 3,
        ("b", "d"): 4,
        ("b", "d", "0"): 5,
        ("b", "d", "1"): 6,
        ("b", "d", "1", "e"): 6,
    }


def test_json_is_read_with_tabs_and_characters_in_two_halves() -> None:
    assert parse_document('{\n\t"a":\t"\\ud83d\\ude00",\n\t"b": [1, null, "x\\/y"]\n}', "x").content == {
        "a": "😀",
        "b": [1, None, "x/y"],
    }


def test_what_an_anchor_holds_is_taken_over() -> None:
    text = "a: &base {b: 1, c: 2}\nd: {<<: *base, c: 3}\ne: *base"
    assert parse_document(text, "x").content["d"] == {"b": 1, "c": 3}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: !!python/object/apply:os.system [id]", "line 1, column 4: invalid YAML (unsupported tag"),
        ("a: !!int x", "tag tag:yaml.org,2002:int does not match 'x'"),
        (f"a: {'9' * 5000}", "a number of 5000 digits, at most 300 are allowed"),
        ("a: 1\nb: x\0y", "line 2: control character (U+0000)"),
        ("? [1]\n: 2", "line 1, column 3: invalid YAML (a key must be plain text)"),
        ("true: 2", "a key must be text or a number, not True"),
        ('a: "\\ud83d"', "an unpaired surrogate"),
        ("a: 1\n---\nb: 2", "line 2, column 1"),
        ("a: *nowhere", "line 1, column 4: invalid YAML"),
        ("a: 1\n\tb: 2", "line 2, column 1"),
        ("flow_count:100k", "write keys with values, e.g. `profile: quick`, with a blank after the colon"),
        ("x" * 2**21, "at most 1048576)"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    message = refusal(text)
    assert message.startswith("lab.yaml: ")
    assert sentence in message
    assert len(message) < 300


@pytest.fixture(params=["libyaml", "PyYAML"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Parse every text by libyaml, or none."""
    monkeypatch.setattr(yaml_reader, "LIBYAML_MIN_CHARS", 0 if request.param == "libyaml" else math.inf)
    return str(request.param)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 10**5, id="brackets"),
        pytest.param("a: " + "[" * 10**5, id="brackets-after-key"),
        pytest.param("[{" * 10**4, id="lists-of-mappings"),
        pytest.param("[ [\n[ " * 10**3, id="brackets-on-lines"),
        pytest.param("[1, " * 10**4, id="lists"),
        pytest.param("{a: " * 10**4, id="mappings"),
        pytest.param("a: " + "{b: " * 24 + "1" + "}" * 24, id="one-level-too-many"),
        pytest.param("- " * 10**4, id="block-lists"),
        pytest.param("? " * 10**4, id="block-keys"),
        pytest.param("\n".join(f"{' ' * level}a:" for level in range(500)), id="block-mappings"),
        pytest.param("a: &a {b: *a}", id="alias-of-itself"),
        pytest.param("a: &a [*a]", id="alias-in-list"),
        pytest.param("a: &a {<<: *a}", id="merge-of-itself"),
    ],
)
def test_too_many_levels_are_refused_in_the_same_words_by_both_parsers(text: str) -> None:
    assert re.fullmatch(
        r"lab.yaml: line \d+, column \d+: invalid YAML \(more than 24 levels\); correct the line", refusal(text)
    )


@pytest.mark.usefixtures("parser")
def test_24_levels_are_read_by_both_parsers() -> None:
    assert parse_document("a: " + "{b: " * 23 + "1" + "}" * 23, "x").content
    assert parse_document("a: " + "[" * 23 + "]" * 23, "x").content
    assert parse_document(f"a: '{'[' * 2000}'\n# {'[' * 2000}", "x").content == {"a": "[" * 2000}


@pytest.mark.usefixtures("parser")
def test_too_many_values_are_refused_by_both_parsers() -> None:
    limits = yaml_reader.ReadLimits(values=1000)
    with pytest.raises(ConfigError, match="more than 1000 values"):
        parse_document(f"a: [{'1, ' * 2001}]", "x", limits)
    assert parse_document(f"a: [{'1, ' * 900}]", "x", limits).content


def test_aliases_that_repeat_one_another_cost_nothing() -> None:
    lines = ["a0: &a0 [1]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))]
    assert "more than 100000 values, aliases included" in refusal("\n".join(lines))


@pytest.mark.parametrize("content", [b"\xff\xfea\0:\0", b"\x7fELF\x02\x01\x01\0\0\0", bytes(range(256))])
def test_a_file_that_is_no_text_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"lab\.yaml: line [12]: "):
        read_source(file)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_bytes(b"\xef\xbb\xbfchains: 2")
    assert read_source(file).content == {"chains": 2}


@pytest.mark.parametrize("text", ["{chains: 2}", "chains: 2", '{"chains": 2}', "chains: 2\nhops: 1", "search:"])
def test_text_in_place_of_a_file_is_the_configuration(text: str) -> None:
    assert read_source(text).name == "inline configuration"


def test_text_that_is_neither_file_nor_keys_is_taken_for_a_mistyped_file(tmp_path: Path) -> None:
    (tmp_path / "nfvbench.cfg").write_text("chains: 2")
    with pytest.raises(ConfigError) as caught:
        read_source(f"{tmp_path}/nfvbnech.cfg")
    assert os.strerror(errno.ENOENT) in str(caught.value)
    assert str(caught.value).endswith(f"; did you mean {tmp_path}/nfvbench.cfg?")


@pytest.mark.parametrize("text", ["", "   ", "quick", "x" * 5000, "a\0b", "/", "."])
def test_text_that_is_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_source(text)


def test_a_mapping_is_held_to_the_same_bounds() -> None:
    deep: dict[str, object] = {}
    for _ in range(1000):
        deep = {"a": deep}
    for wrong in (deep, {"a": [0] * 100_001}, {"a": object()}, {"a": 10**400}):
        with pytest.raises(ConfigError, match="request body: "):
            read_source(NamedMapping("request body", wrong))
    assert from_mapping({"a": [1, {"b": None}]}, "x").content == {"a": [1, {"b": None}]}


@pytest.mark.parametrize("value", ["no", "1e3", "010", "0o7", "10:30", "~", "", "a: b", "😀", "2001-01-01", "<<", 1e-7])
def test_what_is_written_is_read_as_it_was(value: object) -> None:
    assert Dumper is not None
    assert parse_document(f"a: {to_yaml_line(value)}", "x").content == {"a": value}
