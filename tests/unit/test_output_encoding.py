"""Outputs in ASCII and in ISO-8859-1: every command prints, without characters that the encoding lacks."""

import ast
import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.factories import with_latency
from tests.hosts import host
from tests.recorded import record_run
from tests.running import MILLION, make_environment
from tests.suts import LossFloor
from tests.vms import sample

import nodrop
from nodrop import store
from nodrop.cli import COMMANDS, main
from nodrop.cli.status import BUSY
from nodrop.descriptors import format_descriptor
from nodrop.run.execute import execute
from nodrop.system.output_encoding import REPLACEMENTS, escape_json, replace_missing_characters

ENCODINGS = ("ascii", "iso-8859-1")
LABEL = "Größe→\N{SNOWMAN}"
COMMANDS_ON_RESULTS = (
    "show latest",
    "show latest --all",
    "show latest --json",
    "show latest --format markdown",
    "show latest --format csv",
    "show latest --format nfvbench",
    "explain latest",
    "explain latest --outlook",
    "explain latest --trial 1",
    "explain latest --verify",
    "results list",
    "results list --format json",
    "results show latest",
    "results verify latest",
    "results tag latest +tag",
    "compare latest latest~1",
    "compare latest latest~1 --format json",
    "trend",
    "trend --format markdown",
    "trend --format json",
)
OTHER_COMMANDS = (
    "version",
    "status",
    "lab status",
    "completion bash",
    "config default",
    "config schema",
    "config show",
    "config explain frame_bytes",
    "simulate --list",
    "simulate --sut hard-limit",
    "simulate --sut hard-limit --json -",
    "simulate --sut hard-limit --compare --search binary --seeds 2",
    "host describe",
    "host exposure",
    "host workload",
    "host workload BNG --host host.yaml",
    "vm check sample.yaml",
    "vm place --vmd sample.yaml --host host.yaml",
    "vm place --vmd sample.yaml --host host.yaml --format json",
)
UNPRINTED = "\ufeff\ud7ff\ud800\udfff\ue000\ufffd\U00010000\U0010ffff"
"""Characters of input, and bounds of the ranges of regular expressions."""
REFUSALS = ("no-such-command→", "run --sut →", "show →", "client status→", "host check →")


class Terminal(io.TextIOWrapper):
    """An output that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


class Outputs:
    """Standard output and standard error in one encoding."""

    def __init__(self, kind: type[io.TextIOWrapper], encoding: str) -> None:
        self._kind, self._encoding = kind, encoding

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run a command; return its exit code, its output and its messages, all of which are in the encoding."""
        out, messages = (self._kind(io.BytesIO(), self._encoding) for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
            code = main(arguments)
        return code, self._read(out), self._read(messages)

    def _read(self, stream: io.TextIOWrapper) -> str:
        stream.flush()
        stream.seek(0)
        return stream.buffer.read().decode(self._encoding)


@pytest.fixture(
    params=itertools.product((io.TextIOWrapper, Terminal), ENCODINGS),
    ids=lambda each: "-".join((each[0].__name__, each[1])),
)
def outputs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Outputs:
    monkeypatch.setenv("COLUMNS", "100")
    return Outputs(*request.param)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory, which contains descriptors and two results with latencies and a label."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "host.yaml").write_text(format_descriptor(host("h"), "yaml"), encoding="utf-8")
    (tmp_path / "sample.yaml").write_text(format_descriptor(sample(), "yaml"), encoding="utf-8")
    for each in ("a", "b"):
        result = with_latency(record_run(tmp_path / "recorded" / each, MILLION))
        store.save(result.replace(plan=result.plan.replace(label=LABEL)), tmp_path / "results")
    return tmp_path


@pytest.mark.usefixtures("directory")
def test_every_command_prints(outputs: Outputs) -> None:
    for command in (*COMMANDS_ON_RESULTS, *OTHER_COMMANDS, *(f"{each} --help" for each in COMMANDS)):
        code, out, messages = outputs.run(*command.split())
        is_busy = command == "status" and code == BUSY  # of other tests
        assert (command, 0 if is_busy else code, messages if code else "") == (command, 0, "")
        assert out, command


def test_every_refusal_prints(outputs: Outputs) -> None:
    for command in REFUSALS:
        code, _, messages = outputs.run(*command.split())
        assert code, command
        assert "->" in messages, command


@pytest.mark.usefixtures("directory")
def test_a_run_prints(outputs: Outputs, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = make_environment(LossFloor(1e6, 0.001))
    monkeypatch.setattr(
        "nodrop.run.execute.execute", lambda plan, on_event, _parts: execute(plan, on_event, environment)
    )
    code, out, messages = outputs.run("run", "--max-load", "4Mpps", "--set", f"label={LABEL}")
    assert "NDR" in out, messages
    assert code in (0, 5)


@pytest.mark.usefixtures("directory")
def test_columns_stay_aligned(outputs: Outputs) -> None:
    _, text, _ = outputs.run("show", "latest", "--all")
    rows = [line.rstrip() for line in text.splitlines() if "0->1" in line or "1->0" in line]
    assert len(rows) > 1
    assert len({line.index("->") for line in rows}) == 1
    assert len({len(line) for line in rows}) == 1


@pytest.mark.usefixtures("directory")
def test_json_keeps_every_character(outputs: Outputs) -> None:
    _, text, _ = outputs.run("show", "latest", "--json")
    assert json.loads(text)["plan"]["label"] == LABEL
    _, text, _ = outputs.run("results", "list", "--format", "json")
    assert {row["summary"]["label"] for row in json.loads(text)} == {LABEL}
    _, text, _ = outputs.run("compare", "latest", "latest~1", "--format", "json")
    assert LABEL in str(json.loads(text))


@pytest.mark.usefixtures("directory")
def test_a_process_with_the_locale_of_posix_prints() -> None:
    variables = {"PYTHONUTF8": "0", "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "100"}
    command = [sys.executable, "-m", "nodrop", "show", "latest", "--all"]
    done = subprocess.run(command, check=True, capture_output=True, env=os.environ | variables)
    assert b"0->1" in done.stdout
    assert done.stdout.isascii()
    assert not done.stderr


def test_every_character_of_the_source_has_a_replacement() -> None:
    for file in Path(nodrop.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        texts = (
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        used = {each for text in texts for each in text if not each.isascii() and each not in UNPRINTED}
        assert used <= set(REPLACEMENTS), file


def test_what_cannot_be_encoded_is_replaced() -> None:
    text = "0→1: 12 µs ± 3, ≥ 4 … ✔ ▁▄█"
    assert replace_missing_characters(text, "ascii") == "0->1: 12 us +- 3, >= 4 ... + _~#"
    assert replace_missing_characters(text, "iso-8859-1") == "0->1: 12 µs ± 3, >= 4 ... + _~#"
    assert replace_missing_characters("naïve \N{SNOWMAN} \udce9", "ascii") == r"na\u00efve \u2603 \udce9"
    assert all(each.isascii() for each in REPLACEMENTS.values())
    assert not {'"', "\\"} & set("".join(REPLACEMENTS.values()))


def test_json_is_escaped_unless_the_output_is_utf_8() -> None:
    text = '{"→": "\N{PILE OF POO}"}'
    assert escape_json(text, io.TextIOWrapper(io.BytesIO(), "utf-8")) == text
    escaped = escape_json(text, io.TextIOWrapper(io.BytesIO(), "iso-8859-1"))
    assert escaped.isascii()
    assert json.loads(escaped) == json.loads(text)
