"""The settings that a loopback VM receives."""

import yaml

from nodrop.model.cloud import CloudPort, CloudRoute, CloudServer
from nodrop.stage.openstack.guest_config import (
    CONF,
    GuestFacts,
    build_user_data,
    compute_user_data_digest,
    list_neighbors,
)

PORTS = (CloudPort(name="p0", network="left"), CloudPort(name="p1", network="right"))
BRIDGE = CloudServer(name="vm", chain=0, ports=PORTS)
ROUTER = CloudServer(
    name="vm",
    chain=0,
    ports=PORTS,
    forwarder="vpp",
    addresses=("192.168.1.1/24", "192.168.2.1/24"),
    routes=(
        CloudRoute(prefix="16.0.0.0/8", via="192.168.1.254"),
        CloudRoute(prefix="48.0.0.0/8", via="192.168.2.254"),
    ),
)
MACS = ("fa:16:3e:00:00:01", "fa:16:3e:00:00:02")
TESTER = ("02:00:00:00:00:01", "02:00:00:00:00:02")


def parse_user_data(text: str) -> dict[str, str]:
    """Return the file's lines as cloud-init would write them."""
    assert text.startswith("#cloud-config\n")
    [content] = yaml.safe_load(text)["write_files"]
    assert content["path"] == CONF == "/etc/nfvbenchvm.conf"
    return dict(line.split("=", 1) for line in content["content"].splitlines())


def test_a_cross_connect_is_told_its_macs_and_whom_it_sends_to() -> None:
    assert parse_user_data(build_user_data(BRIDGE, GuestFacts(MACS, TESTER), queue_count=2)) == {
        "FORWARDER": "vnf-l2",
        "INTF_MAC1": MACS[0],
        "TG_MAC1": TESTER[0],
        "INTF_MAC2": MACS[1],
        "TG_MAC2": TESTER[1],
        "VIF_MQ_SIZE": "2",
    }


def test_a_router_is_told_its_addresses_and_what_is_behind_which_neighbor() -> None:
    lines = parse_user_data(build_user_data(ROUTER, GuestFacts(MACS, (None, None)), mbuf_count=32768))
    assert lines == {
        "FORWARDER": "vpp",
        "INTF_MAC1": MACS[0],
        "TG_MAC1": "00:00:00:00:00:00",
        "VNF_GATEWAY1_CIDR": "192.168.1.1/24",
        "TG_NET1": "16.0.0.0/8",
        "TG_GATEWAY1_IP": "192.168.1.254",
        "INTF_MAC2": MACS[1],
        "TG_MAC2": "00:00:00:00:00:00",
        "VNF_GATEWAY2_CIDR": "192.168.2.1/24",
        "TG_NET2": "48.0.0.0/8",
        "TG_GATEWAY2_IP": "192.168.2.254",
        "VIF_MQ_SIZE": "1",
        "NUM_MBUFS": "32768",
    }


def test_a_port_of_management_is_told_with_its_address() -> None:
    guest = GuestFacts(MACS, TESTER, management=("fa:16:3e:00:00:03", "10.0.0.5/24", "10.0.0.1"))
    lines = parse_user_data(build_user_data(BRIDGE, guest))
    assert lines["INTF_MAC_MGMT"] == "fa:16:3e:00:00:03"
    assert lines["INTF_MGMT_CIDR"] == "10.0.0.5/24"
    assert lines["INTF_MGMT_IP_GW"] == "10.0.0.1"


def test_a_shell_that_is_given_all_lines_as_one_finds_every_value() -> None:
    content = build_user_data(ROUTER, GuestFacts(MACS, TESTER))
    values = "".join(value for value in parse_user_data(content).values())
    assert not set(values) & set(" #'\"$`;&|<>()*?[]\\")


def test_a_vm_sends_to_the_vms_beside_it_and_at_the_ends_to_the_tester() -> None:
    first, second = BRIDGE, BRIDGE.model_copy(update={"hop": 1})
    macs = [("a0", "a1"), ("b0", "b1")]
    assert list_neighbors((first, second), 0, macs, TESTER) == (TESTER[0], "b0")
    assert list_neighbors((first, second), 1, macs, TESTER) == ("a1", TESTER[1])


def test_whatever_a_vm_is_told_otherwise_has_another_digest() -> None:
    one, other = (build_user_data(BRIDGE, GuestFacts(MACS, ends)) for ends in (TESTER, TESTER[::-1]))
    assert compute_user_data_digest(one) != compute_user_data_digest(other)
    assert compute_user_data_digest(one) == compute_user_data_digest(build_user_data(BRIDGE, GuestFacts(MACS, TESTER)))
