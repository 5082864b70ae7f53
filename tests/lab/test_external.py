"""An external SUT between interfaces that the tests create in a separate network namespace."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege", "require_root")]

CREATE_PORTS = """
ip link set lo up
ip link add left type veth peer name near
ip link add right type veth peer name far
for name in left near right far; do ip link set $name up; done
"""
"""Ports `left` and `right`, connected to the SUT's `near` and `far`."""
FLAGS = ("--rate", "4kpps", "--duration", "0.3s", *FULL_RATE, "--results-dir", "results", "--json", "-")


class Namespace:
    """A network namespace without a name: it ends with its last process."""

    def __init__(self, pid: int, directory: Path) -> None:
        self.pid = pid
        self._directory = directory

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        inside = ["nsenter", "--net", "--target", str(self.pid), *command]
        return subprocess.run(
            inside, capture_output=True, text=True, timeout=stretch(180), check=False, cwd=self._directory
        )

    def nodrop(self, *flags: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "nodrop", "run", *flags, *FLAGS)

    @contextlib.contextmanager
    def forwarding(self, *arguments: str) -> Iterator[int]:
        """Run nodrop-vnf as the SUT; yield its pid."""
        program = Path(sys.executable).parent / "nodrop-vnf"
        command = ["nsenter", "--net", "--target", str(self.pid), str(program), *arguments]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert b"ready" in process.stdout.readline()
            yield process.pid
            process.kill()


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Namespace]:
    command = ["unshare", "--net", "sh", "-ec", f"{CREATE_PORTS} echo ready; exec sleep 300"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"ready\n"
        yield Namespace(holder.pid, tmp_path)
        holder.kill()


def read_mac(namespace: Namespace, name: str) -> str:
    (link,) = json.loads(namespace.run("ip", "-json", "link", "show", name).stdout)
    return str(link["address"])


def forward_layer_2(namespace: Namespace, *flags: str) -> contextlib.AbstractContextManager[int]:
    left, right = read_mac(namespace, "left"), read_mac(namespace, "right")
    return namespace.forwarding("l2", "--port", f"near,peer={left}", "--port", f"far,peer={right}", *flags)


def parse_result(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def test_frames_leave_with_the_ports_own_addresses_and_pass_what_is_there(namespace: Namespace) -> None:
    with forward_layer_2(namespace):
        result = parse_result(namespace.nodrop("--sut", "ext", "--set", "ports=[left, right]"))
    plan, facts = result["plan"], result["facts"]
    assert isinstance(plan, dict) and isinstance(facts, dict)
    sources = [stream["layers"][0]["src"] for stream in plan["traffic"]["streams"]]
    assert sources == [read_mac(namespace, "left"), read_mac(namespace, "right")]
    # Not even about the unknown speed of a port; other tests may measure at the same time.
    assert [each for each in plan["warnings"] if not each.startswith("another run measured")] == []
    (trial,) = result["trials"]  # type: ignore[misc]
    assert all(stream["received_count"] == stream["offered_count"] > 0 for stream in trial["streams"])
    assert facts["stage"]["sut_pid"] == 0 and len(facts["stage"]["interfaces"]) == 2
    places = [hop["place"] for hop in trial["ledger"]["ways"][0]["hops"]]
    assert "the SUT, left → right" in places


@pytest.mark.parametrize("vlans", [(111,), (111, 112)])
def test_a_loopback_by_vlans_over_named_ports_carries_every_chain(namespace: Namespace, vlans: tuple[int, ...]) -> None:
    keys = (f"vlans={[list(vlans)] * 2}", f"chains={len(vlans)}", "ports=[left, right]")
    with forward_layer_2(namespace):
        result = parse_result(namespace.nodrop("--sut", "wire", *(word for key in keys for word in ("--set", key))))
    (trial,) = result["trials"]  # type: ignore[misc]
    assert len(trial["streams"]) == 2 * len(vlans)
    assert all(stream["received_count"] == stream["offered_count"] > 0 for stream in trial["streams"])


@pytest.mark.parametrize(
    ("before", "flags", "sentence"),
    [
        ("", ("--set", "ports=[left, wrong]"), "ports: wrong does not exist in this network namespace"),
        ("ip link set right down", ("--set", "ports=[left, right]"), "ports: right is down"),
        ("ip link set far down", ("--set", "ports=[left, right]"), "ports: right has no link"),
        (
            "ip addr add 192.0.2.1/24 dev left",
            ("--set", "ports=[left, right]"),
            "ports: left has the IP address 192.0.2.1",
        ),
        (
            "ip route add 192.0.2.0/24 dev left",
            ("--set", "ports=[left, right]"),
            "ports: left carries a route of this host",
        ),
        (
            "",
            ("--set", "ports=[left, right]", "--frame-bytes", "2000"),
            "is too small for packets of 1982 bytes (1500)",
        ),
    ],
)
def test_ports_that_cannot_or_should_not_be_used_are_refused(
    namespace: Namespace, before: str, flags: tuple[str, ...], sentence: str
) -> None:
    if before:
        assert namespace.run("sh", "-c", before).returncode == 0
    done = namespace.nodrop("--sut", "ext", *flags)
    assert done.returncode == 3 and sentence in done.stderr and "Traceback" not in done.stderr
    assert namespace.run("ip", "-br", "link", "show", "left").stdout.startswith("left@near")


def test_addressed_ports_are_used_when_that_is_wanted(namespace: Namespace) -> None:
    assert namespace.run("ip", "addr", "add", "192.0.2.1/24", "dev", "left").returncode == 0
    with forward_layer_2(namespace):
        flags = ("--set", "ports=[left, right]", "--set", "allow_addressed_ports=true")
        parse_result(namespace.nodrop("--sut", "ext", *flags))


def test_gateways_that_are_there_are_asked_for_and_ask_for_the_testers(namespace: Namespace) -> None:
    """Like NFVbench's EXT chains with ARP: only the router's addresses are known."""
    router = [
        *("--port", "near,mac=02:00:00:00:05:01,address=192.168.1.1"),
        *("--port", "far,mac=02:00:00:00:05:02,address=192.168.2.1"),
        *("--route", "10.0.0.0/8,via=192.168.1.100,port=near", "--route", "20.0.0.0/8,via=192.168.2.100,port=far"),
    ]
    keys = {
        "ports": "[left, right]",
        "flows.ip": "10.0.0.0/8,20.0.0.0/8",
        "gateways.tester": "192.168.1.100,192.168.2.100",
        "gateways.sut": "192.168.1.1,192.168.2.1",
    }
    flags = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    with namespace.forwarding("l3", *router):
        result = parse_result(namespace.nodrop("--sut", "ext", *flags))
        silent = namespace.nodrop("--sut", "ext", *flags, "--set", "gateways.sut=192.168.1.9,192.168.2.1")
    facts = result["facts"]
    assert isinstance(facts, dict)
    assert [port["next_hop"]["mac"] for port in facts["ports"]] == ["02:00:00:00:05:01", "02:00:00:00:05:02"]
    (trial,) = result["trials"]  # type: ignore[misc]
    assert all(stream["received_count"] == stream["offered_count"] > 0 for stream in trial["streams"])
    assert silent.returncode == 4
    assert "for 192.168.1.9 by ARP from 192.168.1.100" in silent.stderr


def test_a_server_measures_what_is_between_the_ports_of_its_own_configuration(namespace: Namespace) -> None:
    configuration = "{sut: ext, ports: [left, right], rate: 4kpps, duration: 0.3s, engine: {catch_up: 60s}}"
    nodrop = f"{sys.executable} -m nodrop"
    asking = f"until {nodrop} client --url http://127.0.0.1:7599 version; do sleep 0.1; done"
    session = f"""
        {nodrop} serve --port 7599 -c '{configuration}' >server.log 2>&1 & server=$!
        {{ {asking}; }} >/dev/null 2>&1
        {nodrop} client --url http://127.0.0.1:7599 run; code=$?
        kill $server; wait $server; exit $code
    """
    with forward_layer_2(namespace):
        done = namespace.run("bash", "-c", session)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lab external is up" in done.stdout
    assert "1,200 frames were sent in 0.3 s" in done.stdout


def test_processes_of_the_sut_may_be_named(namespace: Namespace) -> None:
    flags = ("--sut", "ext", "--ports", "left,right")
    with forward_layer_2(namespace) as pid:
        result = parse_result(namespace.nodrop(*flags, "--sut-pid", str(pid)))
    facts, plan = result["facts"], result["plan"]
    assert isinstance(facts, dict) and isinstance(plan, dict)
    assert [(each["name"], each["pid"]) for each in facts["stage"]["sut_processes"]] == [(f"nodrop-vnf ({pid})", pid)]
    assert plan["search"]["excludes_disturbed"]
    gone = namespace.nodrop(*flags, "--sut-pid", str(pid))
    assert (gone.returncode, f"sut_pids: no process {pid} runs" in gone.stderr) == (3, True)
