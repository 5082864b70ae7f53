"""A cloud of a few hundred bytes for behavior that real services do not show on request: failures and lost answers.

It speaks HTTP as Keystone, Nova, Neutron and Glance do, stores resources, and does nothing with them. Answers of real
services are tested with real services: tests/openstack.
"""

import contextlib
import itertools
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from nodrop.model.cloud import CloudLogin
from nodrop.stage.openstack.login import Cloud, connect_cloud

SERVICES = ("identity", "image", "compute", "network", "placement")
VERSIONS = {"image": "v2.9", "compute": "v2.1", "network": "v2.0", "identity": "v3.14", "placement": "v1.0"}
PATHS = {"image": "/v2", "compute": "/v2.1", "network": "/v2.0", "identity": "/v3", "placement": ""}
Failure = int | str
"""A status; `cut` (connection cut before anything is done) or `lost` (after it); or the text of a 400."""


class SmallCloud:
    """The cloud's resources and faults."""

    def __init__(self) -> None:
        self.resources: dict[str, list[dict[str, Any]]] = {}
        """By the path of the kind, e.g. `/network/v2.0/ports`."""
        self.failures: list[tuple[str, str, Failure]] = []
        """Method, prefix of the path, and failure: each once, in this order."""
        self.requests: list[tuple[str, str]] = []
        """Methods and paths of all requests, except for tokens and versions."""
        self.finish: Callable[[str, dict[str, Any]], None] = lambda _path, _made: None
        """Completes created resources with fields that only a service can set, by the path of their kind."""
        self.replies: dict[str, Any] = {}
        """Answers that are no resources, by path."""
        self.password = "secret"
        self.roles = ["admin", "member"]
        self.services: tuple[str, ...] = SERVICES
        self.project: dict[str, Any] | None = {
            "id": "p1",
            "name": "demo",
            "domain": {"id": "default", "name": "Default"},
        }
        self.ids = map(str, itertools.count(1))
        self.base = ""

    def add(self, path: str, **resource: Any) -> dict[str, Any]:
        """Add an existing resource."""
        created = {"id": next(self.ids), "project_id": "p1", "tenant_id": "p1", "owner": "p1", **resource}
        self.resources.setdefault(path, []).append(created)
        self.finish(path, created)
        return created

    def failure(self, method: str, path: str) -> Failure | None:
        """Return the failure of a request; None: it is answered."""
        for each in self.failures:
            if each[0] == method and path.startswith(each[1]):
                self.failures.remove(each)
                return each[2]
        return None

    def token(self) -> dict[str, Any]:
        """Return Keystone's token for any credentials."""
        catalog = [
            {
                "type": service,
                "name": service,
                "id": service,
                "endpoints": [
                    {
                        "interface": "public",
                        "region": "R",
                        "region_id": "R",
                        "id": service,
                        "url": f"{self.base}/{service}",
                    }
                ],
            }
            for service in self.services
        ]
        user = {"id": "u1", "name": "demo", "domain": {"id": "default", "name": "Default"}}
        times = {"expires_at": "2099-01-01T00:00:00.000000Z", "issued_at": "2026-01-01T00:00:00.000000Z"}
        roles = [{"id": role, "name": role} for role in self.roles]
        project = {"project": self.project} if self.project else {}
        return {
            "token": {"methods": ["password"], "user": user, "catalog": catalog, "roles": roles, **times, **project}
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud: SmallCloud

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def _answer(self, method: str) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        address = urlsplit(self.path)
        service = address.path.split("/")[1]
        if address.path.rstrip("/") in (f"/{service}", f"/{service}{PATHS.get(service, '')}"):
            self._say(200, self._versions(service))
            return
        failure = self.cloud.failure(method, address.path)
        if address.path.endswith("/auth/tokens"):
            self._log_in(body, failure)
            return
        self.cloud.requests.append((method, address.path))
        if isinstance(failure, int):
            self._say(failure, {"error": {"message": f"failure {failure}"}})
        elif failure == "cut":
            self._cut()
        elif failure not in (None, "lost"):
            self._say(400, {"error": {"message": failure}})
        else:
            status, answer = self._do(method, address.path, parse_qs(address.query), body)
            self._cut() if failure == "lost" else self._say(status, answer)

    def _do(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        kind, _, number = path.rpartition("/")
        if method == "POST":
            hints = {name: value for name, value in body.items() if ":" not in name}
            name, expected = next(iter(hints.items())) if len(hints) == 1 else ("", body)
            if isinstance(expected, list):
                return 201, {name: [self.cloud.add(path, **each) for each in expected]}
            created = self.cloud.add(path, **expected)
            return 201, {name: created} if name else created
        if method == "GET":
            return 200, self.cloud.replies.get(path) or self._listed(path, query)
        if number == "remove_router_interface":
            kind, number, method = f"{kind.rpartition('/routers')[0]}/ports", body["port_id"], "DELETE"
        result = next((each for each in self.cloud.resources.get(kind, []) if each["id"] == number), None)
        if result is None:
            return 404, {"error": {"message": f"{number} could not be found"}}
        if method == "DELETE":
            self.cloud.resources[kind].remove(result)
            return 204, None
        result.update(next(iter(body.values())))
        return 200, body

    def _listed(self, path: str, query: dict[str, list[str]]) -> dict[str, Any]:
        kind, _, last = path.rpartition("/")
        if last == "detail":
            flavors = query.get("flavor")
            resources = self.cloud.resources.get(kind, [])
            some = [each for each in resources if not flavors or each.get("flavor", {}).get("id") in flavors]
            return {kind.rpartition("/")[2]: some}
        names = query.get("name")
        resources = self.cloud.resources.get(path, [])
        key = last.replace("os-", "").replace("-", "_")
        return {key: [each for each in resources if not names or each["name"] in names]}

    def _log_in(self, body: Any, failure: Failure | None) -> None:
        password = body["auth"]["identity"]["password"]["user"]["password"]
        if isinstance(failure, int):
            self._say(failure, {"error": {"message": f"failure {failure}"}})
        elif password == self.cloud.password:
            self._say(201, self.cloud.token(), {"X-Subject-Token": "t"})
        else:
            self._say(401, {"error": {"message": "The request you have made requires authentication."}})

    def _versions(self, service: str) -> Any:
        link = {"rel": "self", "href": f"{self.cloud.base}/{service}{PATHS[service]}"}
        version = {"id": VERSIONS[service], "status": "CURRENT", "links": [link]}
        if service in ("compute", "placement"):
            version |= {"version": "2.96", "min_version": "2.1", "max_version": "2.96"}
        return {"versions": [version]}

    def _say(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _cut(self) -> None:
        """End the connection by a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


@contextlib.contextmanager
def serve_cloud(small: SmallCloud, tls: ssl.SSLContext | None = None) -> Iterator[SmallCloud]:
    """Serve it, on its own address."""
    handler = type("Answers", (_Handler,), {"cloud": small})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    small.base = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield small
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def clouds_yaml(small: SmallCloud, directory: Path, **auth: Any) -> Path:
    """Return a clouds.yaml that names it `small`."""
    login = {
        "auth_url": f"{small.base}/identity/v3",
        "username": "demo",
        "password": "secret",
        "project_name": "demo",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        **auth,
    }
    path = directory / "clouds.yaml"
    expected = {name: value for name, value in login.items() if value is not None}
    path.write_text(yaml.safe_dump({"clouds": {"small": {"auth": expected, "region_name": "R"}}}))
    return path


def log_in(on_wait: Callable[[str], None] | None = None) -> Cloud:
    """Log in to it; OS_CLIENT_CONFIG_FILE points to its address."""
    return connect_cloud(CloudLogin(cloud="small"), on_wait)
