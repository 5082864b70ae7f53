"""NFVbench's configuration: all keys are known, supported ones take effect, the others are reported.

The expected meanings are those of NFVbench's manual and code; the defaults are NFVbench's.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.nfvbench_defaults import DEFAULTS

from nodrop.config.effective import convert_config
from nodrop.config.keys import SHARED, is_nfvbench_key, iter_leaves
from nodrop.config.load import NamedMapping, build_config, load_with_sources
from nodrop.config.nfvbench.loopback import Loopback, parse_loopback
from nodrop.config.nfvbench.rules import RULES
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.untranslated import OUTPUT_KEYS, UNUSED_KEYS, list_translation_notes, list_unused_keys
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.plan import build_plan


def load_text(text: str) -> Config:
    return build_config([text], {})


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        build_config([text], {})
    return str(caught.value).removeprefix("inline configuration: ")


def values(mapping: dict[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    result = {}
    for key, value in mapping.items():
        path = (*above, key)
        if isinstance(value, dict) and key != "extra_specs":
            result |= values(value, path)
        else:
            result[path] = value
    return result


def drop_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: drop_null(each) for key, each in value.items() if each is not None}
    return [drop_null(each) for each in value] if isinstance(value, list) else value


def nest(key: tuple[str, ...], value: Any) -> dict[str, Any]:
    for part in reversed(key):
        value = {part: value}
    return value


def effective(*sources: dict[str, Any]) -> dict[str, Any]:
    """Return nodrop's keys of these sources, later ones taking precedence."""
    config = build_config([NamedMapping(f"file {number}", source) for number, source in enumerate(sources)], {})
    return config.model_dump(exclude={"nfvbench"})


def test_all_81_keys_of_nfvbench_are_known_and_no_others() -> None:
    assert len(DEFAULTS) == 81
    assert {leaf.key for leaf in iter_leaves(NfvbenchConfig)} == set(values(DEFAULTS))
    assert len(values(DEFAULTS)) == 158  # 159 with the two in extra_specs


def test_defaults_are_nfvbench_s() -> None:
    own = drop_null({key: value for key, value in DEFAULTS.items() if key not in SHARED})
    text = NfvbenchConfig.model_validate(own).model_dump()
    unwritten = NfvbenchConfig().model_dump()
    for each in (text, unwritten):
        del each["traffic_generator"]["generator_profile"]
    assert text == unwritten


def test_every_key_acts_here_or_says_what_happens_instead() -> None:
    for leaf in iter_leaves(NfvbenchConfig):
        name = ".".join(leaf.key)
        near = [".".join(leaf.key[:depth]) for depth in range(1, len(leaf.key) + 1)]
        assert (
            leaf.key[0] in SHARED
            or any(RULES.find(leaf.key))
            or any(key in UNUSED_KEYS or key in OUTPUT_KEYS for key in near)
        ), name
        assert leaf.field.description, name


def test_every_key_a_rule_writes_is_nodrop_s() -> None:
    own = {".".join(leaf.key) for leaf in iter_leaves(Config)}
    nfvbench = {".".join(leaf.key) for leaf in iter_leaves(NfvbenchConfig)}
    for rule in RULES:
        assert set(rule.writes) <= own
        assert {read for read in rule.reads if read not in nfvbench} == set()


def test_nfvbench_s_whole_default_file_is_accepted_and_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "nfvbench.cfg"
    file.write_text(yaml.safe_dump(DEFAULTS))
    config = build_config([file], {})
    assert (config.sut, config.chains, config.hops, config.networks) == ("vnf-l2", 1, 1, "vlan")
    assert config.goals == pytest.approx({"NDR": 0.00001, "PDR": 0.001})
    assert (config.flow_count, config.duration, config.rate) == (10000, 60.0, "ndr_pdr")
    assert config.frame_sizes == (64,)
    assert list_translation_notes(config.nfvbench) == ()


def test_null_is_the_default_of_every_key() -> None:
    for root in (Config, NfvbenchConfig):
        nulls = [nest(leaf.key, None) for leaf in iter_leaves(root)]
        assert effective(*nulls) == effective()
    keys = {leaf.key for leaf in iter_leaves(NfvbenchConfig)} - {(key,) for key in SHARED}
    assert effective(*(nest(key, "") for key in keys)) == effective()


@pytest.mark.parametrize(
    "setting",
    [
        {"duration_sec": 5},
        {"vlans": [[1], [2]]},
        {"rate": "1kpps"},
        {"measurement": {"NDR": 0.05}},
        {"l2_loopback": "100"},
        {"service_chain": "EXT"},
        {"sut": "bridge"},
        {"search": {"width": "5%"}},
    ],
)
def test_a_later_null_takes_an_earlier_value_back(setting: dict[str, Any]) -> None:
    (key,) = values(setting)
    assert effective(setting) != effective()
    assert effective(setting, nest(key, None)) == effective()
    assert effective(setting, nest(key, None), setting) == effective(setting)


def test_a_rule_that_no_longer_writes_a_key_takes_it_back() -> None:
    assert effective({"l2_loopback": "100"}, {"l2_loopback": False})["vlans"] is None
    assert effective({"vlans": [[5], [6]]}, {"service_chain_count": 1})["vlans"] == ((5,), (6,))


def test_an_unknown_key_is_refused_with_a_null_too() -> None:
    assert "flow_count" in refusal("flow_cuont: null")
    assert "traffic_generator.ip_addrs" in refusal("traffic_generator: {ip_adrs: null}")


def test_a_key_that_nfvbench_removed_is_refused_with_its_successor() -> None:
    assert refusal("traffic_generator: {vnis: 5}").endswith(
        "write segmentation_id in internal_networks.left and internal_networks.right; NFVbench 3.0.3 removed the key"
    )
    assert "remove it: nodrop configures no switches" in refusal("tor: {type: N9K, switches: []}")


def test_text_that_a_template_renders_is_read_as_what_it_means() -> None:
    rendered = {
        "service_chain_count": "2",
        "vlans": "[[100, 101], [200, 201]]",
        "lat_percentiles": "[25, 99]",
        "no_latency_streams": "False",
        "traffic": {"bidirectional": "false", "profile": "sizes"},
        "traffic_profile": '[{"name": "sizes", "l2frame_size": ["64", "IMIX"]}]',
        "traffic_generator": {"ip_addrs": "['10.1.0.0/16', '10.2.0.0/16']", "udp_src_port": "[1024, 2048]"},
        "fluentd": [{"logging_tag": "", "result_tag": None, "ip": "", "port": ""}],
        "user_label": "[nightly]",
        "openrc_file": "",
        "hypervisor_hostname": "None",
        "internal_networks": {"left": {"mpls_transport_labels": "None", "cidr": "192.168.91.0/24"}},
    }
    meant = rendered | {
        "service_chain_count": 2,
        "vlans": [[100, 101], [200, 201]],
        "lat_percentiles": [25, 99],
        "no_latency_streams": False,
        "traffic": {"bidirectional": False, "profile": "sizes"},
        "traffic_profile": [{"name": "sizes", "l2frame_size": ["64", "IMIX"]}],
        "traffic_generator": {"ip_addrs": ["10.1.0.0/16", "10.2.0.0/16"], "udp_src_port": [1024, 2048]},
        "fluentd": [{}],
        "openrc_file": None,
        "hypervisor_hostname": None,
        "internal_networks": {"left": {"cidr": "192.168.91.0/24"}},
    }
    config = effective(rendered)
    assert config == effective(meant)
    assert (config["label"], config["chains"], config["vlans"]) == ("[nightly]", 2, ((100, 101), (200, 201)))


def test_nfvbench_s_whole_default_file_can_be_planned() -> None:
    plan = build_plan(build_config([NamedMapping("nfvbench.cfg", DEFAULTS)], {}))
    assert plan.search.final_trial_duration_s == 60
    assert plan.nfvbench["measurement"] == DEFAULTS["measurement"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("service_chain: pvvp", {"sut": "vnf-l2", "hops": 2}),
        ("{service_chain: PVP, vm_forwarder: vpp}", {"sut": "vnf-l3", "hops": 1}),
        ("service_chain: EXT", {"sut": "ext"}),
        ("service_chain_count: 20", {"chains": 20}),
        ("{service_chain_count: 3, service_chain_shared_net: true}", {"chains": 3, "networks": "shared"}),
        ("{service_chain_count: 3, vlan_tagging: false}", {"networks": "shared", "vlans": None}),
        ("vlan_tagging: false", {"networks": "ports", "vlans": None}),
        ("vlan_tagging: true", {"networks": "vlan"}),
        ("vlans: [1998, 1999]", {"vlans": ((1998,), (1999,))}),
        ("{vlan_tagging: true, vlans: [[1, 2], [3, 4]]}", {"networks": "vlan", "vlans": ((1, 2), (3, 4))}),
        (
            "{service_chain_count: 1, vlan_tagging: true, vlans: [[1, 2], [3, 4]]}",
            {"vlans": ((1,), (3,))},
        ),
        (
            "{service_chain_count: 2, internal_networks: {left: {segmentation_id: 100}, "
            "right: {segmentation_id: [7, 9]}}}",
            {"vlans": ((100, 101), (7, 9))},
        ),
        ("l2_loopback: true", {"sut": "wire", "chains": 1}),
        ("l2_loopback: no-tag", {"sut": "wire", "networks": "ports", "chains": 1, "vlans": None}),
        ("l2_loopback: 123", {"networks": "vlan", "vlans": ((123,), (123,)), "chains": 1}),
        ("l2_loopback: '111,112_211,212,'", {"vlans": ((111, 112), (211, 212)), "chains": 2}),
        ("{l2_loopback: '1,2,3', service_chain_count: 2}", {"vlans": ((1, 2), (1, 2)), "chains": 2}),
        ("flow_count: 100k", {"flow_count": 100_000}),
        ("flow_count: 0.1M", {"flow_count": 100_000}),
        ("duration_sec: 0.5", {"duration": 0.5}),
        ("interval_sec: 0", {"interval": None}),
        ("interval_sec: 1", {"interval": 1.0}),
        ("measurement: {NDR: 0}", {"goals": {"NDR": 0.0, "PDR": 0.001}}),
        ("measurement: {NDR: 0, PDR: 0.5%}", {"goals": {"NDR": 0.0, "PDR": 0.005}}),
        ("rate: 10kpps", {"rate": "10kpps"}),
        ("rate: 50%", {"rate": "50%"}),
        ("traffic: {bidirectional: no}", {"bidirectional": False}),
        ("traffic: {profile: traffic_profile_3sizes}", {"frame_sizes": (64, "IMIX", 1518)}),
        (
            "{traffic_profile: [{name: mine, l2frame_size: [128, '256']}], traffic: {profile: mine}}",
            {"frame_sizes": (128, 256)},
        ),
        ("l3_router: true", {"routers": True}),
        ("idle_interfaces_per_vm: 2", {"idle_interfaces": 2}),
        ("no_e2e_check: true", {"path_check": False}),
        ("no_traffic: true", {"no_traffic": True}),
        ("intf_speed: 16.72Gbps", {"link_speed": "16.72Gbps"}),
        ("intf_speed: auto", {"link_speed": None}),
        ("user_label: no", {"label": "no"}),
        ("user_info: {a: {b: 1}, status: explore}", {"user_info": {"a": {"b": 1}, "status": "explore"}}),
        (
            "traffic_generator: {mac_addrs_left: 00-0A-0B-0C-0D-0E, mac_addrs_right: [00:0A:0B:0C:0D:0F]}",
            {"macs": (("00:0a:0b:0c:0d:0e",), ("00:0a:0b:0c:0d:0f",))},
        ),
    ],
)
def test_what_acts_here_acts(text: str, expected: dict[str, Any]) -> None:
    config = load_text(text)
    for key, value in expected.items():
        result = getattr(config, key)
        assert result == (pytest.approx(value) if key == "goals" else value), key


@pytest.mark.parametrize(
    ("text", "section", "expected"),
    [
        ("no_arp: true", "neighbors", {"resolve": False}),
        ("loop_vm_arp: true", "neighbors", {"resolve": True}),
        ("l2_loopback: true", "neighbors", {"resolve": False}),
        ("{periodic_gratuitous_arp: true, gratuitous_arp_pps: 4}", "neighbors", {"announce_every": 0.25}),
        ("{generic_retry_count: 7, generic_poll_sec: 3}", "neighbors", {"tries": 7, "timeout": 3.0}),
        ("no_latency_streams: true", "latency", {"enabled": False}),
        ("no_latency_stats: true", "latency", {"enabled": False}),
        ("lat_percentiles: [50, 99.9]", "latency", {"percentiles": (50, 99.9)}),
        ("disable_hdrh: true", "latency", {"percentiles": ()}),
        ("measurement: {load_epsilon: 0.5}", "search", {"width": 0.005, "load_epsilon": 0.005}),
        ("duration_sec: 5", "search", {"final_trial_duration": 5.0}),
        ("service_mode: true", "capture", {"file": "service-mode.pcapng"}),
        ("{log_file: n.log, debug: true}", "ship", {"log_file": "n.log", "debug": True}),
        ("traffic_generator: {udp_src_port: [1024, 65000]}", "flows", {"udp_source": (1024, 65000)}),
        ("traffic_generator: {udp_dst_port: 53, udp_port_step: 1}", "flows", {"udp_destination": 53, "udp_step": 1}),
        ("traffic_generator: {ip_src_static: false}", "flows", {"static_source": False}),
        ("{vxlan: true, vlan_tagging: true}", "tunnel", {"kind": "vxlan"}),
        (
            "{vxlan: true, service_chain_count: 2, internal_networks: {left: {segmentation_id: 5000}, right: "
            "{segmentation_id: [6000, 6005]}}}",
            "tunnel",
            {"vnis": ((5000, 5001), (6000, 6005))},
        ),
        (
            "{mpls: true, internal_networks: {left: {network_type: mpls, segmentation_id: 5010, "
            "mpls_transport_labels: 16303}, right: {segmentation_id: 5011, mpls_transport_labels: 16303}}}",
            "tunnel",
            {"kind": "mpls", "service_labels": ((5010,), (5011,)), "transport_labels": ((16303,), (16303,))},
        ),
    ],
)
def test_what_acts_in_a_section_acts(text: str, section: str, expected: dict[str, Any]) -> None:
    config = getattr(load_text(text), section)
    assert {key: getattr(config, key) for key in expected} == expected


def test_a_fluentd_server_may_stand_alone_as_in_the_manual() -> None:
    config = load_text("fluentd: {logging_tag: nfvbench, result_tag: resultnfvbench, ip: 127.0.0.1, port: 24224}")
    assert [each.logging_tag for each in config.ship.fluentd] == ["nfvbench"]
    assert load_text("fluentd: [{logging_tag: null, result_tag: ''}]").ship.fluentd == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("service_chain: FOO", "line 1: service_chain: should be 'PVP', 'PVVP' or 'EXT' ('FOO')"),
        ("service_chain_count: 129", "line 1: service_chain_count: should be less than or equal to 128 (129)"),
        ("service_chain_count: true", "line 1: service_chain_count: expected a number or text (true)"),
        ("traffic_generator:\n  udp_src_port: 70000", "line 2: traffic_generator.udp_src_port: 70000 is not a UDP"),
        ("traffic_generator: {udp_src_port: [9, 5]}", "line 1: traffic_generator.udp_src_port: [9, 5] is not a UDP"),
        (
            "traffic_generator: {ip_addrs: [10.0.0.0/8]}",
            "line 1: traffic_generator.ip_addrs: too few values (['10.0.0.0/8'])",
        ),
        ("vlan_tagging: true\nvlans: [[5000], [1]]", "line 2: vlans.0.0: should be less than or equal"),
        ("vlans: [[1], [1, 2]]", "line 1: vlans: [[1], [1, 2]] has 1 VLANs left and 2 right; write as many of both"),
        (
            "l2_loopback: 4096",
            "line 1: l2_loopback: 4096 contains '4096', which is not a VLAN; write true, false, no-tag",
        ),
        ("l2_loopback: abc", "line 1: l2_loopback: 'abc' contains 'abc', which is not a VLAN"),
        ("l2_loopback: '111,112_211'", "line 1: l2_loopback: '111,112_211' has 2 VLANs left and 1 right"),
        ("l2_loopback: '1_2_3'", "line 1: l2_loopback: '1_2_3' has 3 lists of VLANs"),
        (
            "{l2_loopback: 100, service_chain_count: 2}",
            "line 1: service_chain_count: too few VLANs for 2 chains (1 on each side)",
        ),
        ("traffic: {profile: none}", "line 1: traffic.profile: 0 traffic profiles are named 'none', expected one"),
        ("{vxlan: true, mpls: true}", "line 1: mpls: vxlan and mpls are both true"),
        ("measurement: {NDR: 1, PDR: 0.5}", "line 1: measurement.PDR: PDR (0.5 %) is below NDR (1.0 %)"),
        (
            "traffic_profile: [{name: a, l2frame_sizes: [64]}]",
            "line 1: traffic_profile.0.l2frame_size: missing and has no default",
        ),
        ("trafic_generator: {}", "line 1: trafic_generator: unknown key ({}); did you mean traffic_generator?"),
        ("measurement: {ndr: 0}", "line 1: measurement.ndr: unknown key (0); did you mean measurement.NDR?"),
        ("traffic: {bidirectonal: no}", "line 1: traffic.bidirectonal: unknown key ('no'); did you mean traffic.bidi"),
        ("nfvbench: {rate: 1}", "line 1: nfvbench"),
    ],
)  # fmt: skip
def test_what_nfvbench_would_let_through_is_refused_with_its_line(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


def test_a_later_source_wins_whichever_form_it_is_written_in() -> None:
    nfvbench, own = "{service_chain_count: 3, measurement: {PDR: 1}}", "{chains: 5, goals: {NDR: 0}}"
    assert (build_config([nfvbench, own], {}).chains, build_config([own, nfvbench], {}).chains) == (5, 3)
    assert build_config([nfvbench, own], {}).goals == {"NDR": 0.0}
    assert build_config([own, nfvbench], {}).goals == pytest.approx({"NDR": 0.00001, "PDR": 0.01})
    assert build_config([own], {"service_chain_count": 7}).chains == 7
    assert build_config([nfvbench], {"chains": 2}).chains == 2


def test_in_one_source_nodrop_s_own_key_wins() -> None:
    assert load_text("{chains: 2, service_chain_count: 9}").chains == 2
    assert load_text("{service_chain_count: 9, chains: 2}").chains == 2


def test_vlans_of_a_loopback_say_how_many_chains_unless_a_number_follows() -> None:
    # In NFVbench a flag overrides the number in the file, but not the number in another flag.
    file = "{service_chain_count: 1, vlan_tagging: true}"
    assert build_config([file], {"l2_loopback": "100,101"}).vlans == ((100, 101), (100, 101))
    assert build_config([file], {"l2_loopback": "100,101", "service_chain_count": 1}).vlans == ((100,), (100,))
    assert build_config([file], {"l2_loopback": "100"}).chains == 1
    with pytest.raises(ConfigError, match="too few VLANs for 2 chains"):
        build_config([file], {"l2_loopback": "100", "service_chain_count": 2})


def test_keys_that_act_together_do_so_from_several_sources() -> None:
    profiles = "traffic_profile: [{name: mine, l2frame_size: [256]}]"
    assert build_config([profiles, "traffic: {profile: mine}"], {}).frame_sizes == (256,)
    assert build_config(["vlan_tagging: false", "vlans: [[1], [2]]"], {}).vlans is None
    assert build_config(["{vlan_tagging: true, vlans: [[1], [2]]}"], {"vlan_tagging": False}).networks == "ports"


def test_a_wrong_value_is_forgiven_when_a_later_source_puts_it_right() -> None:
    config = build_config(["{service_chain: FOO, service_chain_count: 3}", "service_chain: PVVP"], {})
    assert (config.hops, config.chains) == (2, 3)


def test_what_was_written_is_kept_as_it_was() -> None:
    config = load_text("{flow_count: 100k, measurement: {NDR: 0}, openrc_file: /root/openrc, chains: 2}")
    assert config.nfvbench == {"flow_count": "100k", "measurement": {"NDR": 0}, "openrc_file": "/root/openrc"}


def test_what_would_have_acted_elsewhere_says_so() -> None:
    message = list_translation_notes(load_text("{sriov: true, cache_size: 100, cores: 9999, pause_sec: 1}").nfvbench)
    assert (
        message[1]
        == "sriov: no effect (True); no cloud is configured (openrc_file, clouds_detail), so nothing is staged in "
        "OpenStack"
    )
    assert [sentence.split(":")[0] for sentence in message] == ["pause_sec", "sriov", "cache_size", "cores"]


def test_what_acts_in_a_cloud_says_nothing_where_there_is_one() -> None:
    assert list_translation_notes(load_text("{openrc_file: x, sriov: true, no_cleanup: true}").nfvbench) == ()


def test_what_would_not_have_acted_says_nothing() -> None:
    assert (
        list_translation_notes(load_text("{openrc_file: '', sriov: false, cache_size: 0, debug_mask: 3}").nfvbench)
        == ()
    )
    assert {key for key, _ in list_unused_keys()} & {("service_chain",), ("rate",)} == set()


def test_the_plan_says_what_would_have_acted_elsewhere() -> None:
    assert any("sriov: no effect (True)" in warning for warning in build_plan(load_text("sriov: true")).warnings)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (True, Loopback(on=True)),
        ("False", Loopback(on=False)),
        ("NO-TAG", Loopback(on=True, tagged=False)),
        (100, Loopback(on=True, tagged=True, vlans=((100,), (100,)))),
        ("1, 4094", Loopback(on=True, tagged=True, vlans=((1, 4094), (1, 4094)))),
        ("100_200", Loopback(on=True, tagged=True, vlans=((100,), (200,)))),
    ],
)
def test_a_loopback_is_written_in_all_its_forms(written: object, expected: Loopback) -> None:
    assert parse_loopback(written) == expected
    assert parse_loopback(expected.to_plain()) == expected


@pytest.mark.parametrize("written", ["", "_", "1__2", "-1", "1,,2", "1.5", "0", 4095, None, [1], 1.5, "true_100"])
def test_anything_else_is_no_loopback(written: object) -> None:
    with pytest.raises(ValueError, match=r"which is not a VLAN|lists of VLANs|VLANs left and"):
        parse_loopback(written)


@pytest.mark.parametrize(
    "mapping",
    [
        DEFAULTS,
        {"service_chain": "EXT", "vlans": [100, 200], "vlan_tagging": True, "openrc_file": "x"},
        {"l2_loopback": "100,101_200,201", "rate": "50%", "duration_sec": 10},
        {"vxlan": True, "internal_networks": {"left": {"segmentation_id": 1}, "right": {"segmentation_id": 2}}},
        {"vxlan": True, "vlan_tagging": False, "mpls": False, "internal_networks": {"left": {"segmentation_id": 1}}},
        {"internal_networks": {"left": {"segmentation_id": 1}}, "traffic_profile": DEFAULTS["traffic_profile"]},
        {"chains": 2, "search": {"width": "1%"}, "user_info": {"no": "yes"}, "user_label": 2024},
        {"debug": True, "fluentd": [{"result_tag": "t", "tls": True}], "cores": 1, "no_arp": True},
    ],
)
def test_what_is_converted_means_the_same(mapping: dict[str, Any], tmp_path: Path) -> None:
    before, after = tmp_path / "nfvbench.cfg", tmp_path / "nodrop.yaml"
    before.write_text(yaml.safe_dump(mapping))
    converted = convert_config(before)
    after.write_text(converted.text)
    loaded = load_with_sources([after], {})
    assert loaded.config.model_copy(update={"nfvbench": {}}) == build_config([before], {}).model_copy(
        update={"nfvbench": {}}
    )
    sources = {entry.source_key for entry in loaded.keys.values()}
    assert not any(any(RULES.find(key)) and key in sources for key in loaded.keys if is_nfvbench_key(key))


def test_a_conversion_lists_what_became_of_each_key() -> None:
    converted = convert_config("{service_chain_count: 3, measurement: {NDR: 0, PDR: 1}, pause_sec: 1}")
    assert converted.changes == (
        "service_chain_count: 3 becomes chains: 3",
        "measurement.NDR: 0 is included in goals",
        "measurement.PDR: 1 becomes goals: {NDR: 0.0, PDR: 0.01}",
        "pause_sec: 1 is kept unchanged",
        "pause_sec: no effect (1); no pause is needed: each trial waits for its last frames before its counts are read",
    )
    assert "chains: 3  # service_chain_count\n" in converted.text
    assert converted.text.endswith("pause_sec: 1\n")
