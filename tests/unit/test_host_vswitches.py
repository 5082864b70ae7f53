"""Virtual switches, from the output of their tools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.pci_trees import MOMENT, PciTree, RecordedNetwork, build_two_sockets, source

from nodrop.host import nat, vswitches
from nodrop.host.inputs import ProgramOutput
from nodrop.host.network import KernelInterface
from nodrop.model.chd import VSwitch

OVS_COMMAND = "ovs-vsctl --timeout=1 --format=json -- list Open_vSwitch -- list Bridge -- list Port -- list Interface"
NFT_COMMAND = "nft --json list ruleset"
NO_RULES = '{"nftables": []}'


def table(*rows: Mapping[str, Any]) -> str:
    """Format a table as ovs-vsctl prints it: RFC 7047 section 5.1 for the values."""
    return json.dumps({"headings": list(rows[0]), "data": [list(row.values()) for row in rows]})


def ovs_map(**pairs: str) -> list[Any]:
    return ["map", [[key.replace("_", "-"), value] for key, value in pairs.items()]]


def reference(name: str) -> list[str]:
    return ["uuid", name]


def interface(name: str, kind: str = "", options: list[Any] | None = None, **ids: str) -> dict[str, Any]:
    return {
        "_uuid": reference(f"i-{name}"),
        "name": name,
        "type": kind,
        "options": options or ovs_map(),
        "external_ids": ovs_map(**ids),
    }


def database(root: Mapping[str, Any], bridge: Mapping[str, Any], *interfaces: Mapping[str, Any]) -> str:
    ports = [{"_uuid": reference(f"p-{each['name']}"), "interfaces": each["_uuid"]} for each in interfaces]
    record = {"ports": ["set", [each["_uuid"] for each in ports]], **bridge}
    return "\n".join((table(root), table(record), table(*ports), table(*interfaces)))


def root(**more: Any) -> dict[str, Any]:
    return {
        "ovs_version": "3.1.0",
        "dpdk_initialized": False,
        "other_config": ovs_map(),
        "external_ids": ovs_map(),
        **more,
    }


def describe_vswitches(
    tree: PciTree,
    programs: Mapping[str, str | ProgramOutput],
    interfaces: Mapping[str, KernelInterface] | None = None,
) -> tuple[VSwitch, ...]:
    network = RecordedNetwork(interfaces)
    return vswitches.describe_vswitches(source(tree.root, network, {NFT_COMMAND: NO_RULES, **programs}))


def with_ovs(tmp_path: Path, answer: str | ProgramOutput) -> tuple[VSwitch, ...]:
    tree = build_two_sockets(tmp_path)
    tree.write("/run/openvswitch/db.sock", "")
    return describe_vswitches(tree, {OVS_COMMAND: answer})


def test_a_machine_without_switches_has_none(tmp_path: Path) -> None:
    assert describe_vswitches(build_two_sockets(tmp_path), {}) == ()


def test_open_vswitch_with_dpdk_names_its_cards_cpus_and_ports_of_vms(tmp_path: Path) -> None:
    answer = database(
        root(dpdk_initialized=True, other_config=ovs_map(pmd_cpu_mask="0x30c", dpdk_init="true")),
        {"name": "br-phy", "datapath_type": "netdev"},
        interface("dpdk0", "dpdk", ovs_map(dpdk_devargs="0000:82:00.0")),
        interface("vhost0", "dpdkvhostuserclient", ovs_map(vhost_server_path="/run/vhost0")),
        interface("br-phy", "internal"),
        interface("tun0", "vxlan", ovs_map(remote_ip="192.0.2.9")),
        interface("rep0", "dpdk", ovs_map(dpdk_devargs="0000:82:00.1,representor=[0]")),
    )
    (switch,) = with_ovs(tmp_path, answer)
    assert (switch.name, switch.kind.value, switch.version.value) == ("br-phy", "ovs-dpdk", "3.1.0")
    assert switch.acceleration.value == "dpdk"
    assert switch.cpus.value == (2, 3, 8, 9)
    assert switch.ports.value == ("0000:82:00.0",)
    assert switch.virtual_interface_count.value == 2


def test_cpus_that_nobody_chose_are_not_guessed(tmp_path: Path) -> None:
    answer = database(
        root(dpdk_initialized=True), {"name": "br0", "datapath_type": "netdev"}, interface("br0", "internal")
    )
    (switch,) = with_ovs(tmp_path, answer)
    assert not switch.cpus.known
    assert switch.cpus.why.startswith("not set")


@pytest.mark.parametrize(
    ("more", "acceleration"), [({}, "none"), ({"other_config": ovs_map(hw_offload="true")}, "hardware")]
)
def test_the_kernels_datapath_is_as_fast_as_it_is_told(tmp_path: Path, more: dict[str, Any], acceleration: str) -> None:
    answer = database(root(**more), {"name": "br0", "datapath_type": "system"}, interface("ens3f0"))
    (switch,) = with_ovs(tmp_path, answer)
    assert (switch.kind.value, switch.acceleration.value, switch.ports.value) == ("ovs", acceleration, ("ens3f0",))


def test_the_integration_bridge_of_ovn_is_known_by_its_controller(tmp_path: Path) -> None:
    ids = ovs_map(ovn_remote="tcp:192.0.2.1:6642", ovn_encap_type="geneve")
    answer = database(
        root(external_ids=ids), {"name": "br-int", "datapath_type": ""}, interface("tap1", "", None, iface_id="port-1")
    )
    (switch,) = with_ovs(tmp_path, answer)
    assert (switch.kind.value, switch.virtual_interface_count.value) == ("ovn", 1)


@pytest.mark.parametrize(
    "answer",
    [
        ProgramOutput(None, "ovs-vsctl did not answer within 1 s"),
        "",
        "{}\n{}\n{}\n{}",
        "not JSON",
        '{"headings": ["name"], "data": [["a", "b"]]}\n' * 4,
        "[" * 100_000,
    ],
)
def test_open_vswitch_that_does_not_answer_is_there_and_unknown(tmp_path: Path, answer: str | ProgramOutput) -> None:
    (switch,) = with_ovs(tmp_path, answer)
    assert switch.kind.value == "ovs"
    assert not switch.version.known
    assert switch.version.why


def test_a_mask_that_is_none_is_unknown_with_what_it_is(tmp_path: Path) -> None:
    bad = root(dpdk_initialized=True, other_config=ovs_map(pmd_cpu_mask="all of them"))
    (switch,) = with_ovs(tmp_path, database(bad, {"name": "b", "datapath_type": "netdev"}, interface("b", "internal")))
    assert switch.cpus.why == "holds 'all of them', a mask expected"


VPP_THREADS = """\
ID     Name                Type        LWP     Sched Policy (Priority)  lcore  Core   Socket State
0      vpp_main                        1330    other (0)                4      2      0
1      vpp_wk_0            workers     1383    other (0)                6      3      0
2      vpp_wk_1            workers     1384    fifo (50)                8      4      0
"""
VPP_HARDWARE = """\
              Name                Idx   Link  Hardware
GigabitEthernet82/0/0              1     up   GigabitEthernet82/0/0
  Link speed: 10 Gbps
    pci: device 8086:1583 subsystem 8086:0001 address 0000:82:00.00 numa 1
VirtualEthernet0/0/0               2     up   VirtualEthernet0/0/0
  Link speed: unknown
local0                             0    down  local0
"""


def test_vpp_names_its_version_workers_and_cards(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    tree.write("/run/vpp/cli.sock", "")
    message = {
        "vppctl show version": "vpp v23.10-release built by root on 6a3 at 2023-10-25T12:14:13\n",
        "vppctl show threads": VPP_THREADS,
        "vppctl show hardware-interfaces": VPP_HARDWARE,
    }
    (switch,) = describe_vswitches(tree, message)
    assert (switch.kind.value, switch.version.value, switch.cpus.value) == ("vpp", "23.10-release", (6, 8))
    assert (switch.ports.value, switch.virtual_interface_count.value) == (("0000:82:00.0",), 1)


def test_vpp_that_does_not_answer_is_there_and_unknown(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    tree.write("/run/vpp/cli.sock", "")
    (switch,) = describe_vswitches(tree, {})
    assert switch.kind.value == "vpp"
    assert switch.version.why == "vppctl is not installed"


def with_bridge(tmp_path: Path, programs: Mapping[str, str | ProgramOutput], *addresses: str) -> VSwitch:
    tree = build_two_sockets(tmp_path)
    tree.write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64")
    tree.directory("/sys/class/net/vnet0")
    tree.bridge("virbr0", "vnet0", "ens3f0")
    (switch,) = describe_vswitches(tree, programs, {"virbr0": KernelInterface(addresses)})
    return switch


def rule(*expressions: Mapping[str, Any]) -> str:
    return json.dumps({"nftables": [{"metainfo": {}}, {"rule": {"family": "ip", "expr": list(expressions)}}]})


def match(key: str, right: Any, operator: str = "==") -> dict[str, Any]:
    left = {"meta": {"key": key}} if key.endswith("name") else {"payload": {"protocol": "ip", "field": key}}
    return {"match": {"op": operator, "left": left, "right": right}}


LOCAL = {"prefix": {"addr": "192.168.122.0", "len": 24}}
MASQUERADE: dict[str, Any] = {"masquerade": None}


def test_a_bridge_tells_its_cards_from_its_virtual_interfaces(tmp_path: Path) -> None:
    switch = with_bridge(tmp_path, {})
    assert (switch.kind.value, switch.version.value) == ("linux-bridge", "6.1.0-18-amd64")
    assert (switch.ports.value, switch.virtual_interface_count.value) == (("ens3f0",), 1)
    assert switch.mode.value == "bridge"


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        (rule(match("saddr", LOCAL), match("daddr", LOCAL, "!="), MASQUERADE), "nat"),
        (rule(match("iifname", "virbr0"), MASQUERADE), "nat"),
        (rule(match("saddr", {"set": [LOCAL]}), {"snat": {"addr": "192.0.2.1"}}), "nat"),
        (rule(match("saddr", LOCAL), {"xt": {"type": "target", "name": "MASQUERADE"}}), "nat"),
        (rule(MASQUERADE), "nat"),
        (rule(match("saddr", {"prefix": {"addr": "10.0.0.0", "len": 8}}), MASQUERADE), "bridge"),
        (rule(match("iifname", "docker0"), MASQUERADE), "bridge"),
        (rule(match("saddr", LOCAL), {"accept": None}), "bridge"),
        (ProgramOutput(None, "nft failed: Operation not permitted (you must be root)"), None),
        ("{}", None),
        ('{"nftables": [1, 2]}', None),
    ],
)
def test_a_bridge_translates_if_a_rule_hides_what_comes_from_it(
    tmp_path: Path, said: str | ProgramOutput, mode: str | None
) -> None:
    assert with_bridge(tmp_path, {NFT_COMMAND: said}, "192.168.122.1/24").mode.value == mode


def test_rules_of_the_older_iptables_count_too(tmp_path: Path) -> None:
    tree = PciTree(tmp_path)
    tree.write("/proc/net/ip_tables_names", "filter\nnat")
    saved = "-A POSTROUTING -s 192.168.122.0/24 ! -d 192.168.122.0/24 -j MASQUERADE\n-A POSTROUTING -o eth0 -j ACCEPT\n"
    network = RecordedNetwork({"virbr0": KernelInterface(("192.168.122.1/24",))})
    requested = {NFT_COMMAND: NO_RULES, "iptables-legacy-save -t nat": saved}
    masquerade_rules = nat.read_masquerade_rules(source(tree.root, network, requested))
    assert nat.infer_mode(source(tree.root), "virbr0", masquerade_rules).value == "nat"


def test_without_privilege_rules_are_unknown_and_the_reason_is_said(tmp_path: Path) -> None:
    refused = ProgramOutput(None, "nft failed: netlink: Error: cache initialization failed: Operation not permitted")
    mode = with_bridge(tmp_path, {NFT_COMMAND: refused}, "192.168.122.1/24").mode
    assert (mode.known, mode.why) == (False, "needs root")
    assert MOMENT.at == mode.at


class SilentNetwork(RecordedNetwork):
    """Answers too late."""

    def read_interfaces(self) -> tuple[Mapping[str, KernelInterface], str]:
        return {}, "the kernel did not answer within 1 s"


def test_a_kernel_that_does_not_list_its_interfaces_leaves_the_mode_unknown(tmp_path: Path) -> None:
    machine = source(PciTree(tmp_path).root, SilentNetwork(), {NFT_COMMAND: NO_RULES})
    mode = nat.infer_mode(machine, "virbr0", nat.read_masquerade_rules(machine))
    assert (mode.known, mode.why) == (False, "the kernel did not answer within 1 s")
