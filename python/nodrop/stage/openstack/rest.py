"""Requests for a cloud's resources, with JSON replies: complete lists, single reads, creation without duplicates.

JSON instead of the SDK's classes, for two reasons: one request creates several networks, subnets or ports, which the
SDK does not support publicly, and new fields of a service are available without an SDK release.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlsplit

from nodrop.stage.openstack.login import Cloud

Json = Mapping[str, Any]
Service = Literal["compute", "network", "image"]
MICROVERSIONS: dict[str, str] = {"compute": "2.79"}
"""Nova's of Train (2019): descriptions of flavors (2.55), extra specs in lists of them (2.61), a single policy per
server group (2.64), and requested hosts for those who may (2.74)."""
VALIDATED_SPECS = "2.86"
"""From this microversion on, Nova rejects unknown extra specs and invalid values."""
NAMES_PER_REQUEST = 60
"""Keeps URLs below 8 KiB, which servers accept."""


class Post(NamedTuple):
    """A request that creates something."""

    service: Service
    path: str
    body: Json
    better: str = ""
    """A later microversion, used if the service supports it."""


def list_resources(cloud: Cloud, noun: str, service: Service, path: str, key: str) -> list[Json]:
    """List all resources of a kind, page by page. Raises StageError."""
    resources: list[Json] = []
    next_path: str | None = path
    with cloud.reporting_errors(f"list {noun}"):
        while next_path:
            answer = _parse_json(_get_adapter(cloud, service).get(next_path, **_build_version(service)))
            resources += answer[key]
            next_path = _find_next_page(path, key, answer)
    return resources


def list_by_name(cloud: Cloud, noun: str, path: str, key: str, names: Sequence[str]) -> list[Json]:
    """List those visible Neutron resources that have one of these names."""
    return [
        each
        for chunk in _split_chunks(names)
        for each in list_resources(
            cloud, noun, "network", f"{path}?{'&'.join(f'name={quote(name)}' for name in chunk)}", key
        )
    ]


def create_resource(cloud: Cloud, action: str, post: Post, find_existing: Callable[[], Json | None]) -> Json:
    """Send a creating request and return its reply, without duplicates if replies are lost.

    Args:
        cloud: the cloud.
        action: for messages, e.g. `create network x`.
        post: the request.
        find_existing: returns the reply that the request would get, if its resource exists.

    Raises StageError.
    """

    def send_request() -> Json:
        adapter = _get_adapter(cloud, post.service)
        version = (
            {"microversion": post.better} if _has_microversion(adapter, post.better) else _build_version(post.service)
        )
        return _parse_json(adapter.post(post.path, json=post.body, **version))

    return cloud.create_once(action, send_request, find_existing)


def get_resource(cloud: Cloud, action: str, service: Service, path: str) -> Json:
    """Return the reply to a GET request. Raises StageError."""
    with cloud.reporting_errors(action):
        return _parse_json(_get_adapter(cloud, service).get(path, **_build_version(service)))


def upload_file(cloud: Cloud, action: str, service: Service, path: str, blocks: Iterable[bytes]) -> None:
    """Send the bytes of a file. Raises StageError."""
    with cloud.reporting_errors(action):
        headers = {"Content-Type": "application/octet-stream"}
        _check(_get_adapter(cloud, service).put(path, data=blocks, headers=headers))


def update_resource(cloud: Cloud, action: str, service: Service, path: str, body: Json) -> Json:
    """Return the reply to a PUT request. Raises StageError."""
    with cloud.reporting_errors(action):
        return _parse_json(_get_adapter(cloud, service).put(path, json=body, **_build_version(service)))


def delete_resource(cloud: Cloud, action: str, service: Service, path: str) -> None:
    """Delete a resource that may no longer exist. Raises StageError."""
    with cloud.reporting_errors(action):
        answer = _get_adapter(cloud, service).delete(path, **_build_version(service))
        if answer.status_code != 404:
            _check(answer)


def _get_adapter(cloud: Cloud, service: Service) -> Any:
    return getattr(cloud.sdk, service)


def _has_microversion(adapter: Any, microversion: str) -> bool:
    from openstack.utils import supports_microversion

    return bool(microversion) and bool(supports_microversion(adapter, microversion))


def _build_version(service: Service) -> dict[str, str]:
    return {"microversion": MICROVERSIONS[service]} if service in MICROVERSIONS else {}


def _parse_json(answer: Any) -> Json:
    _check(answer)
    document: Json = answer.json() if answer.content else {}
    return document


def _check(answer: Any) -> None:
    from openstack.exceptions import raise_from_response

    raise_from_response(answer)


def _find_next_page(path: str, key: str, answer: Json) -> str | None:
    """Return the path of the next page. Links may name internal hosts, so only their query is used."""
    link = answer.get("next") or next(
        (link["href"] for link in answer.get(f"{key}_links", []) if link.get("rel") == "next"), None
    )
    return f"{path.partition('?')[0]}?{urlsplit(link).query}" if link else None


def _split_chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(names), NAMES_PER_REQUEST):
        yield names[first : first + NAMES_PER_REQUEST]
