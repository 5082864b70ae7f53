"""NFVbench's flags in `nodrop run`. Source: NFVbench 5's own help and its manual."""

import collections
from typing import Any

import pytest

from nodrop.cli import main
from nodrop.cli.nfvbench_flags import FLAGS, collect_nfvbench_keys, collect_notes
from nodrop.cli.run import run
from nodrop.errors import ConfigError

DOCUMENTED = (
    "--status -c --config --server --host -p --port -sc --service-chain -scc --service-chain-count -fc "
    "--flow-count --rate --duration --interval --inter-node --sriov --use-sriov-middle-net -d --debug -g "
    "--traffic-gen -l3 --l3-router -garp --gratuitous-arp -0 --no-traffic --no-arp --loop-vm-arp "
    "--no-vswitch-access --vxlan --mpls --no-cleanup --cleanup --force-cleanup --restart --json --std-json "
    "--show-default-config --show-pre-config --show-config -ss --show-summary -v --version -fs --frame-size "
    "--unidir --log-file --logfile --user-label --userlabel --hypervisor --l2-loopback --l2loopback --i40e-mixed "
    "--user-info --vlan-tagging --intf-speed --cores --cache-size --service-mode --no-e2e-check --no-flow-stats "
    "--no-latency-stats --no-latency-streams --user-id --group-id --show-trex-log --debug-mask -r -h --help"
)


def parse_flags(*arguments: str) -> dict[str, Any]:
    return run.make_context("run", list(arguments), help_option_names=["-h", "--help"]).params


def keys(*arguments: str) -> dict[str, Any]:
    return collect_nfvbench_keys(parse_flags(*arguments))


def test_every_flag_of_nfvbench_is_there() -> None:
    options = {name for parameter in run.params for name in parameter.opts}
    assert set(DOCUMENTED.split()) - options == {"-h", "--help"}  # click adds these, and test_cli runs them


def test_no_flag_has_two_meanings() -> None:
    names = [name for parameter in run.params for name in parameter.opts]
    assert [name for name, count in collections.Counter(names).items() if count > 1] == []


def test_every_flag_does_or_says_something() -> None:
    assert [flag.name for flag in FLAGS if not (flag.key or flag.note or "other than a run" in flag.group)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-fs 64 -fs IMIX -fs 1518", {"frame_sizes": [64, "IMIX", 1518]}),
        ("--frame-size 64,IMIX,1518", {"frame_sizes": [64, "IMIX", 1518]}),
        ("-fs=64 --rate=100% --duration=10", {"frame_sizes": [64], "rate": "100%", "duration_sec": "10"}),
        ("--rate 10kpps -scc 3 -fc 100k", {"rate": "10kpps", "service_chain_count": 3, "flow_count": "100k"}),
        ("-sc PVVP", {"service_chain": "PVVP"}),
        ("-garp -l3 -0 -d", {"periodic_gratuitous_arp": True, "l3_router": True, "no_traffic": True, "debug": True}),
        ("--unidir", {"traffic.bidirectional": False}),
        ("--cache-size -1 --cores 4", {"cache_size": -1, "cores": 4}),
        ("--debug-mask 0xff", {"debug_mask": 255}),
        ("--vlan-tagging off", {"vlan_tagging": False}),
        ("--vlan-tagging true", {"vlan_tagging": True}),
        ("--l2-loopback 100,101_200,201", {"l2_loopback": "100,101_200,201"}),
        ("--l2loopback=no-tag", {"l2_loopback": "no-tag"}),
        ("-g trex-remote", {"traffic_generator.default_profile": "trex-remote"}),
        ("--hypervisor nova:compute1", {"compute_nodes": "nova:compute1"}),
        ("-r openrc --i40e-mixed unbind", {"openrc_file": "openrc", "i40e_mixed": "unbind"}),
        ("--duration 0.5 --interval 0", {"duration_sec": "0.5", "interval_sec": "0"}),
        ("--inter-node", {}),
        ("--sut bridge --chains 2", {}),
    ],
)
def test_flags_set_the_keys_they_set_in_nfvbench(text: str, expected: dict[str, Any]) -> None:
    assert keys(*text.split()) == expected


def test_user_info_is_merged_key_by_key() -> None:
    text = ('{"a": {"b": 1, "c": 2}, "d": 3}', '{"a": {"c": 4}}')
    requested = keys("--user-info", text[0], f"--user-info={text[1]}")
    assert requested == {"user_info": {"a": {"b": 1, "c": 4}, "d": 3}}


@pytest.mark.parametrize("text", ["{", "[1]", "text", "1"])
def test_user_info_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a JSON object"):
        keys("--user-info", text)


@pytest.mark.parametrize(
    "text",
    ["-scc many", "--vlan-tagging perhaps", "--debug-mask 0xzz", "--port seven", "--i40e-mixed never"],
)
def test_values_of_another_type_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *text.split()]) == 2
    report = capsys.readouterr().err
    assert report.startswith("nodrop: error: ")
    assert text.split(maxsplit=1)[0] in report


def test_old_spellings_say_what_replaces_them() -> None:
    message = list(collect_notes(parse_flags("--logfile", "a", "--userlabel", "b", "--l2loopback", "1"), None))
    assert message == [
        "--logfile: deprecated spelling; use --log-file",
        "--userlabel: deprecated spelling; use --user-label",
        "--l2loopback: deprecated spelling; use --l2-loopback",
    ]


def test_a_note_says_whose_form_json_is_when_nfvbenchs_flags_are_used() -> None:
    assert list(collect_notes(parse_flags("--sut", "bridge"), "out.json")) == []
    (message,) = collect_notes(parse_flags("--rate", "1kpps"), "out.json")
    assert message == "--json: out.json contains nodrop's own form; for NFVbench's form use --nfvbench-json FILE"


def test_frames_too_small_for_ethernet_are_as_small_as_can_be_and_it_is_said() -> None:
    flags = parse_flags("-fs", "32", "-fs", "IMIX")
    assert collect_nfvbench_keys(flags) == {"frame_sizes": [64, "IMIX"]}
    assert list(collect_notes(flags, None)) == ["--frame-size: 32 is below the Ethernet minimum; using 64 bytes"]


def test_the_help_fits_a_terminal_and_has_nodrops_own_options_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["run", "--help-all"]) == 0
    printed = capsys.readouterr().out
    options = printed.partition("\nOptions:")[2].partition("Examples:")[0]
    assert all(len(line) <= 80 for line in options.splitlines())
    assert options.index("--goal") < options.index("NFVbench's options") < options.index("--rate")
    assert "--logfile" not in options


def test_the_version_is_told_where_nfvbenchs_users_ask_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-v"]) == 0
    assert capsys.readouterr().out.startswith("nodrop ")


@pytest.mark.parametrize("text", ["--chains 2 -scc 3", "--frame-bytes 64 -fs 128"])
def test_one_thing_asked_in_both_forms_is_an_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *text.split()]) == 2
    assert "set the same thing; use one of them" in capsys.readouterr().err


def test_both_flags_of_the_frame_size_raise_it_to_the_minimum_by_one_rule(capsys: pytest.CaptureFixture[str]) -> None:
    for flag, name in (("-fs", "--frame-size"), ("--frame-bytes", "--frame-bytes")):
        assert main(["run", flag, "63", "--chains", "0"]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == f"nodrop: {name}: 63 is below the Ethernet minimum; using 64 bytes"
        assert "frame" not in lines[1]
