"""Malformed descriptors: each yields a value or a message, and nothing else."""

import json
import random

import jsonschema
import pytest
from scripts.schemas import SCHEMAS
from tests.hosts import Shape, host
from tests.machines import describe_machine
from tests.vms import EXAMPLES, SMALL

from nodrop.descriptors import format_descriptor, read_vmd
from nodrop.descriptors.chd import parse_chd
from nodrop.descriptors.vmd import parse_vmd
from nodrop.errors import ConfigError
from nodrop.system.yaml_reader import parse_document

PIECES = (
    *(
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "-",
        "&a ",
        "*a",
        "!!set ",
        "<<: ",
        "'",
        '"',
        "\n",
        "  ",
        "\t",
        "\0",
        "#",
        "|",
        ">",
        "? ",
    ),
    *(
        "0",
        "-1",
        "1e999",
        ".nan",
        "9" * 40,
        "null",
        "true",
        "0x",
        "10GB",
        "5 Gbps",
        "fully-dedicated",
        "é",
        "\ufeff",
        "1,2",
    ),
    *(
        "vcpus",
        "cpu-set 0:",
        "cpu-sets: 2",
        "memory:",
        "value",
        "<",
        "</",
        "<a>",
        "&amp;",
        "<!DOCTYPE a>",
        "\r\n",
        "---\n",
    ),
)
VMDS = (SMALL, *(file.read_text() for file in sorted(EXAMPLES.iterdir())))
CHDS = tuple(format_descriptor(host("a", Shape(1, 1, 2, ports=1, vfs=1)), form) for form in ("yaml", "json", "xml"))


def corrupt(text: str, draw: random.Random) -> str:
    """Return a text with a few pieces removed, inserted, doubled or moved."""
    for _ in range(draw.randrange(1, 4)):
        at, end = sorted(draw.randrange(len(text) + 1) for _ in range(2))
        end = min(end, at + 40)
        text = draw.choice(
            (
                text[:at] + text[end:],
                text[:at] + draw.choice(PIECES) + text[at:],
                text[:at] + draw.choice(PIECES) + text[end:],
                text[:end] + text[at:],
                text[:at],
            )
        ) or " "  # fmt: skip
    return text


@pytest.mark.parametrize("text", VMDS, ids=range(len(VMDS)))
def test_a_spoilt_vm_is_read_or_refused(text: str) -> None:
    draw = random.Random(8)
    read_count = 0
    for _ in range(300):
        try:
            value, remarks = parse_vmd(corrupt(text, draw), "x")
        except ConfigError as error:
            assert str(error).startswith("x: ")
        else:
            read_count += 1
            assert parse_vmd(format_descriptor(value, "yaml"), "x")[0] == value
            assert all(str(each) for each in remarks)
    assert 0 < read_count < 300


@pytest.mark.parametrize("text", CHDS, ids=["yaml", "json", "xml"])
def test_a_spoilt_host_is_read_or_refused(text: str) -> None:
    draw = random.Random(9)
    for _ in range(60):
        try:
            value = parse_chd(corrupt(text, draw), "x")
        except ConfigError as error:
            assert str(error).startswith("x: ")
        else:
            assert parse_chd(format_descriptor(value, "json"), "x") == value


def test_examples_and_what_is_written_fit_the_schemas() -> None:
    vmd, chd = (
        jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text())) for name in ("vmd", "chd")
    )
    for file in EXAMPLES.glob("*.yaml"):
        vmd.validate(json.loads(json.dumps(parse_document(file.read_text(), file.name).content)))
        vmd.validate(json.loads(format_descriptor(read_vmd(file)[0], "json")))
    for value in (host(), describe_machine("xeon-2n-smt")):
        chd.validate(json.loads(format_descriptor(value, "json")))


@pytest.mark.parametrize(
    "old, new", [("vcpus:", "cpus:"), ("sriov", "usb"), ("2GB}", "2GB, speed: 1}"), ("name:", "nam:")]
)
def test_what_does_not_fit_the_schema_is_not_read_either(old: str, new: str) -> None:
    text = SMALL.replace(old, new)
    schema = json.loads((SCHEMAS / "vmd.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(parse_document(text, "x").content)))
    with pytest.raises(ConfigError):
        parse_vmd(text, "x")
