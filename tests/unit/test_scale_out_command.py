"""`nodrop test scale-out`: its plan, and settings that it refuses with the key to use instead."""

import pytest
from click.testing import CliRunner, Result

from nodrop.cli import nodrop
from nodrop.errors import ConfigError


def run_command(*flags: str) -> Result:
    return CliRunner().invoke(nodrop, ["test", "scale-out", "--dry-run", *flags])


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "a search, then 4 runs of 30 s: 20 users, joined by 5 %, 10 %, 15 %, 20 %"),
        (("--user-rate", "1kpps", "--users", "1", "--growth", "0.5"), "1 run of 30 s: 1 user, joined by 50 %"),
        (("--settle", "60s", "--hold", "10min"), "a search, then 4 runs of 11 min 05 s: 20 users, joined by 5 %, "),
    ],
)
def test_a_dry_run_prints_the_runs(flags: tuple[str, ...], text: str) -> None:
    done = run_command(*flags)
    assert done.exit_code == 0 and done.output.startswith(text)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rate=5kpps", "rate: 'nodrop test scale-out' sets it; remove it and use scale_out.users and scale_out.user_"),
        (
            "trial_events=[1s kill 0]",
            "trial_events: 'nodrop test scale-out' sets it; remove it and use scale_out.growth",
        ),
        (
            "repeat=2",
            "repeat: 'nodrop test scale-out' sets it; remove it and use scale_out.growth, whose every value is a",
        ),
        ("chains=2", "chains: a test procedure measures one chain (2); write chains: 1"),
        ("scale_out.growth=[]", "scale_out.growth: empty, so that no users join"),
        ("pool.scale_out_loss=null", None),
        ("sut=wire", None),
    ],
)
def test_settings_that_contradict_the_procedure_are_refused(setting: str, message: str | None) -> None:
    done = run_command("--set", setting)
    if message is None:
        assert done.exit_code == 0
    else:
        assert isinstance(done.exception, ConfigError) and message in str(done.exception)
