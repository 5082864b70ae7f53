"""Logging in to a cloud, and requests while its services fail."""

import contextlib
import errno
import os
import pty
import socket
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openstack")

from tests.small_cloud import SmallCloud, clouds_yaml, log_in, serve_cloud

from nodrop.errors import ConfigError, StageError
from nodrop.model.cloud import CloudLogin
from nodrop.stage.openstack import openrc, requests
from nodrop.stage.openstack.login import connect_cloud
from nodrop.stage.openstack.requests import CloudError
from nodrop.stage.openstack.rest import Post, create_resource, delete_resource, list_resources

HORIZON = """#!/usr/bin/env bash
# as Horizon gives it
export OS_AUTH_URL={base}/identity
export OS_PROJECT_ID=p1
export OS_PROJECT_NAME="demo"
export OS_USER_DOMAIN_NAME="Default"
if [ -z "$OS_USER_DOMAIN_NAME" ]; then unset OS_USER_DOMAIN_NAME; fi
export OS_USERNAME="demo"
echo "Please enter your OpenStack Password for project $OS_PROJECT_NAME as user $OS_USERNAME: "
read -sr OS_PASSWORD_INPUT
export OS_PASSWORD=$OS_PASSWORD_INPUT
export OS_REGION_NAME="R"
if [ -z "$OS_REGION_NAME" ]; then unset OS_REGION_NAME; fi
export OS_INTERFACE=public
export OS_IDENTITY_API_VERSION=3
"""


@pytest.fixture
def small_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallCloud]:
    for name in [name for name in os.environ if name.startswith("OS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(requests, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(requests, "MAX_DELAY_S", 0.02)
    monkeypatch.setattr(requests, "RETRY_S", 60.0)
    with serve_cloud(SmallCloud()) as cloud:
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds_yaml(cloud, tmp_path)))
        yield cloud


def test_an_openrc_file_is_read_as_a_shell_would() -> None:
    result = openrc.parse_openrc(
        "export OS_AUTH_URL=http://x:5000/v3 OS_USERNAME='it''s me' OS_REGION_NAME=R # one line\n"
        'export OS_PASSWORD="a \\"b\\" #c"\n'
        "OS_PROJECT_NAME=demo; export OS_PROJECT_NAME\n"
        "OS_CACERT=\n"
        "# export OS_CLOUD=no\n"
        "export NOT_OURS=1\n"
    )
    assert result.values == {
        "OS_AUTH_URL": "http://x:5000/v3",
        "OS_USERNAME": "its me",
        "OS_REGION_NAME": "R",
        "OS_PASSWORD": 'a "b" #c',
        "OS_PROJECT_NAME": "demo",
    }
    assert result.unresolved == ()


def test_what_only_a_shell_can_tell_is_named() -> None:
    result = openrc.parse_openrc("OS_A=$HOME\nOS_B=\"$(pass os)\"\nOS_C=`cat f`\nOS_D='$x'\nOS_E=\\$y\n")
    assert result.unresolved == ("OS_A", "OS_B", "OS_C")
    assert result.values == {"OS_D": "$x", "OS_E": "$y"}


def test_a_file_from_horizon_needs_only_the_password(
    small_cloud: SmallCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "demo-openrc.sh"
    file.write_text(HORIZON.format(base=small_cloud.base))
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ConfigError, match=r"no password of user demo and no terminal .* set OS_PASSWORD"):
        connect_cloud(CloudLogin(openrc=str(file)))
    monkeypatch.setenv("OS_PASSWORD", "secret")
    cloud = connect_cloud(CloudLogin(openrc=str(file)))
    assert (cloud.name, cloud.project_name, cloud.user_name) == ("127.0.0.1", "demo", "demo")


def test_an_openrc_file_that_needs_a_shell_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rc"
    file.write_text("export OS_AUTH_URL=$URL\nexport OS_USERNAME=demo\n")
    with pytest.raises(
        ConfigError, match=r"OS_AUTH_URL needs a shell .* write the values, or load the file in your shell"
    ):
        connect_cloud(CloudLogin(openrc=str(file)))
    with pytest.raises(ConfigError, match=os.strerror(errno.ENOENT)):
        connect_cloud(CloudLogin(openrc=str(tmp_path / "none")))


def test_a_cloud_is_known_by_name_or_by_the_environment(
    small_cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connect_cloud(CloudLogin(cloud="small")).is_admin
    monkeypatch.setenv("OS_CLOUD", "small")
    assert connect_cloud(CloudLogin()).name == "small"
    monkeypatch.delenv("OS_CLOUD")
    with pytest.raises(ConfigError, match="no cloud is named"):
        connect_cloud(CloudLogin())
    variables = {
        "AUTH_URL": f"{small_cloud.base}/identity/v3",
        "USERNAME": "demo",
        "PASSWORD": "secret",
        "PROJECT_NAME": "demo",
    }
    domains = {"USER_DOMAIN_NAME": "Default", "PROJECT_DOMAIN_NAME": "Default", "REGION_NAME": "R"}
    for name, value in (variables | domains).items():
        monkeypatch.setenv(f"OS_{name}", value)
    assert connect_cloud(CloudLogin()).project_id == "p1"


def test_who_is_no_administrator_is_known_by_the_token(small_cloud: SmallCloud) -> None:
    small_cloud.roles = ["member", "reader"]
    assert not log_in().is_admin


@pytest.mark.usefixtures("small_cloud")
def test_a_name_that_no_file_has_is_told_with_those_it_has() -> None:
    with pytest.raises(ConfigError, match=r"cloud other is not configured: .*clouds.yaml has small; name one of these"):
        connect_cloud(CloudLogin(cloud="other"))


def test_a_wrong_password_is_said_and_not_shown(small_cloud: SmallCloud) -> None:
    small_cloud.password = "changed"
    with pytest.raises(StageError, match="it rejects demo in project demo") as refusal:
        log_in()
    assert "secret" not in str(refusal.value)


def test_version_2_of_keystone_is_refused(
    small_cloud: SmallCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = clouds_yaml(small_cloud, tmp_path, auth_url=f"{small_cloud.base}/identity/v2.0")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    with pytest.raises(ConfigError, match="version 2 of Keystone's API is not supported"):
        log_in()


def test_a_token_for_no_project_and_a_catalogue_without_nova_are_refused(small_cloud: SmallCloud) -> None:
    small_cloud.services = ("identity", "image", "network")
    with pytest.raises(StageError, match=r"the catalog has no compute \(services: identity, image, network\)"):
        log_in()
    small_cloud.project = None
    with pytest.raises(StageError, match="the token is for no project"):
        log_in()


def test_an_address_where_nobody_listens_is_said(
    small_cloud: SmallCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        file = clouds_yaml(small_cloud, tmp_path, auth_url=f"http://127.0.0.1:{nobody.getsockname()[1]}/v3")
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
        with pytest.raises(StageError, match=r"it cannot be reached: .* \(http://127.0.0.1:.*\); check"):
            log_in()


@pytest.mark.usefixtures("small_cloud")
def test_a_certificate_that_is_not_trusted_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trustme = pytest.importorskip("trustme")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    other = SmallCloud()
    with serve_cloud(other, context):
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds_yaml(other, tmp_path)))
        with pytest.raises(StageError, match=r"its certificate is not trusted: .*; name the authority's file"):
            log_in()


def test_a_password_is_asked_for_on_a_terminal_and_not_shown(small_cloud: SmallCloud, tmp_path: Path) -> None:
    file = tmp_path / "rc"
    file.write_text(HORIZON.format(base=small_cloud.base))
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "nodrop", "status", "--openrc", str(file)])
    message = b""
    with contextlib.suppress(OSError):  # the terminal of a process that has exited
        while part := os.read(terminal, 1024):
            message += part
            if message.endswith(b"Password of demo: "):
                os.write(terminal, b"secret\n")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 1), message
    assert b"cloud 127.0.0.1, project demo: no nodrop resources" in message
    assert b"secret" not in message


def test_without_the_sdk_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openstack", None)
    with pytest.raises(StageError, match=r"pip install 'nodrop\[openstack\]'"):
        connect_cloud(CloudLogin(cloud="small"))


def test_questions_are_repeated_while_a_service_is_away(small_cloud: SmallCloud) -> None:
    waits: list[str] = []
    cloud = log_in(waits.append)
    small_cloud.failures = [("GET", "/network", 503), ("GET", "/network", 502), ("GET", "/network", "cut")]
    assert list_resources(cloud, "networks", "network", "/networks", "networks") == []
    assert waits == [
        "network replied 503; retrying in 0.01 s",
        "network replied 502; retrying in 0.02 s",
        "network cannot be reached; retrying in 0.02 s",
    ]
    assert cloud.api_call_counts["network"] == len(small_cloud.requests) == 4


def test_patience_has_an_end(small_cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = log_in()
    monkeypatch.setattr(requests, "RETRY_S", 0.3)
    small_cloud.failures = [("GET", "/network", 503)] * 1000
    with pytest.raises(CloudError, match="cannot list networks: HTTP 503: failure 503; check that") as refusal:
        list_resources(cloud, "networks", "network", "/networks", "networks")
    assert refusal.value.status == 503


def test_a_login_waits_for_keystone(small_cloud: SmallCloud) -> None:
    small_cloud.failures = [("POST", "/identity", 503)] * 3
    assert log_in().project_id == "p1"


@pytest.mark.parametrize("failure", [503, "cut", "lost"])
def test_what_is_made_is_made_once_whatever_becomes_of_the_answer(small_cloud: SmallCloud, failure: int | str) -> None:
    cloud = log_in()
    small_cloud.failures = [("POST", "/network", failure)]

    def look() -> dict[str, object] | None:
        result = list_resources(cloud, "networks", "network", "/networks?name=n", "networks")
        return {"network": result[0]} if result else None

    answer = create_resource(cloud, "create network n", Post("network", "/networks", {"network": {"name": "n"}}), look)
    assert answer["network"]["name"] == "n"
    assert len(small_cloud.resources["/network/v2.0/networks"]) == 1
    posts = [path for method, path in small_cloud.requests if method == "POST"]
    assert len(posts) == (1 if failure == "lost" else 2)


def test_what_is_refused_says_what_was_asked_and_what_to_do(small_cloud: SmallCloud) -> None:
    cloud = log_in()
    small_cloud.failures = [("POST", "/network", 403)]
    with pytest.raises(CloudError, match="cloud small: cannot create x: HTTP 403: failure 403; ask an administrator"):
        create_resource(cloud, "create x", Post("network", "/networks", {"network": {}}), lambda: None)
    # A resource that is already gone counts as deleted.
    assert delete_resource(cloud, "delete network 7", "network", "/networks/7") is None


@pytest.mark.usefixtures("small_cloud")
def test_a_mistake_of_our_own_is_no_refusal() -> None:
    with pytest.raises(ZeroDivisionError), log_in().reporting_errors("divide"):
        1 / 0  # noqa: B018
