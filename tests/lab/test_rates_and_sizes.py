"""Fixed rates and several frame sizes with real packets, from the command line to the stored result."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop import store
from nodrop.cli import main
from nodrop.model.chain_counts import count_by_chain
from nodrop.model.latency import compute_trial_latency
from nodrop.model.result import Status
from nodrop.store import suites

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]


def test_a_fixed_rate_is_sent_for_its_time_and_every_chain_has_counts_and_latency(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rate = ["--rate", "6kpps", "--set", "duration=1.5s", "--set", "interval=0.5s", *FULL_RATE]
    chains = ["--chains", "2", "--set", "networks=ports", "--set", "traffic.streams=10"]
    assert main(["run", *rate, *chains, "--results-dir", str(tmp_path), "--alongside"]) == 0
    result = store.load("latest", tmp_path)
    (trial,) = result.trials
    assert trial.intended_count == pytest.approx(9000, abs=40)  # each of 40 streams has whole frames
    counts = count_by_chain(result.plan.traffic, trial, result.plan.percentiles)
    assert [(each.chain, each.is_forward) for each in counts] == [(0, True), (0, False), (1, True), (1, False)]
    assert sum(each.offered_count for each in counts) == trial.offered_count
    assert sum(each.received_count for each in counts) == trial.received_count
    every = compute_trial_latency(trial, result.plan.percentiles)
    assert every and every.count == trial.received_count == sum(each.latency.count for each in counts if each.latency)
    for latency in (every, *(each.latency for each in counts)):
        assert latency
        figures = [latency.min_ns, *latency.percentiles_ns.values(), latency.max_ns]
        assert len(figures) == 5 and figures == sorted(figures)
    lines = [line for line in capsys.readouterr().out.splitlines() if " s: sent " in line]
    assert sum(int(line.split()[3].replace(",", "")) for line in lines) == trial.offered_count


@pytest.mark.truth
def test_small_and_jumbo_frames_are_searched_one_after_the_other(tmp_path: Path) -> None:
    sizes = ["--set", "frame_sizes=[64, 9000]", "--set", "rate=ndr"]
    short = ["--max-load", "4kpps", "--set", "search.final_trial_duration=0.3s", "--budget", "8s", "--no-latency"]
    main(["run", *sizes, *short, "-q", "--results-dir", str(tmp_path), "--alongside"])
    stored = suites.load("latest", tmp_path)
    assert stored and stored.suite.status is Status.COMPLETE
    assert [result.plan.frame_size for result in stored.results] == ["64", "9000"]
    for result in stored.results:
        assert [goal.goal.label for goal in result.goals] == ["NDR"]
        assert max(trial.received_count for trial in result.trials) > 0


def test_frames_of_a_warm_up_are_sent_and_counted_nowhere(tmp_path: Path) -> None:
    """Neither as those of the trial nor, by the hops' counters, as frames from elsewhere."""
    rate = ["--rate", "6kpps", "--set", "duration=1s", "--set", "warm_up=1s", *FULL_RATE]
    assert main(["run", *rate, "--sut", "bridge", "--results-dir", str(tmp_path), "--alongside"]) == 0
    (trial,) = store.load("latest", tmp_path).trials
    assert (trial.offered_count, trial.received_count) == (6000, 6000)
    assert trial.ledger and trial.ledger.ways
    assert all(hop.in_count == hop.out_count == 3000 for way in trial.ledger.ways for hop in way.hops)
    assert not [remark for remark in trial.ledger.remarks if re.search(r"counted \d{4,} more frames", remark)]


def test_a_fixed_rate_that_is_interrupted_keeps_what_was_counted(tmp_path: Path) -> None:
    rate = ["--rate", "2kpps", "--set", "duration=60s", "--set", "interval=0.5s"]
    output_flags = ["--format", "text", "--results-dir", str(tmp_path), "--alongside"]
    command = [sys.executable, "-m", "nodrop", "run", *rate, *output_flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert any(" s: sent " in line for line in running.stdout)  # until the first such line
        running.send_signal(signal.SIGINT)
        text, errors = running.communicate(timeout=stretch(20))
    assert running.returncode == 130, errors
    result = store.load("latest", tmp_path)
    (trial,) = result.trials
    assert result.status is Status.INTERRUPTED
    assert 0.4 < trial.duration_s < 30
    assert trial.intended_count == pytest.approx(2000 * trial.duration_s, rel=0.1)
    assert 0 < trial.received_count <= trial.offered_count
    assert compute_trial_latency(trial, (50.0,))
    assert "frames were sent in" in text and "stopped early on request" in text
