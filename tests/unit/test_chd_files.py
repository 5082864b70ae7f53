"""Descriptors of hosts as files: written, read again, and refused in a sentence."""

from pathlib import Path
from typing import get_args

import pytest
from tests.hosts import Shape, host

from nodrop.descriptors import Form, altered, fingerprint, read_chd, text_of, with_fingerprints
from nodrop.model.chd import HostDescriptor
from nodrop.model.observation import Moment

LATER = Moment("2026-02-02T00:00:00+00:00")


def kept(value: HostDescriptor, form: Form, directory: Path) -> HostDescriptor:
    file = directory / f"host.{form}"
    file.write_text(text_of(value, form))
    return read_chd(file)


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("shape", [Shape(), Shape(nodes=1, cores=1, threads=1, ports=0), Shape(nodes=4, vfs=0)])
def test_a_host_is_the_same_after_it_was_written_and_read(shape: Shape, form: Form, tmp_path: Path) -> None:
    value = with_fingerprints(host("a", shape))
    assert kept(value, form, tmp_path) == value
    assert altered(kept(value, form, tmp_path)) == ()


@pytest.mark.parametrize("form", get_args(Form))
def test_text_of_every_kind_survives(form: Form, tmp_path: Path) -> None:
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
    assert kept(value, form, tmp_path) == value


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
    assert fingerprint(again) == fingerprint(value.capabilities)
    other = again.model_copy(update={"processor": again.processor.model_copy(update={"vendor": LATER.unknown("no")})})
    assert fingerprint(other) != fingerprint(value.capabilities)


def test_an_edited_half_is_noticed() -> None:
    value = with_fingerprints(host())
    edited = value.model_copy(
        update={"resources": value.resources.model_copy(update={"links": ()})},
    )
    assert altered(edited) == ("resources",)
    assert altered(host()) == ()
