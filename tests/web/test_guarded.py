"""Access control of the pages: logins, sessions, form tokens, and the headers for browsers."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from tests.api.serving import start
from tests.web.pages import form_token, pages

from nodrop.cli import main
from nodrop.server.pages.login import safe_target
from nodrop.server.rest.sessions import GUESSES_MAX, SESSION_S, Sessions
from nodrop.server.rest.tokens import Tokens

pytestmark = pytest.mark.web

TOKEN = "0123456789abcdef0123456789abcdef"
SAME = {"Origin": "http://tester.example:7555", "Host": "tester.example:7555"}
PAGES = ("/", "/results", "/compare", "/trend", "/state", "/no-such-page")


def log_in(client: TestClient, token: str = TOKEN) -> int:
    page = client.get("/login", headers=SAME)
    sent = {"token": token, "form_token": form_token(page.text), "next": "/results"}
    return client.post("/login", data=sent, headers=SAME).status_code


def test_every_page_wants_a_login_and_a_program_a_token(tmp_path: Path) -> None:
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        for path in PAGES[1:]:
            answer = client.get(f"{path}?x=1", headers=SAME)
            assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={quote(path)}%3Fx%3D1")
        for path in ("/api/v1/runs", "/metrics", "/status", "/openapi.json"):
            answer = client.get(path, headers=SAME)
            assert answer.status_code == 401
            assert answer.headers["content-type"] == "application/problem+json"


def test_a_login_gives_a_cookie_that_is_not_the_token_and_that_scripts_and_other_sites_cannot_have(
    tmp_path: Path,
) -> None:
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        page = client.get("/login", headers=SAME)
        sent = {"token": TOKEN, "form_token": form_token(page.text), "next": "/results?label=x"}
        answer = client.post("/login", data=sent, headers=SAME)
        assert (answer.status_code, answer.headers["location"]) == (303, "/results?label=x")
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("nodrop-7555=") and TOKEN not in cookie
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Secure" not in cookie
        assert client.get("/results", headers=SAME).status_code == 200
        assert client.get("/api/v1/runs", headers=SAME).status_code == 200
        out = client.post("/logout", data={"form_token": form_token(client.get("/", headers=SAME).text)}, headers=SAME)
        assert (out.status_code, out.headers["location"]) == (303, "/login")
        assert client.get("/results", headers=SAME).status_code == 303


def test_behind_https_the_cookie_is_kept_to_it(tmp_path: Path) -> None:
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        headers = {"Origin": "https://tester.example", "Host": "tester.example"}
        page = client.get("https://tester.example/login", headers=headers)
        sent = {"token": TOKEN, "form_token": form_token(page.text), "next": "/"}
        answer = client.post("https://tester.example/login", data=sent, headers=headers)
        assert "Secure" in answer.headers["set-cookie"]


def test_a_wrong_token_is_a_sentence_and_many_have_to_wait(tmp_path: Path) -> None:
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        assert [log_in(client, "a" * 32) for _ in range(GUESSES_MAX + 1)] == [403] * GUESSES_MAX + [429]
        assert log_in(client) == 429


def test_a_session_ends_by_itself() -> None:
    now = [0.0]
    sessions = Sessions(Tokens([TOKEN]), lambda: now[0])
    session = sessions.open(TOKEN, "192.0.2.1")
    assert sessions.is_open(session) and not sessions.is_open("another") and not sessions.is_open(None)
    now[0] = SESSION_S + 1
    assert not sessions.is_open(session)


def test_a_change_has_to_come_from_a_page_of_this_server(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        run_id = start(client, "wait")
        token = form_token(client.get("/").text)
        refused = [
            client.post(f"/runs/{run_id}/cancel", data={"run": "1"}),
            client.post(f"/runs/{run_id}/cancel", data={"form_token": "0" * 64}),
            client.post(
                f"/runs/{run_id}/cancel", data={"form_token": token}, headers={"Origin": "http://evil.example"}
            ),
            client.post(f"/runs/{run_id}/cancel", data={"form_token": token}, headers={"Origin": "null"}),
            client.post(f"/runs/{run_id}/cancel", data={"form_token": token}, headers={"Sec-Fetch-Site": "cross-site"}),
            client.post(f"/runs/{run_id}/cancel", data={"form_token": token}, headers={"Sec-Fetch-Site": "same-site"}),
        ]
        assert [answer.status_code for answer in refused] == [403] * len(refused)
        assert client.post(f"/runs/{run_id}/cancel", content=b"{}").status_code == 415
        assert client.get(f"/api/v1/runs/{run_id}").json()["state"] in ("queued", "running")
        assert client.post(f"/runs/{run_id}/cancel", data={"form_token": token}).status_code == 303


def test_a_page_that_came_by_a_foreign_name_learns_no_form_token(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        for path in PAGES:
            answer = client.get(path, headers={"Host": "evil.example"})
            assert answer.status_code == 400
            assert "form_token" not in answer.text


def test_a_cookie_alone_changes_nothing(tmp_path: Path) -> None:
    """Without Origin and Sec-Fetch-Site, a request cannot be distinguished from one that another site triggers."""
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        assert log_in(client) == 303
        bare = {"Host": SAME["Host"]}
        assert client.post("/api/v1/runs", json={"label": "x"}, headers=bare).status_code == 403
        assert client.post("/api/v1/runs", json={"label": "x"}, headers=SAME).status_code == 202


def test_a_form_of_one_login_is_none_of_another(tmp_path: Path) -> None:
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        assert log_in(client) == 303
        earlier = form_token(client.get("/", headers=SAME).text)
        client.cookies.clear()
        assert log_in(client) == 303
        assert client.post("/theme", data={"form_token": earlier, "theme": "dark"}, headers=SAME).status_code == 403


def test_a_link_from_another_site_finds_the_reader_logged_in(tmp_path: Path) -> None:
    """The browser withholds a strict cookie; a page of this server then repeats the request with it."""
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        answer = client.get(
            "/results?label=x", headers=SAME | {"Sec-Fetch-Site": "cross-site", "Origin": SAME["Origin"]}
        )
        assert answer.status_code == 200
        assert '<meta http-equiv="refresh" content="0">' in answer.text
        assert 'href="/results?label=x"' in answer.text


def test_every_answer_says_what_a_browser_may_do_with_it(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        answers = [client.get(path) for path in (*PAGES, "/static/style.css", "/api/v1/runs", "/login")]
        answers.append(client.get("/", headers={"Host": "evil.example"}))
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert "<script>" not in answer.text and " style=" not in answer.text
            assert " on" not in "".join(part.partition(">")[0] for part in answer.text.split("<script")[1:])


def test_what_only_those_may_see_who_are_logged_in_is_not_cached(tmp_path: Path) -> None:
    with pages(tmp_path, Tokens([TOKEN]), "0.0.0.0") as client:
        assert log_in(client) == 303
        for path in PAGES:
            assert client.get(path, headers=SAME).headers["cache-control"] == "no-store"
        style = client.get("/static/style.css", headers=SAME)
        assert style.headers["cache-control"] == "no-cache"


def test_files_keep_their_address_as_long_as_their_content(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        page = client.get("/").text
        address = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
        answer = client.get(address)
        assert "immutable" in answer.headers["cache-control"]
        assert "immutable" not in client.get(address.partition("?")[0]).headers["cache-control"]
        for path in ("/static/..%2fpage.py", "/static/nothing.js"):
            assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "goal", ["//evil.example", "/\\evil.example", "http://evil.example", "", "x", "/\n/evil", "/a\\b", "javascript:1"]
)
def test_a_login_leads_nowhere_else(goal: str) -> None:
    assert safe_target(goal) == "/"
    assert safe_target("/results?label=a%20b") == "/results?label=a%20b"


def test_what_goes_wrong_is_a_page_for_readers_and_a_problem_for_programs(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        page = client.get("/no-such-page")
        assert page.status_code == 404
        assert "Page not found" in page.text
        problem = client.get("/no-such-page", headers={"Accept": "application/json"})
        assert problem.headers["content-type"] == "application/problem+json"
        assert client.get("/api/v1/nothing").headers["content-type"] == "application/problem+json"
        for path in ("/results?since=yesterday", "/results?page=0", "/results?chains=many", "/results?page=%00"):
            assert client.get(path).status_code == 400
        assert client.get("/results/20260101T000000Z-000000").status_code == 404
        assert client.get("/compare?a=nothing&b=nobody").status_code == 404
        assert client.get("/compare/report.html").status_code == 422
        assert client.post("/results").status_code == 405


@pytest.mark.parametrize(
    "name", ["%2e%2e%2fsecret", "..%2fsecret", "%2fetc%2fpasswd", "label:x", "a,b", "server", "%00", "x" * 3000]
)
def test_a_name_in_an_address_is_never_a_path(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/result.json").write_text('{"schema_version": 1, "run_id": "x"}')
    (tmp_path / "results").mkdir()
    with pages(tmp_path / "results") as client:
        for rest in ("", "/report.html", "/result.json", "/nfvbench.json"):
            assert client.get(f"/results/{name}{rest}").status_code == 404
        assert client.get(f"/compare?a={name}&b={name}").status_code in (400, 404, 422)


def test_pages_are_no_part_of_the_interface(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        paths = client.get("/openapi.json").json()["paths"]
        assert not [
            path for path in paths if path in PAGES or path.startswith(("/results", "/login", "/static", "/charts"))
        ]


def test_a_result_that_others_measured_has_a_page_and_a_report(tmp_path: Path) -> None:
    given = Path(__file__).parents[1] / "nfvbench/ndr_pdr.json"
    command = ["results", "import", str(given), "--results-dir", str(tmp_path)]
    assert main(command) == 0
    with pages(tmp_path) as client:
        found = re.findall(r'<a class="title" href="(/results/[^"]+)"', client.get("/results?source=nfvbench").text)
        assert len(found) == 3
        for address in found:
            page = client.get(address)
            assert page.status_code == 200
            assert "NFVbench" in page.text
            assert "NDR" in client.get(f"{address}/report.html").text
            assert client.get(f"{address}/result.json").json()["benchmarks"]
            assert client.get(f"{address}/nfvbench.json").status_code == 409
