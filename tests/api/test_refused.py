"""Keys that a body may not contain, and a check that the list of keys that can name a file is complete."""

import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.api.serving import await_over, serve_app

from nodrop.config.nfvbench.schema import NfvbenchConfig
from nodrop.config.schema import Config
from nodrop.server.rest.forbidden_keys import (
    CODE,
    EVENT_LISTS,
    FORBIDDEN,
    RESULT_FILES,
    WARM_START,
    find_forbidden_keys,
)
from nodrop.server.rest.openapi import make_config_schema

HARMLESS = {
    "capture.filter": "a filter, compiled by libpcap and never a path",
    "traffic.replay.filter": "likewise",
    "goals": "labels of goals; their values are numbers",
    **dict.fromkeys(EVENT_LISTS, "events of instances; programs are refused"),
    "label": "kept with the result, never used as a name of anything",
    "user_info": "likewise",
    "nfvbench": "not to be written, by anyone",
    "rate": "read as a rate or refused",
    "link_speed": "read as a rate or refused",
    "frame_sizes": "read as sizes or refused",
    "macs": "read as MAC addresses or refused",
    "traffic.genome": "letters of RFC 6985",
    "traffic.ranges": "values of header fields",
    "traffic.profile": "the name of one of traffic_profile",
    "traffic_profile": "names and frame sizes",
    "traffic_generator": "addresses in frames, and the name of a generator that the server's configuration describes",
    "l2_loopback": "VLANs or refused",
    "user_label": "as label",
    "openstack": "names in the cloud that the server's own configuration or environment names",
    "loop_vm_name": "a name in OpenStack",
    "flavor": "likewise",
    "flavor_type": "likewise",
    "availability_zone": "likewise",
    "compute_nodes": "likewise",
    "hypervisor_hostname": "likewise",
    "internal_networks": "likewise",
    "external_networks": "likewise",
    "edge_networks": "likewise",
    "idle_networks": "likewise",
    "management_network": "likewise",
    "floating_network": "likewise",
    "expect": "thresholds, parsed",
    WARM_START: "only a run id or latest, which the refusals see to",
}
"""Keys that take any text, and why that is harmless."""


def text_keys(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Yield the keys of a section that take text of any kind, at any depth."""
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from text_keys(annotation, f"{above}{field.alias or name}.")
        elif takes_text(annotation):
            yield f"{above}{field.alias or name}"


def takes_text(annotation: Any) -> bool:
    if annotation in (str, Any):
        return True
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return False
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return any(text_keys(annotation))
    if origin is None or isinstance(annotation, types.GenericAlias) or origin:
        return any(takes_text(part) for part in typing.get_args(annotation))
    return False


def test_every_key_that_takes_text_is_refused_or_harmless() -> None:
    unjudged = {
        key
        for key in (*text_keys(Config), *text_keys(NfvbenchConfig))
        if not is_covered(key, HARMLESS) and not is_covered(key, FORBIDDEN)
    }
    assert unjudged == set()


def test_what_is_called_harmless_is_there() -> None:
    keys = {*text_keys(Config), *text_keys(NfvbenchConfig)}
    assert [name for name in HARMLESS if not any(is_covered(key, [name]) for key in keys)] == []


def is_covered(key: str, names: Iterable[str]) -> bool:
    """Return whether a key is one of these, or below one."""
    return any(key == name or key.startswith(f"{name}.") for name in names)


@pytest.mark.parametrize("key", sorted(FORBIDDEN))
def test_a_refused_key_is_answered_with_403_and_begins_nothing(key: str, tmp_path: Path) -> None:
    *above, last = key.split(".")
    body: dict[str, Any] = {last: "/etc/passwd"}
    for part in reversed(above):
        body = {part: body}
    with serve_app(tmp_path) as client:
        for path, status in (("/start_run", 200), ("/api/v1/runs", 403), ("/api/v1/config/validate", 403)):
            if path == "/start_run" and key in RESULT_FILES:
                continue
            for sent in (body, {key: "/etc/passwd"}):
                answer = client.post(path, json=sent)
                assert answer.status_code == status
                assert key in answer.text
                assert "server's configuration" in answer.text
        assert client.get("/api/v1/runs").json()["total_count"] == 0


@pytest.mark.parametrize("key", RESULT_FILES)
def test_nfvbench_s_files_of_log_and_result_are_accepted_and_not_written(key: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    with serve_app(tmp_path / "results") as client:
        run = client.post("/start_run", json={key: str(file), "label": "fine"}).json()["request_id"]
        assert await_over(client, run)["asked"] == {"label": "fine"}
        events = client.get(f"/api/v1/runs/{run}/events").text
        assert f"{key}: '{file}' is not written" in events
    assert not file.exists()


@pytest.mark.parametrize("text", ["/etc/passwd", "../results/x", "20260131T120000Z-3f9a2c/../..", "."])
def test_a_warm_start_is_a_run_id_and_no_file(text: str) -> None:
    assert "run id" in "".join(find_forbidden_keys({"search": {"warm_start": text}}))


def test_a_run_id_is_a_warm_start() -> None:
    for text in ("latest", "20260131T120000Z-3f9a2c"):
        assert not list(find_forbidden_keys({"search": {"warm_start": text}}))


@pytest.mark.parametrize(
    "value",
    [
        ["3s kill 0", "4s command reboot"],
        "4s command reboot",
        [["4s  command reboot"]],
        ["0s migrate vnf qemu:///system qemu+ext://b/system?command=/bin/reboot"],
    ],
)
@pytest.mark.parametrize("key", EVENT_LISTS)
def test_a_program_is_no_event_of_a_request(key: str, value: object) -> None:
    section, _, name = key.rpartition(".")

    def find(events: object) -> list[str]:
        return list(find_forbidden_keys({section: {name: events}} if section else {name: events}))

    assert CODE in "".join(find(value)) and CODE in "".join(find_forbidden_keys({key: value}))
    assert not find(["3s kill 0", "4s start 0"])


def test_what_asks_for_nothing_is_let_through() -> None:
    fluentd = [{"logging_tag": "", "result_tag": None, "ip": "10.0.0.1", "port": ""}]
    nothing = {"openrc_file": "", "capture": {"file": None}, "fluentd": fluentd, "factory_class": "BasicFactory"}
    assert not list(find_forbidden_keys(nothing))
    fluentd[0]["result_tag"] = "results"
    assert "fluentd" in "".join(find_forbidden_keys({"fluentd": fluentd}))
    assert "fluentd" in "".join(find_forbidden_keys({"fluentd": str(fluentd)}))


def test_generators_without_ports_are_let_through_and_others_not() -> None:
    profile = {"name": "a", "tool": "TRex", "ip": "10.0.0.1", "interfaces": [{"port": 0, "pci": None}]}
    assert not list(find_forbidden_keys({"traffic_generator": {"generator_profile": [profile]}}))
    profile["interfaces"] = [{"port": 0, "pci": "0000:03:00.0"}]
    assert "generator_profile" in "".join(find_forbidden_keys({"traffic_generator": {"generator_profile": [profile]}}))


def test_refused_keys_are_not_in_the_published_schema() -> None:
    schema = make_config_schema()
    assert "results_dir" not in schema["properties"]
    capture = schema["$defs"]["CaptureConfig"]["properties"]
    assert "file" not in capture
    assert "filter" in capture
