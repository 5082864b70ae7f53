"""The user's configuration of shipping, and its plan."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.running import make_plan

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.shipping import Aggregator, Forwarding, Tls

AS_DOCUMENTED = """
fluentd:
  logging_tag: nfvdbench
  result_tag: resultnfvdbench
  ip: 127.0.0.1
  port: 24224
"""
"""The example of NFVbench's documentation, 7.1.11, which has a mapping where its code takes a list."""


def write_config(directory: Path, text: str) -> Path:
    file = directory / "nfvbench.cfg"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    "text",
    [
        AS_DOCUMENTED,
        "fluentd: [{logging_tag: nfvdbench, result_tag: resultnfvdbench}]",
        "ship: {fluentd: [{logging_tag: nfvdbench, result_tag: resultnfvdbench}]}",
    ],
)
def test_nfvbenchs_fluentd_is_taken_as_it_is(tmp_path: Path, text: str) -> None:
    (entry,) = build_config([write_config(tmp_path, text)], {}).ship.fluentd
    assert (entry.logging_tag, entry.result_tag) == ("nfvdbench", "resultnfvdbench")
    assert (entry.ip, entry.port, entry.tls) == ("127.0.0.1", 24224, None)


def test_nfvbenchs_other_keys_of_shipping_are_taken(tmp_path: Path) -> None:
    ship = build_config(
        [write_config(tmp_path, "{log_file: /tmp/log, debug: true, user_id: 1000, group_id: 100}")], {}
    ).ship
    assert (ship.log_file, ship.debug, ship.user_id, ship.group_id) == ("/tmp/log", True, 1000, 100)


def test_paths_become_absolute_and_secrets_stay_in_their_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("shared", "password", "ca.pem"):
        (tmp_path / name).write_text("secret\n")
    entry = {
        "result_tag": "r",
        "tls": {"ca_file": "ca.pem"},
        "shared_key_file": "shared",
        "username": "probe",
        "password_file": "password",
    }
    plan = make_plan(tmp_path / "results", ship__fluentd=[entry])
    assert plan.ship.forwardings == (
        Forwarding(
            aggregator=Aggregator(
                host="127.0.0.1",
                port=24224,
                tls=Tls(ca_file=str(tmp_path / "ca.pem")),
                shared_key_file=str(tmp_path / "shared"),
                username="probe",
                password_file=str(tmp_path / "password"),
            ),
            result_tag="r",
        ),
    )
    assert "secret" not in repr(plan)


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (
            {"shared_key_file": "/nonexistent/key"},
            f"ship.fluentd.0.shared_key_file: cannot read the file (/nonexistent/key: {os.strerror(errno.ENOENT)})",
        ),
        (
            {"tls": {"ca_file": "/nonexistent/ca"}},
            "ship.fluentd.0.tls.ca_file: cannot read the file (/nonexistent/ca: ",
        ),
        ({"username": "probe"}, "only one of username and password_file is set"),
        ({"shared_key": "abc"}, "shared_key_file"),
        ({"port": 70000}, "port"),
        ({"prot": 1}, "port"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, entry: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_plan(tmp_path, ship__fluentd=[entry])
    assert sentence in str(refused.value)


def test_without_a_tag_nothing_is_sent_and_without_aggregators_nothing_waits(tmp_path: Path) -> None:
    assert make_plan(tmp_path).ship.buffer_dir == ""
    # NFVbench's default is one entry without tags
    assert make_plan(tmp_path, ship__fluentd=[{"port": 9}]).ship.forwardings == ()
    assert make_plan(tmp_path, fluentd=[{"logging_tag": None, "result_tag": None}]).ship.forwardings == ()
