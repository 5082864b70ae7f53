"""NFVbench's result format for runs with real packets: valid, displayed, and with the kernel's counts."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scripts.schemas import SCHEMAS
from tests.lab.bench import FULL_RATE, bench

from nodrop import store
from nodrop.cli import main
from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.model.plan import FixedRatePlan
from nodrop.model.result import RunResult, Status

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]


def service_chain_result(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = result["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]["64"]
    return found


def read_validated(file: Path) -> dict[str, Any]:
    """Return the content of the file, validated against the schema."""
    result: dict[str, Any] = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    schema = json.loads((SCHEMAS / "nfvbench-result.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(result)
    return result


LEARNING_FRAMES = 2
"""Of the path check, each way."""


def test_its_counters_are_those_of_the_kernel() -> None:
    with bench(sut="vnf-l2") as lab:
        ports = lab.plan.lab.tester_interfaces
        before = [lab.counters("tester", port) for port in ports]
        trial = lab.measure(5_000, 1.0).model_copy(update={"phase": "fixed"})
        after = [lab.counters("tester", port) for port in ports]
    fixed = FixedRatePlan(load_pps=5_000, duration_s=1.0, asked="5kpps")
    run = RunResult(
        run_id="bench",
        started_at=trial.started_at,
        wall_s=1.0,
        status=Status.COMPLETE,
        plan=lab.plan.model_copy(update={"fixed": fixed}),
        facts=None,
        trials=(trial,),
    )
    stats = service_chain_result(build_nfvbench_result([run]))["stats"]
    for port in (0, 1):
        sent = after[port].sent_count - before[port].sent_count
        received = after[port].received_count - before[port].received_count
        assert stats[str(port)]["tx"]["total_pkts"] == sent > 1_000
        # A learning frame that was sent again may arrive after the path check, and so after the first reading.
        assert received - LEARNING_FRAMES <= stats[str(port)]["rx"]["total_pkts"] <= received


def test_a_fixed_rate_over_two_chains_has_every_hop_of_every_chain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nfvbench.json"
    flags = ["--rate", "4kpps", "--duration", "1", *FULL_RATE, "-q", "--alongside", "--results-dir", str(tmp_path)]
    flags += ["--format", "nfvbench"]
    assert main(["run", *flags, "--chains", "2", "--set", "networks=ports", "--nfvbench-json", str(file)]) == 0
    measured = service_chain_result(read_validated(file))
    (trial,) = store.load("latest", tmp_path).trials
    for way, is_forward in (("Forward", True), ("Reverse", False)):
        path = measured["packet_path_stats"][way]
        assert [name.split(".")[1] for name in path["interfaces"]] == ["TX", "RX", "TX", "RX"]
        assert list(path["chains"]) == ["0", "1", "total"]
        streams = [stream for stream in trial.streams if (stream.tx_port < stream.rx_port) is is_forward]
        assert path["chains"]["total"]["packets"][0] == sum(stream.offered_count for stream in streams)
        assert path["chains"]["total"]["packets"][-1] == sum(stream.received_count for stream in streams)
        for row in path["chains"].values():
            assert row["packets"] == sorted(row["packets"], reverse=True)
            assert row["lat_min_usec"] <= row["lat_avg_usec"] <= row["lat_max_usec"]
    output = capsys.readouterr().out
    assert "Forward Chain Packet Counters and Latency:" in output
    assert main(["show", str(file)]) == 0


def test_a_search_one_way_gives_what_was_sent_and_lost_that_way(tmp_path: Path) -> None:
    file = tmp_path / "nfvbench.json"
    short = ["--max-load", "4kpps", "--set", "search.final_trial_duration=0.3s", "--budget", "6s", "--no-latency"]
    command = ["run", "--unidir", *short, "-q", "--alongside", "--results-dir", str(tmp_path)]
    main([*command, "--nfvbench-json", str(file)])
    run = store.load("latest", tmp_path)
    measured = service_chain_result(read_validated(file))
    trials = [trial for trial in run.trials if trial.phase == "search"]
    assert len(measured["iteration_stats"]["ndr_pdr"]) == len(trials)
    for goal in run.goals:
        converted = measured[goal.goal.label.lower()]
        if not goal.lower:
            assert converted["rate_pps"] == 0
            continue
        trial = run.trials[goal.lower.trial_index]
        assert converted["rate_pps"] == round(trial.offered_load_pps)
        assert converted["stats"]["0"]["rx_pkts"] == converted["stats"]["1"]["tx_pkts"] == 0
        assert converted["stats"]["1"]["rx_pkts"] == trial.received_count
        assert converted["rate_percent"] == converted["load_percent_per_direction"]
