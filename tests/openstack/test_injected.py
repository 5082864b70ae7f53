"""Injected faults of a cloud: the message states the fix, and nothing is left behind."""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.openstack.proxy import Fault, Proxy, proxy
from tests.openstack.services.layout import Layout
from tests.openstack.services.register import connection
from tests.openstack.staging import (
    ISOLATED,
    cloud_of,
    command_environment,
    contents,
    diff_contents,
    format_contents,
    plan,
    run_nodrop,
    stage_until_killed,
    staged,
)
from tests.waiting import await_true

from nodrop.errors import StageError

pytestmark = [
    *(pytest.mark.lab, pytest.mark.openstack, pytest.mark.timeout(900)),
    pytest.mark.usefixtures("nothing_left"),
]
Figure = Callable[[str], None]


@pytest.fixture
def quota(services: Layout) -> Iterator[Callable[..., None]]:
    """Return a function that sets Neutron's quotas of the project; restore them afterwards."""
    cloud = connection(services)
    project = cloud.current_project_id

    def set_quota(**limits: int) -> None:
        cloud.network.update_quota(project, **limits)

    yield set_quota
    cloud.network.delete_quota(project)


@pytest.fixture
def before_network(services: Layout, tmp_path: Path) -> Iterator[tuple[Proxy, Path]]:
    """Run a proxy for Neutron; yield it with the clouds.yaml that points to it."""
    with before_services(services, tmp_path, network="neutron") as ([proxied], clouds):
        yield proxied, clouds


@pytest.fixture
def before_compute(services: Layout, tmp_path: Path) -> Iterator[tuple[Proxy, Path]]:
    """Run a proxy for Nova; yield it with the clouds.yaml that points to it."""
    with before_services(services, tmp_path, compute="nova") as ([proxied], clouds):
        yield proxied, clouds


@contextlib.contextmanager
def before_services(services: Layout, tmp_path: Path, **names: str) -> Iterator[tuple[list[Proxy], Path]]:
    """Run a proxy for each service, by kind; yield them with the clouds.yaml that points to them."""
    with contextlib.ExitStack() as running:
        clouds = yaml.safe_load(services.clouds.read_text())
        proxies = []
        for kind, name in names.items():
            proxies.append(running.enter_context(proxy(services.url(name))))
            for cloud in clouds["clouds"].values():
                cloud[f"{kind}_endpoint_override"] = f"{proxies[-1].url}{'/v2.0' if kind == 'network' else ''}"
        file = tmp_path / "clouds.yaml"
        file.write_text(yaml.safe_dump(clouds))
        yield proxies, file


def test_a_quota_that_is_too_small_is_found_before_anything_is_made(
    services: Layout, image: Path, quota: Callable[..., None], before_network: tuple[Proxy, Path], figure: Figure
) -> None:
    proxied, clouds = before_network
    quota(ports=3)
    with (
        pytest.raises(StageError, match=r"ports") as refused,
        staged(services, plan(services, image, chains=2), clouds),
    ):
        pass
    assert not [each for each in proxied.requests if each.method == "POST"]
    figure(f"quota too small: {refused.value}")


def test_a_quota_that_shrinks_on_the_way_leaves_nothing(
    services: Layout, image: Path, quota: Callable[..., None], before_network: tuple[Proxy, Path], figure: Figure
) -> None:
    proxied, clouds = before_network

    def shrink(method: str, path: str) -> Fault | None:
        if method == "POST" and "/networks" in path:
            quota(ports=1)
        return None

    proxied.choose_fault = shrink
    with (
        pytest.raises(StageError, match=r"ports.*created resources were deleted") as refused,
        staged(services, plan(services, image), clouds),
    ):
        pass
    figure(f"quota shrinks: {refused.value}")


def test_a_server_that_goes_to_error_says_why_and_leaves_nothing(services: Layout, image: Path, figure: Figure) -> None:
    pages = {"hw:mem_page_size": "1GB", "hw:numa_nodes": "1"}  # a node has 16 of them
    run_plan = plan(services, image, openstack__flavor__ram=20480, openstack__flavor__extra_specs=pages)
    with pytest.raises(StageError, match=r"No valid host|ERROR") as refused, staged(services, run_plan):
        pass
    figure(f"server in ERROR: {refused.value}")


@pytest.mark.parametrize("service", ["network", "compute"])
def test_a_service_that_is_away_for_a_while_is_waited_for(
    services: Layout, image: Path, request: pytest.FixtureRequest, service: str, figure: Figure
) -> None:
    proxied, clouds = request.getfixturevalue(f"before_{service}")
    ends_s: list[float] = []

    def away(_method: str, _path: str) -> Fault | None:
        if len(proxied.requests) < 3:
            return None
        if not ends_s:
            ends_s.append(time.monotonic() + 3)
        return "503" if time.monotonic() < ends_s[0] else None

    proxied.choose_fault = away
    with staged(services, plan(services, image), clouds) as staged_chains:
        assert staged_chains.stage.facts.chains
    failed_count = sum(each.fault == "503" for each in proxied.requests)
    assert failed_count
    figure(f"{service} answers 503 for 3 s: staged nevertheless, {failed_count} requests retried")


def test_a_service_that_stays_away_ends_the_stage_and_cleanup_takes_the_rest(
    services: Layout, image: Path, before_network: tuple[Proxy, Path], figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nodrop.stage.openstack import requests

    monkeypatch.setattr(requests, "RETRY_S", 2.0)
    proxied, clouds = before_network
    before = contents(services)

    def away(_method: str, _path: str) -> Fault | None:
        posted = [each for each in proxied.requests if each.method == "POST" and "/subnets" in each.path]
        return "503" if posted else None

    proxied.choose_fault = away
    with pytest.raises(StageError, match="503") as refused, staged(services, plan(services, image), clouds):
        pass
    remaining = {kind: present - before[kind] for kind, present in contents(services).items()}
    assert remaining["networks"], "Neutron was down, so its resources could not be deleted"
    cleaned = run_nodrop(services, "cleanup", "--force", "--cloud", "admin")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    figure(f"network answers 503 for ever: {refused.value}; left {format_contents(remaining)}; cleanup removed it")


@pytest.mark.parametrize("path", ["/networks", "/subnets", "/ports"])
def test_what_is_made_by_a_request_whose_answer_is_lost_is_made_once(
    services: Layout, image: Path, before_network: tuple[Proxy, Path], path: str
) -> None:
    proxied, clouds = before_network
    proxied.choose_fault = _once("POST", path)
    with staged(services, plan(services, image), clouds) as staged_chains:
        planned = [each.name for each in cloud_of(staged_chains.plan).networks]
        networks = [name for name, _ in contents(services)["networks"]]
        assert all(networks.count(name) == 1 for name in planned)
    assert [each.fault for each in proxied.requests].count("cut") == 1


def test_a_server_whose_answer_is_lost_is_made_once(
    services: Layout, image: Path, before_compute: tuple[Proxy, Path]
) -> None:
    proxied, clouds = before_compute
    proxied.choose_fault = _once("POST", "/servers")
    with staged(services, plan(services, image), clouds):
        names = [name for name, _ in contents(services)["servers"]]
        assert names == ["nodrop-vm-0"]
    assert [each.fault for each in proxied.requests].count("cut") == 1


def _once(method: str, path: str) -> Callable[[str, str], Fault | None]:
    done: list[Any] = []

    def choose_fault(requested: str, target: str) -> Fault | None:
        if requested == method and target.partition("?")[0].endswith(path) and not done:
            done.append(target)
            return "cut"
        return None

    return choose_fault


def test_the_counts_told_are_those_that_a_proxy_counts(
    services: Layout, image: Path, before_network: tuple[Proxy, Path]
) -> None:
    proxied, clouds = before_network
    with staged(services, plan(services, image, chains=2), clouds) as staged_chains:
        reported = staged_chains.stage.facts.cloud.api_call_counts  # type: ignore[union-attr]
        received = [each for each in proxied.requests if each.path != "/v2.0"]  # except for the list of versions
        assert reported["network"] == len(received)


@pytest.mark.parametrize("moment", ["image t-image created", "networks created", "ports created", "server"])
def test_what_a_killed_run_made_is_found_and_taken_away(
    services: Layout, image: Path, figure: Figure, moment: str, tmp_path: Path
) -> None:
    before = contents(services)
    with before_services(services, tmp_path, network="neutron", compute="nova") as (proxies, clouds):
        stage_until_killed(services, plan(services, image, chains=2), moment, clouds)
        await_true(lambda: not any(each.pending_count for each in proxies), "pending requests complete")
    remaining = {kind: present - before[kind] for kind, present in contents(services).items()}
    assert any(remaining.values())
    status = run_nodrop(services, "status", "--cloud", "admin")
    cleaned = run_nodrop(services, "cleanup", "--force", "--cloud", "admin")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    after = contents(services)
    figure(
        f"killed at {moment!r}: left {format_contents(remaining)}; after nodrop cleanup --force: "
        f"{format_contents({kind: present - before[kind] for kind, present in after.items()})}"
    )
    assert diff_contents(after, before) == {}
    for names in remaining.values():
        assert all(name in status.stdout for name, _ in names)


def test_a_clean_up_that_is_killed_is_finished_by_the_next(
    services: Layout, image: Path, before_network: tuple[Proxy, Path]
) -> None:
    proxied, clouds = before_network
    before = contents(services)
    stage_until_killed(services, plan(services, image, chains=2), "stage is up")
    deletion, end = threading.Event(), threading.Event()

    def hold_deletion(method: str, _path: str) -> Fault | None:
        if method != "DELETE":
            return None
        deletion.set()
        end.wait()
        return "503"

    proxied.choose_fault = hold_deletion
    cleaning = subprocess.Popen(
        [*ISOLATED, str(Path(sys.executable).with_name("nodrop")), "cleanup", "--force", "--cloud", "admin"],
        env=command_environment(services, clouds),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    await_true(deletion.is_set, "cleanup deletes a resource of Neutron")
    cleaning.kill()
    cleaning.wait()
    end.set()
    assert diff_contents(contents(services), before)
    assert run_nodrop(services, "cleanup", "--force", "--cloud", "admin").returncode == 0
    assert diff_contents(contents(services), before) == {}
