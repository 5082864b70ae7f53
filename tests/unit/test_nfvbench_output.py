"""NFVbench's format on the command line: written on demand, read from any writer, displayed in every format."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, make_environment

from nodrop import store
from nodrop.cli import main
from nodrop.cli.outputs import FORMS
from nodrop.model.result import Status
from nodrop.run.execute import execute

FILES = Path(__file__).parents[1] / "nfvbench"
SHORT = ("--set", "search.final_trial_duration=1s", "--max-load", "4Mpps", "--no-latency", "-q", "--alongside")
FIXED = ("run", "--rate", "10kpps", "--duration", "1", "-q", "--alongside")


@pytest.fixture(autouse=True)
def simulated_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulated(plan: Any, on_event: Any, _parts: object = None) -> Any:
        return execute(plan, on_event, make_environment(MILLION))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("nodrop.run.execute.execute", simulated)
    monkeypatch.setattr("nodrop.run.suite.execute", simulated)


def service_chain(file: str | Path, name: str = "PVP") -> dict[str, Any]:
    content = json.loads(Path(file).read_text())
    result: dict[str, Any] = content["benchmarks"]["network"]["service_chain"][name]["result"]
    return result


def test_a_run_is_also_written_in_nfvbenchs_form_under_a_bare_name() -> None:
    """NFVbench refuses a name without a directory."""
    assert main([*FIXED, "--nfvbench-json", "result.json"]) == 0
    stats = service_chain("result.json")["result"]["64"]["stats"]
    assert stats["overall"]["tx"]["total_pkts"] == 10_000


def test_standard_output_has_nothing_but_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FIXED, "--nfvbench-json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["nfvbench_version"].startswith("nodrop ")


def test_every_frame_size_is_in_one_file() -> None:
    assert main([*FIXED, "-fs", "64", "-fs", "imix", "-fs", "1518", "--nfvbench-json", "sizes.json"]) == 0
    measured = service_chain("sizes.json")
    assert set(measured["result"]) - {"warning"} == {"64", "IMIX", "1518"}
    assert json.loads(Path("sizes.json").read_text())["config"]["frame_sizes"] == ["64", "IMIX", "1518"]


def test_std_json_names_its_file_as_nfvbench_does() -> None:
    Path("kept").mkdir()
    assert main([*FIXED, "-fs", "64", "-fs", "1518", "--std-json", "kept"]) == 0
    (file,) = Path("kept").iterdir()
    assert file.name == f"PVP-1-{service_chain(file)['flow_count']}-64-1518.json"


def test_the_key_json_of_an_nfvbench_configuration_is_nfvbenchs_form() -> None:
    Path("nfvbench.cfg").write_text("json: results/theirs.json\nrate: 10kpps\nduration_sec: 1\n")
    assert main(["run", "-c", "nfvbench.cfg", "-q", "--alongside"]) == 0
    assert service_chain("results/theirs.json")["service_chain_count"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--nfvbench-json", "."), "--nfvbench-json: . is a directory; give a file name"),
        (("--nfvbench-json", "/proc/none/x.json"), "--nfvbench-json: cannot write to /proc/none"),
        (("--nfvbench-json", "-", "--json", "-"), "cannot both write to standard output; give one of them a file name"),
        (("--std-json", "/proc/none"), "std_json: cannot write to /proc/none"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_measured(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FIXED, *arguments]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(Path().glob("results/*/result.json"))


def test_a_fixed_rate_ends_in_nfvbenchs_tables_and_a_search_in_nodrops_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main([*FIXED])
    assert "NFVBench" not in capsys.readouterr().out
    main([*FIXED, "--format", "nfvbench"])
    assert "Forward Chain Packet Counters and Latency:" in capsys.readouterr().out
    main(["run", *SHORT, "--results-dir", "searched"])
    assert "NFVBench" not in capsys.readouterr().out
    main(["show", "latest", "--results-dir", "searched", "--format", "nfvbench"])
    assert "NDR search duration:" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMS)
def test_a_stored_result_is_shown_in_every_form(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*FIXED])
    capsys.readouterr()
    assert main(["show", "latest", "--format", form]) == 0
    begins = {"text": "vnf-l2", "nfvbench": "=====", "markdown": "# NFVBench", "csv": "table,"}
    assert capsys.readouterr().out.startswith(begins[form])


def test_a_stored_result_becomes_nfvbenchs_form_later(capsys: pytest.CaptureFixture[str]) -> None:
    main([*FIXED, "--nfvbench-json", "then.json"])
    capsys.readouterr()
    assert main(["show", "latest", "--nfvbench-json", "-"]) == 0
    assert capsys.readouterr().out == Path("then.json").read_text()


@pytest.mark.parametrize("name", ["fixed", "ndr_pdr", "unidirectional"])
def test_a_file_of_nfvbenchs_is_shown_and_said_to_be_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = FILES / f"{name}.json"
    version = json.loads(file.read_text())["nfvbench_version"]
    assert main(["show", str(file)]) == 0
    output = capsys.readouterr().out
    assert output.startswith(f"{file}: NFVbench's form, written by NFVbench {version}\n")
    assert "Run Summary:" in output
    assert main(["show", str(file), "--format", "csv"]) == 0
    assert next(csv.reader(capsys.readouterr().out.splitlines()))[0] == "table"
    assert main(["show", str(file), "--json"]) == 0
    assert capsys.readouterr().out == file.read_text()


def test_what_nodrop_wrote_is_not_taken_for_nfvbenchs(capsys: pytest.CaptureFixture[str]) -> None:
    main([*FIXED, "--nfvbench-json", "ours.json"])
    capsys.readouterr()
    assert main(["show", "ours.json"]) == 0
    assert "written by nodrop " in capsys.readouterr().out.splitlines()[0]


def test_a_file_that_is_cut_off_or_foreign_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    text = (FILES / "fixed.json").read_text()
    for content, sentence in (
        (text[:2000], "is not JSON ("),
        ("[1, 2]", "not a result of nodrop or NFVbench"),
        ('{"benchmarks": 1, "schema_version": "1"}', "not a nodrop result"),
        ("\x00\x01", "is not JSON"),
    ):
        Path("file.json").write_text(content)
        assert main(["show", "file.json"]) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert "Traceback" not in error


def test_a_run_that_failed_keeps_what_is_known_in_nfvbenchs_form(monkeypatch: pytest.MonkeyPatch) -> None:
    main([*FIXED])
    run = store.load("latest")
    failed = run.model_copy(
        update={"trials": (), "latencies": (), "status": Status.FAILED, "error": "the lab fell down"}
    )
    monkeypatch.setattr(store, "load", lambda *_: failed)
    assert main(["show", "latest", "--nfvbench-json", "failed.json"]) == 0
    assert service_chain("failed.json")["result"] == {"warning": "64: failed: the lab fell down"}
