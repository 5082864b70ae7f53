"""A cloud's resources as its interfaces give them: lists, whole, and requests that make.

As JSON and not as the SDK's classes, for two reasons: several networks, subnets or ports are made by one request, for
which the SDK has no public way, and what a service adds is there without waiting for the SDK.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlsplit

from nodrop.stage.openstack.login import Cloud

Json = Mapping[str, Any]
Service = Literal["compute", "network", "image"]
MICROVERSIONS: dict[str, str] = {"compute": "2.79"}
"""Nova's of Train (2019): descriptions of flavors (2.55), extra specs in lists of them (2.61), one policy for a server
group (2.64), and a host action for by those who may (2.74)."""
VALIDATED_SPECS = "2.86"
"""Since which Nova refuses extra specs that it does not know, or whose values it does not."""
NAMES_PER_REQUEST = 60
"""So that an address stays below 8 KiB, which servers take."""


class Post(NamedTuple):
    """A request that makes something."""

    service: Service
    path: str
    body: Json
    better: str = ""
    """A later microversion, taken where the service has it."""


def list_all(cloud: Cloud, what: str, service: Service, path: str, key: str) -> list[Json]:
    """All of a kind, page by page. Raises StageError."""
    found: list[Json] = []
    next_path: str | None = path
    with cloud.reporting_errors(f"list {what}"):
        while next_path:
            answer = _json(_adapter(cloud, service).get(next_path, **_version(service)))
            found += answer[key]
            next_path = _next(path, key, answer)
    return found


def list_by_name(cloud: Cloud, what: str, path: str, key: str, names: Sequence[str]) -> list[Json]:
    """Those of Neutron's that have one of these names, of all that this user may see."""
    return [
        each
        for some in _chunks(names)
        for each in list_all(cloud, what, "network", f"{path}?{'&'.join(f'name={quote(name)}' for name in some)}", key)
    ]


def create(cloud: Cloud, action: str, post: Post, find_existing: Callable[[], Json | None]) -> Json:
    """The answer to a request that makes something, sent once however often its answer is lost.

    Args:
        cloud: where.
        action: what for, as `create network x`.
        post: the request.
        find_existing: gives what that answer would have been, if what it makes is there.

    Raises StageError.
    """

    def send_request() -> Json:
        adapter = _adapter(cloud, post.service)
        version = {"microversion": post.better} if _has(adapter, post.better) else _version(post.service)
        return _json(adapter.post(post.path, json=post.body, **version))

    return cloud.create_once(action, send_request, find_existing)


def get(cloud: Cloud, action: str, service: Service, path: str) -> Json:
    """The answer to a question. Raises StageError."""
    with cloud.reporting_errors(action):
        return _json(_adapter(cloud, service).get(path, **_version(service)))


def upload(cloud: Cloud, action: str, service: Service, path: str, blocks: Iterable[bytes]) -> None:
    """Send a file's bytes. Raises StageError."""
    with cloud.reporting_errors(action):
        headers = {"Content-Type": "application/octet-stream"}
        _check(_adapter(cloud, service).put(path, data=blocks, headers=headers))


def update(cloud: Cloud, action: str, service: Service, path: str, body: Json) -> Json:
    """The answer to a request that sets something. Raises StageError."""
    with cloud.reporting_errors(action):
        return _json(_adapter(cloud, service).put(path, json=body, **_version(service)))


def delete(cloud: Cloud, action: str, service: Service, path: str) -> None:
    """Delete something that may be gone already. Raises StageError."""
    with cloud.reporting_errors(action):
        answer = _adapter(cloud, service).delete(path, **_version(service))
        if answer.status_code != 404:
            _check(answer)


def _adapter(cloud: Cloud, service: Service) -> Any:
    return getattr(cloud.sdk, service)


def _has(adapter: Any, microversion: str) -> bool:
    from openstack.utils import supports_microversion

    return bool(microversion) and bool(supports_microversion(adapter, microversion))


def _version(service: Service) -> dict[str, str]:
    return {"microversion": MICROVERSIONS[service]} if service in MICROVERSIONS else {}


def _json(answer: Any) -> Json:
    _check(answer)
    found: Json = answer.json() if answer.content else {}
    return found


def _check(answer: Any) -> None:
    from openstack.exceptions import raise_from_response

    raise_from_response(answer)


def _next(path: str, key: str, answer: Json) -> str | None:
    """Of the next page; hosts in such links are often those of inside, so only their queries are taken."""
    link = answer.get("next") or next(
        (link["href"] for link in answer.get(f"{key}_links", []) if link.get("rel") == "next"), None
    )
    return f"{path.partition('?')[0]}?{urlsplit(link).query}" if link else None


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(names), NAMES_PER_REQUEST):
        yield names[first : first + NAMES_PER_REQUEST]
