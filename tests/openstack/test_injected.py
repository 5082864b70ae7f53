"""What goes wrong in a cloud on purpose: said with what to do, and nothing is left behind."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.openstack.proxy import Fault, Proxy, proxy
from tests.openstack.services.layout import Layout
from tests.openstack.services.register import connection
from tests.openstack.staging import cloud_of, contents, counted, killed_at, more, nodrop, plan, staged

from nodrop.errors import StageError

pytestmark = pytest.mark.usefixtures("nothing_left")
Figure = Callable[[str], None]


@pytest.fixture
def quota(services: Layout) -> Iterator[Callable[..., None]]:
    """Sets quotas of Neutron's for the project, and takes them back."""
    cloud = connection(services)
    project = cloud.current_project_id

    def set_quota(**limits: int) -> None:
        cloud.network.update_quota(project, **limits)

    yield set_quota
    cloud.network.delete_quota(project)


@pytest.fixture
def before_network(services: Layout, tmp_path: Path) -> Iterator[tuple[Proxy, Path]]:
    """A proxy in front of Neutron, and the clouds.yaml that leads to it."""
    yield from _proxied(services, tmp_path, "neutron", "network")


@pytest.fixture
def before_compute(services: Layout, tmp_path: Path) -> Iterator[tuple[Proxy, Path]]:
    """A proxy in front of Nova."""
    yield from _proxied(services, tmp_path, "nova", "compute")


def _proxied(services: Layout, tmp_path: Path, name: str, kind: str) -> Iterator[tuple[Proxy, Path]]:
    with proxy(services.url(name)) as between:
        clouds = yaml.safe_load(services.clouds.read_text())
        for cloud in clouds["clouds"].values():
            cloud[f"{kind}_endpoint_override"] = f"{between.url}{'/v2.0' if kind == 'network' else ''}"
        file = tmp_path / "clouds.yaml"
        file.write_text(yaml.safe_dump(clouds))
        yield between, file


def test_a_quota_that_is_too_small_is_found_before_anything_is_made(
    services: Layout, image: Path, quota: Callable[..., None], before_network: tuple[Proxy, Path], figure: Figure
) -> None:
    between, clouds = before_network
    quota(ports=3)
    with (
        pytest.raises(StageError, match=r"ports") as refused,
        staged(services, plan(services, image, chains=2), clouds),
    ):
        pass
    assert not [each for each in between.asked if each.method == "POST"]
    figure(f"quota too small: {refused.value}")


def test_a_quota_that_shrinks_on_the_way_leaves_nothing(
    services: Layout, image: Path, quota: Callable[..., None], before_network: tuple[Proxy, Path], figure: Figure
) -> None:
    between, clouds = before_network

    def shrink(method: str, path: str) -> Fault | None:
        if method == "POST" and "/networks" in path:
            quota(ports=1)
        return None

    between.spoil = shrink
    with (
        pytest.raises(StageError, match=r"ports.*created resources were deleted") as refused,
        staged(services, plan(services, image), clouds),
    ):
        pass
    figure(f"quota shrinks: {refused.value}")


def test_a_server_that_goes_to_error_says_why_and_leaves_nothing(services: Layout, image: Path, figure: Figure) -> None:
    pages = {"hw:mem_page_size": "1GB", "hw:numa_nodes": "1"}  # a node has 16 of them
    asked = plan(services, image, openstack__flavor__ram=20480, openstack__flavor__extra_specs=pages)
    with pytest.raises(StageError, match=r"No valid host|ERROR") as refused, staged(services, asked):
        pass
    figure(f"server in ERROR: {refused.value}")


@pytest.mark.parametrize("service", ["network", "compute"])
def test_a_service_that_is_away_for_a_while_is_waited_for(
    services: Layout, image: Path, request: pytest.FixtureRequest, service: str, figure: Figure
) -> None:
    between, clouds = request.getfixturevalue(f"before_{service}")
    came = time.monotonic()

    def away(_method: str, _path: str) -> Fault | None:
        return "503" if 1.0 < time.monotonic() - came < 4.0 else None

    between.spoil = away
    with staged(services, plan(services, image), clouds) as there:
        assert there.stage.facts.chains
    spoilt = sum(each.fault == "503" for each in between.asked)
    assert spoilt
    figure(f"{service} answers 503 for 3 s: staged all the same, {spoilt} requests asked again")


def test_a_service_that_stays_away_ends_the_stage_and_cleanup_takes_the_rest(
    services: Layout, image: Path, before_network: tuple[Proxy, Path], figure: Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nodrop.stage.openstack import requests

    monkeypatch.setattr(requests, "RETRY_S", 2.0)
    between, clouds = before_network
    before = contents(services)

    def away(_method: str, _path: str) -> Fault | None:
        posted = [each for each in between.asked if each.method == "POST" and "/subnets" in each.path]
        return "503" if posted else None

    between.spoil = away
    with pytest.raises(StageError, match="503") as refused, staged(services, plan(services, image), clouds):
        pass
    left = {kind: there - before[kind] for kind, there in contents(services).items()}
    assert left["networks"], "Neutron was away, so what it has could not be taken away"
    cleaned = nodrop(services, "cleanup", "--force", "--cloud", "admin")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    figure(f"network answers 503 for good: {refused.value}; left {counted(left)}; cleanup took it away")


@pytest.mark.parametrize("path", ["/networks", "/subnets", "/ports"])
def test_what_is_made_by_a_request_whose_answer_is_lost_is_made_once(
    services: Layout, image: Path, before_network: tuple[Proxy, Path], path: str
) -> None:
    between, clouds = before_network
    between.spoil = _once("POST", path)
    with staged(services, plan(services, image), clouds) as there:
        made = [each.name for each in cloud_of(there.plan).networks]
        networks = [name for name, _ in contents(services)["networks"]]
        assert all(networks.count(name) == 1 for name in made)
    assert [each.fault for each in between.asked].count("cut") == 1


def test_a_server_whose_answer_is_lost_is_made_once(
    services: Layout, image: Path, before_compute: tuple[Proxy, Path]
) -> None:
    between, clouds = before_compute
    between.spoil = _once("POST", "/servers")
    with staged(services, plan(services, image), clouds):
        names = [name for name, _ in contents(services)["servers"]]
        assert names == ["nodrop-vm-0"]
    assert [each.fault for each in between.asked].count("cut") == 1


def _once(method: str, path: str) -> Callable[[str, str], Fault | None]:
    done: list[Any] = []

    def spoil(asked: str, where: str) -> Fault | None:
        if asked == method and where.partition("?")[0].endswith(path) and not done:
            done.append(where)
            return "cut"
        return None

    return spoil


def test_the_counts_told_are_those_that_a_proxy_counts(
    services: Layout, image: Path, before_network: tuple[Proxy, Path]
) -> None:
    between, clouds = before_network
    with staged(services, plan(services, image, chains=2), clouds) as there:
        told = there.stage.facts.cloud.api_call_counts  # type: ignore[union-attr]
        asked = [each for each in between.asked if each.path != "/v2.0"]  # what versions there are, told apart
        assert told["network"] == len(asked)


@pytest.mark.parametrize("moment", ["image t-image created", "networks created", "ports created", "server"])
def test_what_a_killed_run_made_is_found_and_taken_away(
    services: Layout, image: Path, figure: Figure, moment: str
) -> None:
    before = contents(services)
    killed_at(services, plan(services, image, chains=2), moment)
    time.sleep(1.0)  # what was asked for in that moment is made
    left = {kind: there - before[kind] for kind, there in contents(services).items()}
    assert any(left.values())
    status = nodrop(services, "status", "--cloud", "admin")
    cleaned = nodrop(services, "cleanup", "--force", "--cloud", "admin")
    assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
    after = contents(services)
    figure(
        f"killed at {moment!r}: left {counted(left)}; after nodrop cleanup --force: "
        f"{counted({kind: there - before[kind] for kind, there in after.items()})}"
    )
    assert more(after, before) == {}
    for names in left.values():
        assert all(name in status.stdout for name, _ in names)


def test_a_clean_up_that_is_killed_is_finished_by_the_next(services: Layout, image: Path) -> None:
    import subprocess
    import sys

    from tests.openstack.staging import APART, command_environment

    before = contents(services)
    killed_at(services, plan(services, image, chains=2), "stands")
    cleaning = subprocess.Popen(
        [*APART, str(Path(sys.executable).with_name("nodrop")), "cleanup", "--force", "--cloud", "admin"],
        env=command_environment(services),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    servers = len(contents(services)["servers"])
    while len(contents(services)["servers"]) == servers and cleaning.poll() is None:
        time.sleep(0.1)
    cleaning.kill()
    cleaning.wait()
    assert more(contents(services), before), "it had not been done yet"
    assert nodrop(services, "cleanup", "--force", "--cloud", "admin").returncode == 0
    assert more(contents(services), before) == {}
