"""Access control: names, origins, tokens, sizes."""

import errno
import os
import socket
import stat
from pathlib import Path

import pytest
from tests.api.serving import serve_app

from nodrop.errors import ConfigError
from nodrop.server.rest.run_request import BODY_BYTES_MAX
from nodrop.server.rest.server import serve
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.tokens import Tokens, read_tokens

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:7555", "localhost:7555", "[::1]:7555", "LOCALHOST"])
def test_a_server_on_loopback_answers_to_its_names(host: str, tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        assert client.get("/version", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["attacker.example", "10.0.0.1:7555", "127.0.0.1.attacker.example", ""])
def test_a_name_that_only_points_to_loopback_is_refused(host: str, tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.get("/api/v1/runs", headers={"Host": host})
        assert answer.status_code == 400
        assert "use 127.0.0.1, localhost" in answer.json()["detail"]


def test_a_page_of_another_site_is_refused_and_learns_nothing(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.post("/start_run", json={}, headers={"Origin": "http://attacker.example"})
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert client.get("/version", headers={"Origin": "http://127.0.0.1"}).status_code == 200


def test_a_body_that_is_not_said_to_be_json_is_refused(tmp_path: Path) -> None:
    """A form on a web page can be sent to any server, and must not start a run."""
    with serve_app(tmp_path) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            answer = client.post("/start_run", content=b"{}", headers={"Content-Type": kind})
            assert answer.status_code == 415
        assert client.post("/api/v1/runs", content=b"{}").status_code == 415
        assert client.get("/api/v1/runs").json()["total_count"] == 0


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", "Bearer é"]
)
def test_without_a_known_token_nothing_but_health_is_told(authorization: str | None, tmp_path: Path) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.encode("latin-1")}
    with serve_app(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        for path in ("/version", "/status", "/api/v1/runs", "/openapi.json", "/metrics", "/no/such/path"):
            answer = client.get(path, headers=headers)  # type: ignore[arg-type]
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert client.get("/health", headers=headers).status_code == 200  # type: ignore[arg-type]


def test_any_of_the_tokens_lets_in_by_whatever_name_the_server_is_called(tmp_path: Path) -> None:
    with serve_app(tmp_path, Tokens([TOKEN, "another-token-of-a-user"]), "0.0.0.0") as client:
        for token in (TOKEN, "another-token-of-a-user"):
            headers = {"Authorization": f"Bearer {token}", "Host": "tester.example:7555"}
            assert client.get("/version", headers=headers).status_code == 200


def test_tokens_are_read_one_a_line(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# of the laboratory\n{TOKEN}\n\n  another-token-of-a-user  \n")
    file.chmod(0o600)
    assert read_tokens(file) == (TOKEN, "another-token-of-a-user")


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (TOKEN, 0o644, "chmod 600"),
        (TOKEN, 0o620, "chmod 600"),
        ("\n# nothing\n", 0o600, "contains no token"),
        ("short", 0o600, "fewer than 16"),
        ("a token with blanks in it", 0o600, "spaces"),
        (None, 0o600, os.strerror(errno.ENOENT)),
    ],
)
def test_a_token_file_that_will_not_do_is_refused(text: str | None, mode: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    if text is not None:
        file.write_text(text)
        file.chmod(mode)
        assert stat.S_IMODE(file.stat().st_mode) == mode
    with pytest.raises(ConfigError, match=message):
        read_tokens(file)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_beyond_loopback_nothing_is_served_without_tokens(host: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--token-file"):
        serve(host, 0, None, ServerConfig(results_dir=str(tmp_path)), lambda _: None)


def test_an_address_that_is_taken_and_one_that_is_none_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot resolve"):
        serve("no host", 0, None, ServerConfig(results_dir=str(tmp_path)), lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as used, pytest.raises(ConfigError, match="choose another port"):
        serve("127.0.0.1", used.getsockname()[1], None, ServerConfig(results_dir=str(tmp_path)), lambda _: None)


def test_two_servers_do_not_keep_their_runs_in_one_directory(tmp_path: Path) -> None:
    with serve_app(tmp_path), pytest.raises(ConfigError, match="another server"):
        serve("127.0.0.1", 0, None, ServerConfig(results_dir=str(tmp_path)), lambda _: None)


def test_a_body_that_is_too_large_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.post(
            "/api/v1/runs", content=b" " * (BODY_BYTES_MAX + 1), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 413
        assert str(BODY_BYTES_MAX) in answer.json()["detail"]


@pytest.mark.parametrize(
    "path", ["..%2f..%2fetc%2fpasswd", "%2e%2e", "../run", "0" * 32, "..\\..\\run", "%00", "a" * 5000]
)
def test_an_id_is_looked_up_and_never_a_path(path: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with serve_app(tmp_path) as client:
        for rest in ("", "/result", "/report", "/chains", "/events", "/result/nfvbench"):
            answer = client.get(f"/api/v1/runs/{path}{rest}")
            assert answer.status_code == 404
            assert answer.headers["content-type"] == "application/problem+json"


def test_what_is_not_there_is_a_problem_with_a_sentence(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        missing, wrong_way = client.get("/api/v2/runs"), client.delete("/api/v1/runs")
        assert (missing.status_code, wrong_way.status_code) == (404, 405)
        for answer in (missing, wrong_way):
            assert set(answer.json()) == {"type", "title", "status", "detail", "errors"}
            assert "GET /openapi.json" in answer.json()["detail"]
        assert wrong_way.headers["allow"]
