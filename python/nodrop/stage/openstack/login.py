"""Login to a cloud, by its name in clouds.yaml, OS_... variables or an openrc file.

Source: https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from nodrop.errors import ConfigError, StageError
from nodrop.model.cloud import CloudLogin
from nodrop.stage.openstack import openrc
from nodrop.stage.openstack.requests import (
    UNAVAILABLE,
    RetryingRequests,
    extract_service_message,
    find_http_status,
    reporting_errors,
    retry_while_unavailable,
)
from nodrop.system.log_files import LOGGER

Created = TypeVar("Created")
SERVICES = ("image", "compute", "network")
"""Services that the catalog must list."""
ADMIN = "admin"
"""The role that every service's default policy requires of administrators. Source:
https://docs.openstack.org/keystone/latest/admin/service-api-protection.html"""
PASSWORD_METHODS = ("password", "v3password")


class Cloud:
    """A cloud, as seen by one user of one project."""

    def __init__(self, name: str, sdk: Any, requests: RetryingRequests, access: Any) -> None:
        self.name = name
        """Name in clouds.yaml, or host of its identity service."""
        self.sdk = sdk
        """openstack.connection.Connection."""
        self.project_id = str(access.project_id)
        self.project_name = str(access.project_name)
        self.user_name = str(access.username)
        self.roles = frozenset(str(role).lower() for role in access.role_names)
        self._requests = requests

    @property
    def is_admin(self) -> bool:
        """Whether the user is an administrator, by the roles of the token."""
        return ADMIN in self.roles

    @property
    def api_call_counts(self) -> dict[str, int]:
        """Requests sent so far, by service, e.g. `network`."""
        return self._requests.counts

    def reporting_errors(self, action: str) -> AbstractContextManager[None]:
        """Raise the cloud's errors within the block as a CloudError with the action that failed."""
        return reporting_errors(self.name, action)

    def create_once(
        self, action: str, send: Callable[[], Created], find_existing: Callable[[], Created | None]
    ) -> Created:
        """Send a request that creates something, without creating it twice if a reply is lost.

        Args:
            action: for messages, e.g. `create network x`.
            send: sends the request.
            find_existing: finds what an earlier such request created, by name and tag; called only after a lost reply.

        Raises StageError.
        """
        first = True

        def send_request() -> Created | Exception:
            nonlocal first
            if not first and (existing := find_existing()) is not None:
                return existing
            first = False
            try:
                return send()
            except Exception as error:
                if _is_answer_lost(error):
                    return error
                raise

        def unavailable_reason(answer: Created | Exception) -> str:
            return extract_service_message(answer) if isinstance(answer, Exception) else ""

        with self.reporting_errors(action):
            answer = retry_while_unavailable(send_request, unavailable_reason, self._requests.on_retry)
            if isinstance(answer, Exception):
                raise answer
            return answer


def connect_cloud(login: CloudLogin, on_wait: Callable[[str], None] | None = None) -> Cloud:
    """Log in. Raises ConfigError for invalid settings, StageError for errors of the cloud.

    Args:
        login: the cloud and the user.
        on_wait: receives a message for each wait for an unavailable service; None: the log receives it.
    """
    try:
        import openstack  # noqa: F401  (an extra)
    except ImportError:
        raise StageError(
            "openstack: openstacksdk is not installed; install it: pip install 'nodrop[openstack]'"
        ) from None
    # keeps keystoneauth's warnings off the terminal
    logging.getLogger("keystoneauth").addHandler(logging.NullHandler())
    region = _load_region(login)
    name = _find_name(login, region.config)
    _refuse_v2(name, region.config)
    session = region.get_session()
    requests = RetryingRequests(session, on_wait or (lambda text: LOGGER.warning("cloud %s: %s", name, text)))
    access = _request_access(name, region, session)
    _require_services(name, region, access)
    from openstack.connection import Connection

    return Cloud(name, Connection(config=region), requests, access)


def is_named() -> bool:
    """Return whether the environment names a cloud."""
    return bool(os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL"))


def _load_region(login: CloudLogin) -> Any:
    from keystoneauth1.exceptions import MissingRequiredOptions, NoMatchingPlugin
    from openstack.exceptions import ConfigException

    loader, name, settings = _find_sources(login)
    login_source = f"cloud {name}" if name else f"openrc file {login.openrc}" if login.openrc else "OS_... variables"
    try:
        unchecked = loader.get_one(cloud=name, validate=False, **settings)
        auth = {**unchecked.config, **(unchecked.config.get("auth") or {})}
        if unchecked.config.get("auth_type") in PASSWORD_METHODS and _needs_password(auth):
            settings = {
                **settings,
                "auth": {**(settings.get("auth") or {}), "password": _read_password(login_source, auth)},
            }
        return loader.get_one(cloud=name, app_name="nodrop", **settings)
    except MissingRequiredOptions as error:
        lacking = ", ".join(sorted(option.dest for option in error.options))
        raise ConfigError(f"{login_source}: {lacking} missing for the login; add it") from None
    except (ConfigException, NoMatchingPlugin) as error:
        raise ConfigError(f"{login_source}: openstacksdk cannot read it: {extract_service_message(error)}") from None


def _find_sources(login: CloudLogin) -> tuple[Any, str | None, dict[str, Any]]:
    """Return a configuration loader, the name to look up, and additional settings."""
    from openstack.config import OpenStackConfig

    if login.openrc and not login.cloud:
        return OpenStackConfig(load_yaml_config=False, load_envvars=False), None, _read_openrc_settings(login.openrc)
    loader = OpenStackConfig()
    if name := login.cloud or os.environ.get("OS_CLOUD"):
        clouds = sorted(each for each in loader.get_cloud_names() if each != "defaults")
        if name not in clouds:
            raise ConfigError(f"cloud {name} is not configured: {_advise_missing_cloud(loader, clouds)}")
        return loader, name, {}
    if os.environ.get("OS_AUTH_URL"):
        return OpenStackConfig(load_yaml_config=False), "envvars", {}
    raise ConfigError(
        "no cloud is named; set openstack.cloud (a name in clouds.yaml), openstack.openrc (a file), or the "
        "environment (OS_CLOUD, OS_AUTH_URL)"
    )


def _advise_missing_cloud(loader: Any, clouds: list[str]) -> str:
    file = getattr(loader, "config_filename", None)
    if not file:
        return (
            "no clouds.yaml in this directory, ~/.config/openstack or /etc/openstack; create one, or set its path "
            "(OS_CLIENT_CONFIG_FILE)"
        )
    return f"{file} has {', '.join(clouds) or 'no cloud'}; name one of these, or add it there"


def _read_openrc_settings(path: str) -> dict[str, Any]:
    """Return the file's variables in openstacksdk's form."""
    openrc_values = openrc.read_openrc(path)
    environment = {name: value for name, value in os.environ.items() if name == "OS_PASSWORD"}
    needless = {"OS_PASSWORD", "OS_PASSWORD_INPUT"}
    if missing := [name for name in openrc_values.unresolved if name not in needless]:
        raise ConfigError(
            f"openrc file {path}: {', '.join(missing)} needs a shell (`$...`, a command), which nodrop does not run; "
            "write the values, or load the file in your shell (`. FILE`) and omit it here"
        )
    values = {**environment, **openrc_values.values}
    return {name.removeprefix("OS_").lower(): value for name, value in values.items() if name not in {"OS_CLOUD"}}


def _find_name(login: CloudLogin, config: Mapping[str, Any]) -> str:
    cloud_name = login.cloud or (None if login.openrc else os.environ.get("OS_CLOUD"))
    return cloud_name or urlsplit(str((config.get("auth") or {}).get("auth_url", ""))).hostname or "unnamed"


def _needs_password(auth: Mapping[str, Any]) -> bool:
    return bool(auth.get("username") or auth.get("user_id")) and not auth.get("password")


def _read_password(login_source: str, auth: Mapping[str, Any]) -> str:
    """Return the password from the environment or the terminal. Only the SDK keeps it."""
    if password := os.environ.get("OS_PASSWORD"):
        return password
    user = auth.get("username") or auth.get("user_id")
    if not (sys.stdin and sys.stdin.isatty()):
        raise ConfigError(
            f"{login_source}: no password of user {user} and no terminal to read it from; set OS_PASSWORD"
        )
    from getpass import getpass

    return getpass(f"Password of {user}: ")


def _refuse_v2(name: str, config: Mapping[str, Any]) -> None:
    url = str((config.get("auth") or {}).get("auth_url", ""))
    version = str(config.get("identity_api_version") or "3")
    if version.startswith("2") or url.rstrip("/").endswith("/v2.0"):
        raise ConfigError(
            f"cloud {name}: version 2 of Keystone's API is not supported ({url}; Keystone dropped it in 2017); use "
            "version 3's address, which ends in /v3"
        )


def _request_access(name: str, region: Any, session: Any) -> Any:
    """Return the contents of the token. Raises StageError."""
    url = (region.config.get("auth") or {}).get("auth_url", "its identity service")
    try:
        access = session.auth.get_access(session)
    except Exception as error:
        raise StageError(
            f"cloud {name}: cannot log in at {url}: {_explain_login_failure(error, region.config)}"
        ) from error
    if not access.project_id:
        raise StageError(f"cloud {name}: the token is for no project; name one (OS_PROJECT_NAME, project_name)")
    return access


def _explain_login_failure(error: Exception, config: Mapping[str, Any]) -> str:
    from keystoneauth1 import exceptions as known

    message = extract_service_message(error)
    auth = config.get("auth") or {}
    user = auth.get("username") or auth.get("user_id") or "this user"
    project = auth.get("project_name") or auth.get("project_id") or "its project"
    if any(isinstance(each, known.SSLError) for each in _list_causes(error)):
        return f"its certificate is not trusted: {message}; name the authority's file (cacert, OS_CACERT)"
    if isinstance(error, known.Unauthorized):
        return (
            f"it rejects {user} in project {project}: {message}; check the name, the password, the domains "
            "(user_domain_name, project_domain_name) and the project"
        )
    if isinstance(error, known.ConnectFailure | known.ConnectTimeout | known.DiscoveryFailure):
        return f"it cannot be reached: {message}; check its address and the network in between"
    return f"it replied: {message}"


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes: a failed version discovery may result from a failed connection."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _require_services(name: str, region: Any, access: Any) -> None:
    catalogue = access.service_catalog
    scope = {"region_name": region.region_name or None, "interface": region.get_interface()}
    services = {kind for kind, endpoints in catalogue.get_endpoints(**scope).items() if endpoints}
    lacking = [kind for kind in SERVICES if kind not in services]
    if lacking:
        raise StageError(
            f"cloud {name}: the catalog has no {', '.join(lacking)} "
            f"(services: {', '.join(sorted(services)) or 'none'}) in region {region.region_name or 'any'}; "
            "check the region (region_name, OS_REGION_NAME) and the interface"
        )


def _is_answer_lost(error: Exception) -> bool:
    """Return whether the request may have been carried out without its reply arriving."""
    from keystoneauth1.exceptions import RetriableConnectionFailure

    return find_http_status(error) in UNAVAILABLE or isinstance(error, RetriableConnectionFailure)
