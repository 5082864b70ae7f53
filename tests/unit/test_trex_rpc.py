"""Messages to and from a TRex server, and failures there, with a minimal server."""

import json
import socket
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.trex_responder import Error, NoAnswer, Responder

from nodrop.errors import GeneratorError
from nodrop.generator.trex.rpc import (
    RpcCall,
    RpcClient,
    TrexNoReply,
    TrexPortsInUse,
    TrexRefused,
    TrexVersionError,
    pack,
    unpack,
)
from nodrop.generator.trex.session import TrexSession
from nodrop.model.trex import TrexPlan


@contextmanager
def client(methods: dict[str, Any], timeout_s: float = 5.0) -> Iterator[tuple[RpcClient, Responder]]:
    with Responder(methods) as server:
        rpc = RpcClient("127.0.0.1", server.port, timeout_s)
        try:
            yield rpc, server
        finally:
            rpc.close()


def answer_in_order(*answers: Any) -> Any:
    """Return a method that returns these values in order."""
    left = list(answers)

    def method(_: dict[str, Any]) -> Any:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return method


def test_a_request_carries_its_parameters_and_gives_its_result() -> None:
    with client({"ping": lambda params: {"ts": params["x"]}}) as (rpc, server):
        assert rpc.call("ping", {"x": 7}) == {"ts": 7}
        assert server.requests == [("ping", {"x": 7})]


def test_a_long_request_is_compressed_and_so_is_its_answer() -> None:
    """Header and magic: TRex RPC specification."""
    with client({"echo": lambda params: params}) as (rpc, server):
        text = "x" * 5000
        assert rpc.call("echo", {"text": text}) == {"text": text}
        assert rpc.call("echo", {"text": "x"}) == {"text": "x"}
        assert server.compressed == [True, False]


def test_messages_are_framed_as_trex_frames_them() -> None:
    body = b"{}" * 3000
    assert pack(body) == struct.pack(">II", 0xABE85CEA, 6000) + zlib.compress(body)
    assert unpack(pack(body)) == body
    assert unpack(b"{}") == b"{}"
    with pytest.raises(ValueError, match="2 bytes instead of 6000"):
        unpack(struct.pack(">II", 0xABE85CEA, 6000) + zlib.compress(b"{}"))


def test_a_batch_of_one_is_answered_with_a_bare_object() -> None:
    with client({"ping": lambda _: {"ts": 1}}) as (rpc, _):
        assert rpc.batch([RpcCall("ping", {})]) == [{"ts": 1}]


def test_results_of_a_batch_are_in_the_order_asked() -> None:
    with client({"twice": lambda params: 2 * params["n"]}) as (rpc, _):
        assert rpc.batch([RpcCall("twice", {"n": n}) for n in range(5)]) == [0, 2, 4, 6, 8]


def test_a_batch_that_is_too_long_goes_in_several_messages() -> None:
    with client({"add_stream": lambda _: None}) as (rpc, server):
        rpc.batch([RpcCall("add_stream", {"text": "x" * 90_000})] * 20)
        assert len(server.requests) == 20
        assert len(server.compressed) == 4


def test_a_request_longer_than_a_server_takes_is_not_sent() -> None:
    with client({}) as (rpc, server):
        with pytest.raises(GeneratorError, match=r"add_stream is too large \(1000.* bytes, limit 999999\)"):
            rpc.call("add_stream", {"text": "x" * 1_000_000})
        assert server.requests == []


def test_a_refusal_is_given_in_the_servers_words() -> None:
    with client({"add_stream": answer_in_order(Error(-32602, "field 'isg' value is null"))}) as (rpc, _):
        with pytest.raises(TrexRefused, match="field 'isg' value is null") as caught:
            rpc.call("add_stream", {})
        assert (caught.value.method, caught.value.code) == ("add_stream", -32602)


def test_the_whole_of_a_batch_is_carried_out_though_one_of_it_is_refused() -> None:
    with client({"bad": answer_in_order(Error(-32000, "no")), "good": lambda _: 1}) as (rpc, server):
        with pytest.raises(TrexRefused):
            rpc.batch([RpcCall("bad", {}), RpcCall("good", {})])
        assert [method for method, _ in server.requests] == ["bad", "good"]


def test_a_server_that_says_try_again_is_asked_again() -> None:
    with client({"acquire": answer_in_order(Error(-32001, "busy"), Error(-32001, "busy"), "abc")}) as (rpc, _):
        assert rpc.call("acquire", {}) == "abc"


def test_work_in_progress_is_awaited_by_its_ticket() -> None:
    results = answer_in_order(Error(-32002, "17"), {"state": "IDLE"})
    with client({"get_port_status": answer_in_order(Error(-32002, "17")), "get_async_results": results}) as (
        rpc,
        server,
    ):
        assert rpc.call("get_port_status", {"api_h": "h"}) == {"state": "IDLE"}
        assert server.requests[1:] == [("get_async_results", {"ticket_id": 17, "api_h": "h"})] * 2


def test_reading_is_repeated_when_no_answer_comes_and_changing_is_not() -> None:
    stats = answer_in_order(NoAnswer(), {"opackets": 1})
    with client({"get_port_stats": stats, "start_traffic": answer_in_order(NoAnswer(), {})}, 0.2) as (rpc, server):
        assert rpc.call("get_port_stats", {}) == {"opackets": 1}
        with pytest.raises(TrexNoReply, match=r"no reply to start_traffic .*timeout after 0.2 s"):
            rpc.call("start_traffic", {})
        assert [method for method, _ in server.requests] == ["get_port_stats", "get_port_stats", "start_traffic"]


def test_a_connection_is_of_use_again_after_an_answer_that_never_came() -> None:
    with client({"acquire": answer_in_order(NoAnswer(), "abc")}, 0.2) as (rpc, _):
        with pytest.raises(TrexNoReply):
            rpc.call("acquire", {})
        assert rpc.call("acquire", {}) == "abc"


def test_something_else_at_the_port_is_told_from_a_server() -> None:
    with client({"ping": lambda _: json.loads('{"a": 1}')}) as (rpc, server):
        server._reply = lambda requested: {"error": requested["method"]}  # type: ignore[method-assign]
        with pytest.raises(GeneratorError, match="invalid reply from the TRex server"):
            rpc.call("ping", {})


PORTS = [
    {"index": 1, "driver": "net_ixgbe", "numa": 0, "hw_mac": "aa:aa:aa:aa:aa:02", "supp_speeds": [1000, 10000]},
    {"index": 0, "driver": "net_af_packet", "numa": -1, "hw_mac": "aa:aa:aa:aa:aa:01", "rx": {"counters": 127}},
]


def server_methods(api: tuple[int, int] = (5, 1), **others: Any) -> dict[str, Any]:
    def sync(params: dict[str, Any]) -> Any:
        if params["major"] != api[0]:
            raise Error(-32000, "API version mismatch")
        if params["minor"] > api[1]:
            raise Error(-32000, "client version is too new")
        return {"api_h": "handle12"}

    def status(params: dict[str, Any]) -> Any:
        ether = {"src": f"02:00:00:00:00:0{params['port_id']}"}
        return {"state": "IDLE", "attr": {"speed": 10 * params["port_id"], "layer_cfg": {"ether": ether}}}

    return {
        "get_version": lambda _: {"version": "v3.08", "mode": "STL", "build_date": "Oct 1 2025", "build_time": "12:00"},
        "api_sync_v2": sync,
        "get_system_info": lambda _: {"dp_core_count": 2, "port_count": 2, "ports": PORTS},
        "get_port_status": status,
        "acquire": lambda params: f"held{params['port_id']}",
        "release": lambda _: {},
        "stop_traffic": lambda _: {},
        "get_profile_list": lambda _: ["_", "other"],
        "remove_rx_filters": lambda _: {},
        "remove_all_streams": lambda _: {},
        "set_port_attr": lambda _: {},
    } | others


def plan(server: Responder, **others: Any) -> TrexPlan:
    return TrexPlan(rpc_port=server.port, **others)


@pytest.mark.parametrize(("api", "spoken"), [((5, 1), "5.1"), ((5, 7), "5.1"), ((5, 0), "5.0"), ((4, 8), "4.6")])
def test_an_interface_that_both_sides_speak_is_found(api: tuple[int, int], spoken: str) -> None:
    with Responder(server_methods(api)) as server, TrexSession(plan(server)) as session:
        assert (session.version, session.api, session.build) == ("v3.08", spoken, "Oct 1 2025 12:00")
        assert session.call("get_system_info")["dp_core_count"] == 2
        assert server.requests[-1] == ("get_system_info", {"api_h": "handle12"})


def test_a_server_of_another_major_version_is_named() -> None:
    with Responder(server_methods((6, 0))) as server, pytest.raises(TrexVersionError, match=r"v3.08 at .*5\.1: API"):
        TrexSession(plan(server)).__enter__()


def test_a_server_in_another_mode_is_named() -> None:
    astf = server_methods(get_version=lambda _: {"version": "v3.08", "mode": "ASTF"})
    with (
        Responder(astf) as server,
        pytest.raises(TrexVersionError, match=r"runs in mode ASTF .*start it without --astf"),
    ):
        TrexSession(plan(server)).__enter__()


def test_a_port_where_nobody_listens_is_named_at_once() -> None:
    with socket.socket() as methods:
        methods.bind(("127.0.0.1", 0))
        port = methods.getsockname()[1]
        with pytest.raises(TrexNoReply, match=f"no TRex server at 127.0.0.1, port {port} .*start one there"):
            TrexSession(TrexPlan(rpc_port=port)).__enter__()


def test_ports_are_told_by_their_number_whatever_their_order() -> None:
    with Responder(server_methods()) as server, TrexSession(plan(server)) as session:
        first, second = session.ports
        assert (first.number, first.mac, first.speed_bps, first.numa_node) == (0, "02:00:00:00:00:00", None, None)
        assert (second.number, second.speed_bps, second.driver) == (1, 10**10, "net_ixgbe")
        assert (session.counter_count(0), session.counter_count(1)) == (127, None)
        with pytest.raises(GeneratorError, match=r"trex.ports: port 7 does not exist .* its ports are 0, 1"):
            session.port(7)


def test_ports_are_taken_swept_and_released_again() -> None:
    with Responder(server_methods()) as server:
        with TrexSession(plan(server, user="me")) as session:
            ports = session.acquire_ports([0, 1])
            assert [port.handler for port in ports] == ["held0", "held1"]
            before = len(server.requests)
        used = [params for method, params in server.requests if method == "acquire"]
        assert [(params["user"], params["force"], params["port_id"]) for params in used] == [
            ("me", True, 0),
            ("me", True, 1),
        ]
        swept = [method for method, params in server.requests[:before] if params.get("port_id") == 0]
        removal = ["remove_rx_filters", "remove_all_streams"] * 2
        assert swept[1:8] == ["stop_traffic", "get_profile_list", *removal, "get_port_status"]
        named = [params["profile_id"] for method, params in server.requests if method == "remove_all_streams"]
        assert named[:2] == named[-2:] == ["_", "other"]
        left = [(method, params["port_id"], params["handler"]) for method, params in server.requests[before:]]
        assert left[6] == ("release", 0, "held0")
        assert left[-1] == ("release", 1, "held1")


def test_ports_are_released_though_the_server_refuses_to_stop() -> None:
    def refuse(_: dict[str, Any]) -> Any:
        raise Error(-32000, "no")

    with Responder(server_methods(stop_traffic=refuse)) as server:
        with TrexSession(plan(server)) as session:
            session.acquire_ports([0])
        assert server.requests[-1][0] == "release"


def test_a_port_in_service_mode_is_brought_out_of_it() -> None:
    captures = [{"id": 3, "filter": {"tx": 0, "rx": 1}}, {"id": 4, "filter": {"tx": 2, "rx": 2}}]
    methods = server_methods(
        get_port_status=lambda _: {"service": True},
        set_rx_feature=lambda _: {},
        capture=lambda params: captures if params["command"] == "status" else {},
        service=lambda _: {},
    )
    with Responder(methods) as server, TrexSession(plan(server)) as session:
        session.acquire_ports([0])
        removed = [params["capture_id"] for method, params in server.requests if params.get("command") == "remove"]
        assert removed == [3]
        assert ("service", False) in [(method, params.get("enabled")) for method, params in server.requests]


def test_whoever_holds_a_port_is_named() -> None:
    methods = server_methods(acquire=answer_in_order(Error(-32000, "port is already taken by 'anna'")))
    with Responder(methods) as server, TrexSession(plan(server, take_over=False)) as session:
        used = pytest.raises(TrexPortsInUse, match="already taken by 'anna'; wait until that user is done")
        with used:
            session.acquire_ports([0])


def test_a_port_that_was_taken_meanwhile_is_named() -> None:
    lost = server_methods(start_traffic=answer_in_order(Error(-32000, "port is not owned by you")))
    with Responder(lost) as server, TrexSession(plan(server)) as session:
        (port,) = session.acquire_ports([0])
        with pytest.raises(TrexPortsInUse, match="another user acquired them during the run"):
            port.call("start_traffic", duration=1)
