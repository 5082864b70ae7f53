"""The first page, lists to choose from, and error pages, served in this process."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.api.serving import start
from tests.recorded import record_run
from tests.suts import SmoothCurve
from tests.waiting import await_true
from tests.web.pages import pages

from nodrop.charts.sparkline import HEIGHT, WIDTH, build_sparkline
from nodrop.model.message import Message
from nodrop.model.summary import Summary
from nodrop.server.pages.last_result import build_history
from nodrop.server.pages.results import describe_outcome, list_missing_goals
from nodrop.store.summaries import summarize_result

pytestmark = pytest.mark.web

REASON = Message(code="ended-without-lower")
JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Summary]]:
    """Return a results directory with three runs of one setup and one run that found nothing."""
    directory = tmp_path_factory.mktemp("nightly")
    runs = [
        record_run(directory, SmoothCurve(pps, 0.002), label="nightly", search__width="2%") for pps in (1e6, 9e5, 95e4)
    ]
    return directory, [summarize_result(run) for run in runs]


def read(client: TestClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.text


def test_a_server_without_results_says_what_nodrop_is_and_offers_a_run(tmp_path: Path) -> None:
    with pages(tmp_path) as client:
        page = read(client, "/")
        assert "highest rate that a switch, router or VNF forwards without losing a frame" in page
        assert "No run in progress" in page
        assert "No results in" in page
        assert 'href="/start"' in page


def test_the_first_page_has_the_last_result_with_its_caution_and_the_earlier_runs(
    nightly: tuple[Path, list[Summary]],
) -> None:
    directory, summaries = nightly
    with pages(directory) as client:
        page = read(client, "/")
    last = max(summaries, key=lambda each: each.started_at)
    assert f"/results/{last.run_id}" in page
    assert f"run {last.run_id[-6:]}" in page
    assert "limited by the SUT" in page
    assert "<b>Caution:</b>" in page
    assert "2 earlier runs: " in page
    assert page.count("<circle") >= len(summaries)


def test_the_history_of_a_setup_leaves_out_other_setups(nightly: tuple[Path, list[Summary]]) -> None:
    summaries = nightly[1]
    newest_first = summaries[::-1]
    other = summaries[0].model_copy(update={"sut": "another", "run_id": "other"})
    history = build_history(newest_first[0], [*newest_first, other])
    assert history
    assert [point.run_id for point in history.sparkline.points] == [each.run_id for each in summaries]
    assert history.sentence.startswith("2 earlier runs: ")
    assert build_history(other, [*newest_first, other]) is None


def test_a_sparkline_keeps_its_points_inside_and_flat_noise_flat() -> None:
    points = build_sparkline([("a", 1e6, "1 Mpps", False), ("b", 2e6, "2 Mpps", False)]).points
    assert all(0 < point.x < WIDTH and 0 < point.y < HEIGHT for point in points)
    assert points[0].y > points[1].y
    noise = build_sparkline([("a", 1e6, "", False), ("b", 1.0001e6, "", False)]).points
    assert abs(noise[0].y - noise[1].y) < HEIGHT / 20
    assert len(build_sparkline([("a", 0.0, "0 pps", False)]).points) == 1


def test_a_goal_that_was_not_found_has_its_reason_in_the_lists(tmp_path: Path) -> None:
    result = record_run(tmp_path, SmoothCurve(1e6, 0.002), search__width="2%")
    unproven = result.model_copy(
        update={"goals": tuple(each.model_copy(update={"lower": None, "explanation": REASON}) for each in result.goals)}
    )
    summary = summarize_result(unproven)
    (sentence,) = list_missing_goals(summary)
    assert sentence == "NDR and PDR 0.5 % not found: the search ended before it had a lower bound."
    assert describe_outcome(summary.model_copy(update={"measures": ()})) == ("note", "nothing found")
    assert describe_outcome(summarize_result(result)) == ("complete", "complete")


def test_compare_and_trend_offer_results_where_nothing_is_selected(nightly: tuple[Path, list[Summary]]) -> None:
    directory, summaries = nightly
    with pages(directory) as client:
        compare, trend = read(client, "/compare"), read(client, "/trend")
        assert all(compare.count(f'value="{each.run_id}"') == 2 for each in summaries)
        assert "under <b>A</b> (before) and under <b>B</b> (after)" in compare
        (link,) = {part.partition('"')[0] for part in trend.split('href="/trend?')[1:]}
        assert "metric=ndr" in link
        assert "no change" in read(client, f"/trend?{link.replace('&amp;', '&')}") or "lower" in trend


def test_a_list_names_the_sut_the_short_id_and_the_status(nightly: tuple[Path, list[Summary]]) -> None:
    directory, summaries = nightly
    with pages(directory) as client:
        page = read(client, "/results")
    assert summaries[0].sut in page
    assert f">{summaries[0].run_id[-6:]}</code>" in page
    assert '<span class="state complete">complete</span>' in page
    assert "PVP, 64" not in page


def test_a_run_that_waits_for_another_process_is_not_shown_as_running(tmp_path: Path) -> None:
    expected = "Waiting for run abcdef of alice, active since 2026-01-31 12:00:00 UTC; both need CPU 0"
    with pages(tmp_path) as client:
        run = start(client, "blocked")
        await_true(lambda: expected in read(client, "/"), lambda: "the list does not name the other run")
        page = read(client, "/")
        assert '<span class="state waiting">waiting</span>' in page
        assert '<span class="state running">' not in page
        page = read(client, f"/runs/{run}")
        assert f"{expected}." in page
        assert '<span class="state waiting">waiting</span>' in page
        assert "Waiting for another run" in page
        client.post(f"/api/v1/runs/{run}/cancel")


@pytest.mark.parametrize(
    ("method", "path", "status", "sentence"),
    [
        ("GET", "/no-such-page", 404, "There is no page /no-such-page."),
        ("GET", "/runs/abc", 404, "This server has no run abc."),
        ("POST", "/trend", 405, "cannot be changed by this request"),
    ],
)
def test_an_error_page_speaks_to_readers_and_leads_on(
    method: str, path: str, status: int, sentence: str, tmp_path: Path
) -> None:
    with pages(tmp_path) as client:
        answer = client.request(method, path)
        assert answer.status_code == status
        assert sentence in answer.text
        assert "no such endpoint" not in answer.text
        assert all(f'href="{link}"' in answer.text for link in ("/", "/results", "/start"))
        program = client.request(method, path, headers=JSON)
        assert program.status_code == status
        assert program.headers["content-type"] == "application/problem+json"
        assert "GET /" in program.json()["detail"] or "method not allowed" in program.json()["detail"]
