"""Results of NFVbench and TRex listed with nodrop's own.

The NFVbench files are those of `tests/nfvbench`; TRex's have the format of its `ndr` tool: the fields of
`NdrBenchResults` of trex-core, with the figures of one run.
"""

import csv
import io
import json
import math
import os
import random
from datetime import UTC, datetime
from pathlib import Path
from pprint import pformat
from typing import Any

import pytest
from tests.recorded import record_run
from tests.suts import Step

from nodrop import store
from nodrop.cli import main
from nodrop.errors import ConfigError
from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.model.summary import Measure, Summary
from nodrop.store import imported
from nodrop.store.imported import IMPORTED_FILE, import_file
from nodrop.store.summaries import summarize_result

FILES = Path(__file__).parents[1] / "nfvbench"
TREX: dict[str, Any] = {
    "results": {
        "total_iterations": 7,
        "title": "pvp l2",
        "Elapsed Time": 262.5,
        "queue_full_percentage": 0.0,
        "drop_rate_percentage": 0.04,
        "valid_latency": True,
        "rate_tx_bps": 2.9e9,
        "rate_rx_bps": 2.9e9,
        "tx_util": 43.2,
        "latency": {
            "0": {
                "average": 24.0,
                "jitter": 3,
                "total_max": 131,
                "total_min": 9,
                "last_max": 0,
                "histogram": {"20": 9},
            },
            "1": {
                "average": 26.0,
                "jitter": 3,
                "total_max": 120,
                "total_min": 8,
                "last_max": 0,
                "histogram": {"20": 9},
            },
        },
        "cpu_util": 61.0,
        "tx_pps": 12_850_000.0,
        "bw_per_core": 21.0,
        "rx_pps": 12_845_000.0,
        "rate_p": 43.75,
        "total_tx_L1": 8.6e9,
        "total_rx_L1": 8.6e9,
        "tx_bps": 5.8e9,
        "rx_bps": 5.8e9,
        "max_rate_bps": 6.6e9,
        "iteration": 6,
        "rate_difference": 0,
        "ndr_points": [5.8e9],
    },
    "config": {
        "iteration_duration": 20.0,
        "q_full_resolution": 2.0,
        "first_run_duration": 20.0,
        "pdr": 0.1,
        "pdr_error": 1.0,
        "ndr_results": 1,
        "max_iterations": 10,
        "ports": [0, 1],
        "pkt_size": 64,
        "vm": "cached",
        "cores": 2,
        "verbose": True,
        "title": "pvp l2",
        "bi_dir": True,
        "plugin_file": None,
        "tunables": {},
        "opt_binary_search": True,
        "opt_binary_search_percentage": 5,
    },
}


def trex(**changes: Any) -> dict[str, Any]:
    """Return the result with other figures: `results__tx_pps`; None removes a key."""
    content = json.loads(json.dumps(TREX))
    for name, value in changes.items():
        part, key = name.split("__")
        if value is None:
            del content[part][key]
        else:
            content[part][key] = value
    return content


def write_json(content: object, directory: Path, name: str = "result.json") -> Path:
    path = directory / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def measures(summary: Summary) -> dict[str, Measure]:
    return {measure.key: measure for measure in summary.measures}


def nfvbench(name: str) -> Any:
    return json.loads((FILES / f"{name}.json").read_text())


def import_summary(path: Path) -> Summary:
    (summary,) = imported.summarize_import(path)
    return summary


def test_a_search_of_nfvbench_becomes_a_summary_for_each_frame_size() -> None:
    small, large, mixed = imported.summarize_import(FILES / "ndr_pdr.json")
    assert (small.frame_size, large.frame_size, mixed.frame_size) == ("64", "1518", "IMIX")
    assert mixed.frame_bytes == pytest.approx(361.83, abs=0.01)
    assert small.run_id.endswith("#64")
    assert (small.source, small.version, small.path, small.asked) == ("nfvbench", "5.0.3", "PVP", "ndr_pdr")
    assert (small.frame_bytes, small.flow_count, small.chain_count, small.bidirectional) == (64, 10000, 1, True)
    assert small.sut == "ovs"
    assert small.wall_s == pytest.approx(660, abs=1)


def test_its_ndr_has_the_loss_ratio_that_it_allows_in_its_name() -> None:
    """NFVbench's NDR is 0.001 % by default: nodrop's result with the same configuration has the same key."""
    small, *_ = imported.summarize_import(FILES / "ndr_pdr.json")
    assert {"ndr_0.001%", "pdr_0.1%"} <= set(measures(small))
    assert measures(small)["ndr_0.001%"].text == "NDR 0.001 %"


def test_its_load_is_what_was_sent_over_both_directions_and_not_what_was_asked_for(tmp_path: Path) -> None:
    content = nfvbench("ndr_pdr")
    sizes = content["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]
    sizes["64"]["ndr"]["stats"]["total_tx_rate"] = 8_000_000
    small, large, _ = imported.summarize_import(write_json(content, tmp_path))
    result = measures(small)["ndr_0.001%"]
    assert (result.value, result.low, result.limit) == (8_000_000, 8_000_000, "tester")
    assert measures(large)["ndr_0.001%"].limit == "sut"


def test_its_upper_bound_is_as_far_away_as_its_search_looks() -> None:
    """`load_epsilon` 0.1 percent of line rate: the load that failed at 99.9 percent was below 100.0 percent."""
    _, large, _ = imported.summarize_import(FILES / "ndr_pdr.json")
    result = measures(large)["ndr_0.001%"]
    assert result.high == pytest.approx(result.value * 100.0 / 99.9)
    at_most = measures(large)["pdr_0.1%"]
    assert (at_most.high, at_most.limit) == (None, "max_load")


def test_its_latencies_are_nanoseconds_at_the_load_found() -> None:
    small, *_ = imported.summarize_import(FILES / "ndr_pdr.json")
    result = measures(small)
    assert (result["latency_p99_at_ndr_0.001%"].value, result["latency_p99_at_ndr_0.001%"].unit) == (96_000, "ns")
    assert result["latency_mean_at_ndr_0.001%"].value == 30_000
    assert result["latency_max_at_ndr_0.001%"].value == 704_000


def test_a_fixed_rate_of_nfvbench_has_what_came_back_and_what_was_lost() -> None:
    summary = import_summary(FILES / "fixed.json")
    assert (summary.asked, summary.started_at, "#" in summary.run_id) == ("1Mpps", "2021-07-01T10:20:30+00:00", False)
    result = measures(summary)
    assert result["forwarding_rate_at_1mpps"].value == 999_942
    assert result["loss_at_1mpps"].value == 58 / 1_000_000


def test_one_way_the_loss_is_that_of_the_direction_with_traffic() -> None:
    """NFVbench's sum covers the other direction: 0 % in this file, in which nothing arrived."""
    result = measures(import_summary(FILES / "unidirectional.json"))
    assert [measure.value for key, measure in result.items() if key.startswith("loss_at_")] == [1.0]
    assert not any(key.startswith("latency") and key.endswith("mean") for key in result)


def test_a_one_way_search_of_nfvbench_that_lost_frames_found_nothing(tmp_path: Path) -> None:
    content = nfvbench("ndr_pdr")
    chain = content["benchmarks"]["network"]["service_chain"]["PVP"]["result"]
    chain["bidirectional"] = False
    chain["result"]["64"]["ndr"]["stats"]["1"]["drop_percentage"] = 12.5
    small, *_ = imported.summarize_import(write_json(content, tmp_path))
    assert "ndr_0.001%" not in measures(small)
    assert small.error
    assert "12.50%" in small.error
    assert measures(small)["pdr_0.1%"].limit == "unknown"


def test_a_goal_that_nfvbench_did_not_find_is_no_rate_of_zero(tmp_path: Path) -> None:
    content = nfvbench("ndr_pdr")
    goal = content["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["64"]["ndr"]
    goal["rate_pps"] = goal["stats"]["total_tx_rate"] = 0
    small, *_ = imported.summarize_import(write_json(content, tmp_path))
    assert "ndr_0.001%" not in measures(small)
    assert small.error == "NDR 0.001 %: no load met the goal."


def test_what_nodrop_wrote_for_nfvbench_says_the_same_as_its_own_result(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(1e6))
    path = write_json(build_nfvbench_result([result]), tmp_path)
    summary = import_summary(path)
    actual, own = measures(summary), measures(summarize_result(result))
    for key in ("ndr", "pdr_0.5%"):
        assert actual[key].value == pytest.approx(own[key].value, rel=1e-3)
    assert summary.version.startswith("nodrop ")


def test_frames_beyond_those_sent_are_a_doubt_and_no_loss_of_nothing(tmp_path: Path) -> None:
    """A fixed rate has neither loss nor forwarding rate then; a bound of a search is of unknown limit."""
    fixed, searched = nfvbench("fixed"), nfvbench("ndr_pdr")
    prune_to = fixed["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["64"]["stats"]["overall"]
    prune_to["rx"]["dropped_pkts"] = -20_000
    summary = import_summary(write_json(fixed, tmp_path))
    assert not {key for key in measures(summary) if key.startswith(("loss", "forwarding"))}
    (doubt,) = summary.doubts
    assert doubt.startswith("loss at 1Mpps: 2 % more frames came back than were sent")

    goal = searched["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["1518"]["ndr"]
    goal["stats"]["overall"]["drop_percentage"] = -0.5
    small, large, _ = imported.summarize_import(write_json(searched, tmp_path))
    assert (measures(large)["ndr_0.001%"].limit, small.doubts) == ("unknown", ())
    assert large.doubts == (
        "NDR 0.001 %: 0.5 % more frames came back than were sent (duplicates or foreign frames); the loss is unknown.",
    )

    result = import_summary(write_json(trex(results__drop_rate_percentage=-0.5), tmp_path))
    assert (measures(result)["pdr_0.1%"].limit, len(result.doubts)) == ("unknown", 1)


def test_more_frames_lost_than_sent_are_no_loss(tmp_path: Path) -> None:
    content = nfvbench("fixed")
    total = content["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["64"]["stats"]["overall"]
    total["rx"]["dropped_pkts"] = 1_000_001
    summary = import_summary(write_json(content, tmp_path))
    assert not any(key.startswith("loss") for key in measures(summary))
    assert summary.doubts == ("loss at 1Mpps: the file counts more frames lost than sent; the loss is unknown.",)


@pytest.mark.parametrize("value", [-1, None, float("nan"), "n/a"])
def test_a_latency_that_was_not_measured_is_no_figure(value: Any, tmp_path: Path) -> None:
    """TRex writes -1 without latency streams; NFVbench passes it on."""
    content = nfvbench("fixed")
    total = content["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["64"]["stats"]["overall"]
    total["rx"].update(avg_delay_usec=value, max_delay_usec=value, lat_percentile={"99": value})
    assert not any("latency" in key for key in measures(import_summary(write_json(content, tmp_path))))
    unmeasured = {"average": value, "total_max": value}
    both = trex(results__latency={"0": unmeasured, "1": TREX["results"]["latency"]["1"]})
    assert measures(import_summary(write_json(both, tmp_path)))["latency_mean_at_pdr_0.1%"].value == 26_000
    neither = trex(results__latency={"0": unmeasured, "1": unmeasured})
    assert not any("latency" in key for key in measures(import_summary(write_json(neither, tmp_path))))


def test_the_doubt_stands_beside_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On import, with `results show`, and in a comparison, in which the figure is left out."""
    results = ["--results-dir", str(tmp_path / "results")]
    files = []
    for night, drop_percent in enumerate((0.04, 0.04, -0.5, -0.5)):
        changes = {"results__drop_rate_percentage": drop_percent, "results__tx_pps": 12e6 + night}
        files.append(str(write_json(trex(**changes), tmp_path, f"{night}.json")))
    assert main(["results", "import", *files, *results]) == 0
    output = capsys.readouterr().out
    assert output.count("0.5 % more frames came back than were sent") == 2
    run_id = [line.split()[-1] for line in output.splitlines() if "imported as" in line][2]
    assert main(["results", "show", run_id, *results]) == 0
    assert "0.5 % more frames came back than were sent" in capsys.readouterr().out
    assert main(["compare", *files[1:3], *results]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert f"B: run {run_id}: PDR 0.1 %: 0.5 % more frames came back" in output
    assert "≥ 12.00 Mpps - " in output


def test_an_ndr_of_trex_becomes_a_summary(tmp_path: Path) -> None:
    summary = import_summary(write_json(TREX, tmp_path))
    assert (summary.source, summary.frame_size, summary.frame_bytes) == ("trex", "64", 64)
    assert (summary.label, summary.trial_count, summary.bidirectional) == ("pvp l2", 8, True)
    result = measures(summary)
    assert result["pdr_0.1%"].value == result["pdr_0.1%"].low == 12_850_000
    assert result["latency_mean_at_pdr_0.1%"].value == 25_000
    assert result["latency_max_at_pdr_0.1%"].value == 131_000


def test_trex_without_allowed_drops_finds_the_ndr(tmp_path: Path) -> None:
    summary = import_summary(
        write_json(trex(config__pdr=0, results__drop_rate_percentage=0, results__rate_p=100.0), tmp_path)
    )
    assert (measures(summary)["ndr"].limit, summary.asked) == ("max_load", "ndr")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"results__drop_rate_percentage": 3.5}, "at 12.85 Mpps 3.5 % were dropped"),
        ({"results__queue_full_percentage": 9.0}, "TRex could not queue 9 %"),
        ({"results__rate_p": 0}, "no load met the goal"),
        ({"results__valid_latency": False}, "latency was too high"),
    ],
)
def test_the_last_trial_of_trex_is_no_result_when_it_does_not_meet_the_goal(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Out of iterations, the tool reports its last trial with any loss."""
    summary = import_summary(write_json(trex(**changes), tmp_path))
    assert summary.measures == ()
    assert summary.error
    assert message in summary.error


def test_what_the_tool_prints_is_read_as_it_is_printed(tmp_path: Path) -> None:
    output = f"Mapping ports to sides OK\n{pformat(json.dumps(TREX))}\n\nBench Run has finished :-)\n"
    assert (
        import_summary(write_json(output, tmp_path)).measures
        == import_summary(write_json(TREX, tmp_path, "plain.json")).measures
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (trex(results__tx_pps=None), "results.tx_pps: not a number of at least 0 (null)"),
        (trex(config__pdr="none"), 'config.pdr: not a number of at least 0 ("none")'),
        (trex(config__high_mult=100), "config.high_mult: a stateful NDR"),
        ({"schema_version": "1"}, "a result of nodrop, which needs no import"),
        ({"some": 1}, "but keys some"),
        ([1], "but not an object"),
        ({"benchmarks": {}}, "benchmarks.network.service_chain: no frame sizes"),
        ('{"results": ', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("('{' ", "not JSON"),
        ('{"results": {"title": "\\ud800"}, "config": {}}', "a lone surrogate"),
    ],
)
def test_a_broken_file_is_a_sentence_with_file_and_key(content: object, message: str, tmp_path: Path) -> None:
    path = write_json(content, tmp_path)
    with pytest.raises(ConfigError) as error:
        import_file(path, tmp_path / "results")
    assert str(path) in str(error.value)
    assert message in str(error.value)
    assert not (tmp_path / "results").exists()


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_sentences(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(b"\xff\xd8\xff")
    for name in ("picture", "missing"):
        with pytest.raises(ConfigError, match=name):
            import_file(tmp_path / name, tmp_path)


@pytest.mark.parametrize("text", [json.dumps(TREX, indent=3) + "\r\n", "\ufeff" + json.dumps(TREX)])
def test_the_file_is_kept_as_it_was_byte_by_byte(text: str, tmp_path: Path) -> None:
    source = tmp_path / "ndr.json"
    source.write_bytes(text.encode())
    file = import_file(source, tmp_path / "results")
    assert file.path == tmp_path / "results" / file.run_id / IMPORTED_FILE
    assert file.path.read_bytes() == source.read_bytes()


def test_the_same_file_is_known_by_the_same_id_however_often_it_comes(tmp_path: Path) -> None:
    source = write_json(TREX, tmp_path, "ndr.json")
    os.utime(source, (1e9, 1e9))
    first = import_file(source, tmp_path / "results")
    copy = write_json(TREX, tmp_path, "copy.json")
    second = import_file(copy, tmp_path / "results")
    assert (first.is_new, second.is_new) == (True, False)
    assert first.run_id == second.run_id
    assert first.run_id.startswith(f"{datetime.fromtimestamp(1e9, UTC):%Y%m%dT%H%M%SZ}-")
    assert first.summaries == second.summaries == imported.summarize_import(first.path)
    assert first.summaries[0].started_at == datetime.fromtimestamp(1e9, UTC).isoformat()
    assert len(list((tmp_path / "results").iterdir())) == 1


def test_an_imported_file_is_not_taken_for_a_result_of_ours(tmp_path: Path) -> None:
    file = import_file(FILES / "fixed.json", tmp_path)
    with pytest.raises(ConfigError):
        store.load(file.run_id, tmp_path)


ODD: tuple[Any, ...] = (
    *(None, "", "x", "64", True, [], {}, [1], {"a": 1}, 0, -1, 0.5, 1e308, 10**400, float("nan"), float("inf")),
    *("\ud800", "2021-13-45 99:99:99", "9999-12-31 23:59:59", -1e18, 1e18),
)
"""Replacements for values of another kind."""


def corrupt(content: Any, seed: int) -> Any:
    """Return the result with odd or missing values at one to three places."""
    draw = random.Random(seed)
    changed = json.loads(json.dumps(content))
    for _ in range(draw.randint(1, 3)):
        part = changed
        while True:
            keys = list(part) if isinstance(part, dict) else list(range(len(part)))
            if not keys:
                break
            key = draw.choice(keys)
            if isinstance(part[key], dict | list) and draw.random() < 0.85:
                part = part[key]
                continue
            if draw.random() < 0.2:
                del part[key]
            else:
                part[key] = draw.choice(ODD)
            break
    return changed


@pytest.mark.parametrize("name", ["fixed", "ndr_pdr", "unidirectional", "trex"])
def test_a_file_with_odd_things_in_it_is_a_sentence_or_figures_that_are_finite(name: str, tmp_path: Path) -> None:
    original = TREX if name == "trex" else nfvbench(name)
    for key in ("hdrh", "packet_path_stats"):
        prune(original, key)
    refused = 0
    for seed in range(100):
        path = tmp_path / "odd.json"
        path.write_text(json.dumps(corrupt(original, seed)))
        try:
            result = imported.summarize_import(path)
        except ConfigError as error:
            assert "odd.json" in str(error)
            refused += 1
            continue
        for summary in result:
            assert datetime.fromisoformat(summary.started_at).tzinfo
            assert math.isfinite(summary.wall_s)
            for measure in summary.measures:
                assert all(math.isfinite(each) for each in (measure.value, measure.low or 0, measure.high or 0))
                assert measure.value >= 0
    assert refused < 60


def prune(content: Any, key: str) -> None:
    """Remove a branch at any depth."""
    if isinstance(content, dict):
        content.pop(key, None)
        for below in content.values():
            prune(below, key)


def test_an_archive_of_trex_is_listed_compared_and_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight nights, of which the last four are 5 % slower."""
    results = ["--results-dir", str(tmp_path / "results")]
    files = []
    for night in range(8):
        load_pps = (12.8e6 if night < 4 else 12.1e6) + 3000 * night
        file = write_json(trex(results__tx_pps=load_pps, results__title="nightly"), tmp_path, f"{night}.json")
        os.utime(file, (1.79e9 + 86400 * night,) * 2)
        files.append(str(file))
    assert main(["results", "import", *files, *results]) == 0
    capsys.readouterr()
    assert main(["results", "list", "--source", "trex", "--format", "csv", *results]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["label"] for row in rows} == {"nightly"}
    nights = sorted(row["run_id"] for row in rows)
    before, after = ",".join(nights[:4]), ",".join(nights[4:])
    assert main(["compare", before, after, "--fail-on", "worse", *results]) == 8
    assert "PDR 0.1 % is 5.4 % lower" in " ".join(capsys.readouterr().out.split())
    assert main(["trend", "nightly", *results]) == 0
    assert f"5.4 % lower from run {nights[4]} on" in " ".join(capsys.readouterr().out.split())
