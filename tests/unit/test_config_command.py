"""`nodrop config`: show, default, schema, explain, convert."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from tests.nfvbench_defaults import DEFAULTS

from nodrop.cli import main
from nodrop.config.keys import iter_leaves
from nodrop.config.load import build_config
from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.nfvbench.untranslated import list_translation_notes
from nodrop.config.schema import Config
from nodrop.system.yaml_reader import parse_document


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> str:
        code = main(["config", *arguments])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    return run


def test_the_defaults_as_written_are_the_defaults(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "default.yaml"
    file.write_text(run("default"))
    assert build_config([file], {}).model_copy(update={"nfvbench": {}}) == Config()


def test_the_defaults_have_every_key_under_what_it_means(run: Any) -> None:
    text = run("default")
    lines = parse_document(text, "default").lines
    for leaf in iter_leaves(Config):
        assert text.splitlines()[lines[leaf.key] - 2].lstrip().startswith("# "), leaf.key


def test_the_defaults_of_nfvbench_as_written_are_accepted_and_say_nothing(run: Any) -> None:
    config = build_config([run("default", "--nfvbench")], {})
    assert (config.flow_count, config.duration, config.chains) == (10000, 60.0, 1)
    assert list_translation_notes(config.nfvbench) == ()


def test_what_is_shown_can_be_read_again(run: Any) -> None:
    text = "{service_chain_count: 3, user_label: '010', goals: {NDR: 0, x: {loss_ratio: 1%}}, ports: [eth1, eth2]}"
    output = run("show", "-c", text)
    again, before = build_config([output], {}), build_config([text], {})
    assert again.model_copy(update={"nfvbench": {}}) == before.model_copy(update={"nfvbench": {}})


def test_what_is_shown_as_json_is_json(run: Any) -> None:
    output = json.loads(run("show", "--json", "--set", "chains=3"))
    assert output["chains"] == 3
    assert output["search"]["width"] is None


def test_beside_each_key_stands_who_wrote_it(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("chains: 2\nsearch:\n  width: 2%\nduration_sec: 5\n")
    message = run("show", "--sources", "-c", str(file), "--set", "hops=2").splitlines()
    assert f"chains: 2  # {file}, line 1" in message
    assert f"  width: 0.02  # {file}, line 3" in message
    assert f"duration: 5.0  # {file}, line 4: duration_sec" in message
    assert "hops: 2  # command line" in message
    assert "frame_bytes: 64  # default" in message


def test_nfvbench_s_view_has_its_defaults_and_what_was_written(run: Any) -> None:
    output = json.loads(run("show", "--nfvbench", "--json", "-c", "{flow_count: 100k, debug: true}"))
    assert len(output) == 81
    assert (output["flow_count"], output["debug"], output["duration_sec"]) == (100_000, True, 60)


def test_nfvbench_s_own_flags_show_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    # Source: NFVbench's manual, "Showing the running configuration".
    assert main(["run", "-c", "{flow_count: 100k, debug: true}", "-fs", "256", "-scc", "3", "--show-config"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["flow_count"], output["debug"], output["service_chain_count"]) == (100_000, True, 3)
    assert output["traffic"]["profile"] == output["traffic_profile"][-1]["name"] == "custom_traffic_profile"
    assert output["traffic_profile"][-1]["l2frame_size"] == ["256"]
    assert main(["run", "-c", "flow_count: 7", "-scc", "3", "--show-pre-config"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["flow_count"], output["service_chain_count"]) == (7, 1)
    assert main(["run", "--show-default-config"]) == 0
    assert build_config([capsys.readouterr().out], {}).flow_count == 10000


@pytest.mark.parametrize(("option", "root"), [((), Config), (("--nfvbench",), NfvbenchConfig)])
def test_the_schema_is_one(option: tuple[str, ...], root: Any, run: Any) -> None:
    schema = json.loads(run("schema", *option))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) >= {leaf.key[0] for leaf in iter_leaves(root)}


def test_what_may_be_written_in_nfvbench_s_keys_fits_their_schema(run: Any) -> None:
    schema = jsonschema.Draft202012Validator(json.loads(run("schema", "--nfvbench")))
    schema.validate(DEFAULTS)
    schema.validate({"flow_count": "100k", "duration_sec": 0.5, "measurement": {"NDR": 0}, "l2_loopback": "100_200"})
    schema.validate({"vlans": [100, 200], "intf_speed": "10Gbps", "fluentd": {"result_tag": "x"}, "user_label": 5})
    for wrong in ({"flow_counts": 1}, {"service_chain_count": 129}, {"traffic": {"bidirectional": "maybe"}}):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(wrong)


def test_every_key_is_explained(run: Any) -> None:
    for root in (Config, NfvbenchConfig):
        for leaf in iter_leaves(root):
            output = run("explain", ".".join(leaf.key))
            assert "default: " in output, leaf.key
            assert len(output.splitlines()) >= 3, leaf.key


def test_a_key_of_nfvbench_s_says_what_it_becomes(run: Any) -> None:
    assert run("explain", "measurement.NDR").splitlines() == [
        "measurement.NDR (NFVbench's key)",
        "  Loss ratio allowed at the no drop rate, in percent; 0 up to, not including, 100.",
        "  default: 0.001",
        "  values: number or text",
        "  translated to: goals",
    ]
    assert "translated to: trex.cache_size" in run("explain", "cache_size")
    assert "no effect: no pause is needed" in run("explain", "pause_sec")
    assert "NFVbench: service_chain_count, l2_loopback" in run("explain", "chains")


def test_a_key_that_there_is_not_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "explain", "search.widht"]) == 2
    assert capsys.readouterr().err == "nodrop: error: search.widht: unknown key; did you mean search.width?\n"


def test_a_converted_file_is_never_written_over_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = tmp_path / "nfvbench.cfg", tmp_path / "nodrop.yaml"
    before.write_text("service_chain: PVVP\nsriov: true\n")
    assert main(["config", "convert", str(before), "-o", str(after)]) == 0
    assert yaml.safe_load(after.read_text()) == {"sut": "vnf-l2", "hops": 2, "openstack": {"sriov": True}}
    error = capsys.readouterr().err
    assert "nodrop: service_chain: PVVP becomes sut: vnf-l2, hops: 2\n" in error
    assert "nodrop: sriov: no effect (True); no cloud is configured (openrc_file, clouds_detail)" in error
    assert main(["config", "convert", str(before), "-o", str(after)]) == 2
    assert "already exists" in capsys.readouterr().err
