"""A session with a TRex server: handshake, port list, port ownership."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from nodrop.errors import GeneratorError
from nodrop.generator.trex.rpc import (
    RpcCall,
    RpcClient,
    TrexNoReply,
    TrexPortsInUse,
    TrexRefused,
    TrexVersionError,
    connection_error,
)
from nodrop.model.trex import TrexPlan, TrexPort
from nodrop.system.log_files import LOGGER

APIS = ((5, 1), (5, 0), (4, 6))
"""Supported versions, newest first. A server accepts its own major version and minor versions up to its own."""
ALL_PROFILES = "*"
PROFILE = "_"


class PortHandle:
    """A port for requests; those that change it require its acquisition."""

    def __init__(self, session: "TrexSession", number: int) -> None:
        self._session = session
        self.number = number
        self.handler: str | None = None
        """Token of the acquisition; None: not acquired."""

    def request(self, method: str, **params: Any) -> RpcCall:
        """Return a request about the port, for a batch."""
        owner = {} if self.handler is None else {"handler": self.handler}
        return self._session.request(method, port_id=self.number, **owner, **params)

    def call(self, method: str, **params: Any) -> Any:
        """Send a request about the port and return its result. Raises GeneratorError."""
        return self._session.batch([self.request(method, **params)])[0]


class TrexSession:
    """A connection after a handshake; acquired ports are released at its end."""

    def __init__(self, plan: TrexPlan) -> None:
        """Prepare a session; entering it connects."""
        self._plan = plan
        self._rpc = RpcClient(plan.host, plan.rpc_port, plan.timeout_s)
        self._number = secrets.randbits(32)
        self._handle = ""
        self._handles: dict[int, PortHandle] = {}
        self._version_info: dict[str, Any] = {}
        self._system: dict[str, Any] = {}
        self._ports: tuple[TrexPort, ...] = ()
        self.api = ""
        """Version of the API in use: `5.1`."""

    def __enter__(self) -> Self:
        """Connect. Raises TrexNoReply; TrexVersionError."""
        try:
            self._check_reachable()
            self._handshake()
            self._system = self.call("get_system_info")
        except BaseException:
            self._rpc.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop traffic, clean and release acquired ports; never raises GeneratorError."""
        self.release()
        self._rpc.close()

    @property
    def version(self) -> str:
        """Version of the server: `v3.08`."""
        return str(self._version_info.get("version", "of unknown version"))

    @property
    def build(self) -> str:
        """Build date of the server, as it reports it."""
        return " ".join(
            str(self._version_info[key]) for key in ("build_date", "build_time") if self._version_info.get(key)
        )

    @property
    def core_count(self) -> int:
        """Sending threads of all ports together."""
        return int(self._system.get("dp_core_count", 1))

    @property
    def ports(self) -> tuple[TrexPort, ...]:
        """All of the server's ports, by number."""
        if not self._ports:
            self._ports = self._read_ports()
        return self._ports

    def counter_count(self, number: int) -> int | None:
        """Return the number of streams that a port can count individually; None if not reported."""
        counters = self._port_info(number).get("rx", {}).get("counters")
        return None if counters is None else int(counters)

    def request(self, method: str, **params: Any) -> RpcCall:
        """Return a request, for a batch."""
        return RpcCall(method, {"api_h": self._handle, **params} if self._handle else params)

    def call(self, method: str, **params: Any) -> Any:
        """Send a request and return its result. Raises GeneratorError."""
        return self.batch([self.request(method, **params)])[0]

    def batch(self, calls: Sequence[RpcCall]) -> list[Any]:
        """Send requests that are carried out in sequence, and return their results. Raises GeneratorError."""
        try:
            return self._rpc.batch(calls)
        except TrexRefused as refusal:
            raise self._rename_error(refusal) from None

    def port(self, number: int) -> PortHandle:
        """Return a port by TRex's number. Raises GeneratorError if it does not exist."""
        if number not in self._handles:
            self._port_info(number)
            self._handles[number] = PortHandle(self, number)
        return self._handles[number]

    def acquire_ports(self, numbers: Sequence[int]) -> list[PortHandle]:
        """Acquire ports, by force if planned, and clean what their last owner left running. Raises: TrexPortsInUse."""
        handles = [self.port(number) for number in numbers]
        for handle in handles:
            call = handle.request("acquire", user=self._plan.user, session_id=self._number, force=self._plan.take_over)
            handle.handler = str(self.batch([call])[0])
        for handle in handles:
            self._clean_port(handle)
            self._enable_promiscuous(handle)
        return handles

    def release(self) -> None:
        """Stop traffic, clean the acquired ports and release them."""
        acquired = [handle for handle in self._handles.values() if handle.handler is not None]
        with suppress(GeneratorError):
            for handle in acquired:
                self._remove_traffic(handle)
                self._request_if_permitted(handle, "release")
        for handle in acquired:
            handle.handler = None

    def _check_reachable(self) -> None:
        """Check that the server listens: ZeroMQ itself would wait silently. Raises TrexNoReply."""
        plan = self._plan
        fault = connection_error(plan.host, plan.rpc_port, plan.timeout_s)
        if fault:
            raise TrexNoReply(
                f"no TRex server at {plan.host}, port {plan.rpc_port} ({fault.strerror or 'no reply'}); start one "
                "there (t-rex-64 -i), set its address (trex.host, trex.rpc_port), or let nodrop start it (trex.start)"
            )

    def _handshake(self) -> None:
        self._version_info = self.call("get_version")
        mode = self._version_info.get("mode", "STL")
        if mode != "STL":
            raise TrexVersionError(
                f"the TRex server at {self._rpc.address} ({self.version}) runs in mode {mode} instead of stateless "
                "mode; start it without --astf (t-rex-64 -i)"
            )
        refusals = []
        for major, minor in APIS:
            try:
                answer = self._rpc.call("api_sync_v2", {"name": "STL", "major": major, "minor": minor})
            except TrexRefused as refusal:
                refusals.append(f"{major}.{minor}: {refusal.reason}")
                continue
            self._handle, self.api = str(answer["api_h"]), f"{major}.{minor}"
            return
        raise TrexVersionError(
            f"TRex {self.version} at {self._rpc.address} supports none of nodrop's API versions "
            f"({'; '.join(refusals)}); use a release from v2.89 to v3.08"
        )

    def _port_info(self, number: int) -> dict[str, Any]:
        """Return the server's description of a port; its list is unordered."""
        ports: list[dict[str, Any]] = self._system["ports"]
        for port in ports:
            if port["index"] == number:
                return port
        numbers = ", ".join(str(port["index"]) for port in sorted(ports, key=lambda port: port["index"]))
        raise GeneratorError(
            f"trex.ports: port {number} does not exist on the TRex server at {self._rpc.address}; its ports are "
            f"{numbers or 'none'}"
        )

    def _read_ports(self) -> tuple[TrexPort, ...]:
        numbers = sorted(port["index"] for port in self._system["ports"])
        requested = [self.request("get_port_status", port_id=number, block=False) for number in numbers]
        states = self.batch(requested)
        return tuple(_port(self._port_info(number), state) for number, state in zip(numbers, states, strict=True))

    def _clean_port(self, handle: PortHandle) -> None:
        """Clean a port: a client that died leaves its traffic running."""
        self._remove_traffic(handle)
        if handle.call("get_port_status", block=False).get("service"):
            self._end_service(handle)

    def _remove_traffic(self, handle: PortHandle) -> None:
        """Stop a port, and remove filters and streams of each of its profiles.

        `*` names all profiles for `stop_traffic` only: `remove_rx_filters` refuses it, and `remove_all_streams` answers
        OK and removes nothing. Streams that stay keep their packet group ids, which the next client may need.
        """
        self._request_if_permitted(handle, "stop_traffic", profile_id=ALL_PROFILES)
        for profile in self._request_if_permitted(handle, "get_profile_list") or (PROFILE,):
            self._request_if_permitted(handle, "remove_rx_filters", profile_id=profile)
            self._request_if_permitted(handle, "remove_all_streams", profile_id=profile)

    def _request_if_permitted(self, handle: PortHandle, method: str, **params: Any) -> Any:
        """Send a request about a port and return its result; None if the server refuses it in the port's state."""
        with suppress(TrexRefused):
            return self._rpc.batch([handle.request(method, **params)])[0]
        return None

    def _enable_promiscuous(self, handle: PortHandle) -> None:
        """Accept frames for any MAC address, as chains use other addresses than the port's."""
        try:
            handle.call("set_port_attr", attr={"promiscuous": {"enabled": True}})
        except TrexRefused as refusal:
            LOGGER.warning(
                "TRex's port %d receives only frames for its own MAC address: %s", handle.number, refusal.reason
            )

    def _end_service(self, handle: PortHandle) -> None:
        handle.call("set_rx_feature", type="queue", enabled=False)
        for capture in self.call("capture", command="status") or ():
            ports = capture.get("filter", {})
            if (ports.get("tx", 0) | ports.get("rx", 0)) >> handle.number & 1:
                self.call("capture", command="remove", capture_id=capture["id"])
        handle.call("service", enabled=False)

    def _rename_error(self, refusal: TrexRefused) -> GeneratorError:
        """Return a more specific error for refusals about port ownership."""
        problem = f"ports of the TRex server at {self._rpc.address} are not available for user {self._plan.user}"
        if "API handler" in refusal.reason:
            return TrexNoReply(
                f"the TRex server at {self._rpc.address} was restarted during the run; see its log for why it ended"
            )
        if "not owned by you" in refusal.reason or "please acquire" in refusal.reason:
            return TrexPortsInUse(f"{problem}: another user acquired them during the run; coordinate with that user")
        if "already taken" in refusal.reason or "already owned" in refusal.reason:
            return TrexPortsInUse(
                f"{problem}: {refusal.reason}; wait until that user is done, or acquire them by force "
                "(trex.take_over: true)"
            )
        return refusal


def _port(reported: dict[str, Any], state: dict[str, Any]) -> TrexPort:
    """Return a port from the replies to `get_system_info` and `get_port_status`; the latter reports speed in Gb/s."""
    attributes = state.get("attr", {})
    speed_gbps = float(attributes.get("speed") or 0)
    speeds_mbps = [int(speed) for speed in reported.get("supp_speeds") or ()]
    speed_bps = round(speed_gbps * 1e9) or max(speeds_mbps, default=0) * 10**6
    mac = (
        attributes.get("layer_cfg", {}).get("ether", {}).get("src")
        or reported.get("src_macaddr")
        or reported.get("hw_mac")
    )
    return TrexPort(
        number=reported["index"],
        mac=str(mac or ""),
        speed_bps=speed_bps or None,
        driver=str(reported.get("driver", "")),
        description=str(reported.get("description", "")),
        numa_node=reported.get("numa") if isinstance(reported.get("numa"), int) and reported["numa"] >= 0 else None,
        is_virtual=bool(reported.get("is_virtual", False)),
    )
