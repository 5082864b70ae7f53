"""`nodrop test failover`: its plan, and settings that it refuses with the key to use instead."""

import pytest
from click.testing import CliRunner, Result

from nodrop.cli import nodrop
from nodrop.errors import ConfigError


def run_command(*flags: str) -> Result:
    return CliRunner().invoke(nodrop, ["test", "failover", "--dry-run", *flags])


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "5 runs of 8 s with 20 streams: kill 0, start 0; SLA 50 ms"),
        (
            ("--streams", "1", "--repeat", "1", "--set", "failover.revert=[]"),
            "1 run of 5 s with 1 stream: kill 0; SLA 50 ms",
        ),
        (
            ("--max-streams", "40", "--repeat", "3"),
            "3 runs of 8 s in each round with 20 to 40 streams: kill 0, start 0; SLA 50 ms",
        ),
        (
            ("--trigger", "0s stop 0", "--trigger", "1s kill 0"),
            "5 runs of 9 s with 20 streams: stop 0, kill 0, start 0; SLA 50 ms",
        ),
    ],
)
def test_a_dry_run_prints_the_runs_of_a_round(flags: tuple[str, ...], text: str) -> None:
    done = run_command(*flags)
    assert (done.exit_code, done.output) == (0, f"{text}\n")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rate=5kpps", "rate: 'nodrop test failover' sets it; remove it and use failover.streams and failover.stream_"),
        (
            "trial_events=[1s kill 0]",
            "trial_events: 'nodrop test failover' sets it; remove it and use failover.trigger",
        ),
        ("traffic.streams=4", "traffic.streams: 'nodrop test failover' sets it; remove it and use failover.streams"),
        ("chains=2", "chains: a test procedure measures one chain (2); write chains: 1"),
        (
            "duration=5s",
            "duration: 'nodrop test failover' sets it; remove it and use failover.steady and failover.settle",
        ),
        (
            "sut=vnf-l2",
            "failover.trigger: '0s kill 0' changes an instance of a pool; write sut: pool, in a private lab, or '0s c",
        ),
        ("failover.stream_rate=1Mpps", "rate: above the line rate"),
        ("failover.slo=1", "failover.slo: unknown key (1); did you mean failover.sla?"),
    ],
)
def test_settings_that_contradict_the_procedure_are_refused(setting: str, message: str) -> None:
    done = run_command("--set", setting)
    assert isinstance(done.exception, ConfigError) and message in str(done.exception)
