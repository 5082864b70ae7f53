"""Configurations of placed VMs for OpenStack, Kubernetes and TOSCA, checked against each system's definitions.

tests/vm_config contains these definitions as data, with version and license: nova.json from the validators of Nova's
extra specs, kubernetes.json from Kubernetes' OpenAPI description, sol001.json from ETSI's type definitions.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from tests.hosts import Shape, host
from tests.placements import random_placement, sample_placement, small_vm
from tests.vms import sample

from nodrop.errors import ConfigError
from nodrop.vm.config import k8s, nova, tosca
from nodrop.vm.config.instance import Instance, build_instance

HERE = Path(__file__).parent.parent / "vm_config"
NOVA = json.loads((HERE / "nova.json").read_text())["specs"]
KUBERNETES = json.loads((HERE / "kubernetes.json").read_text())
SOL001 = json.loads((HERE / "sol001.json").read_text())["types"]
VALIDATORS = {
    kind: jsonschema.Draft202012Validator(KUBERNETES | {"$ref": f"#/$defs/io.k8s.api.core.v1.{kind}"})
    for kind in ("Pod", "ConfigMap")
}
HOSTILE = "x'; $(reboot) `id`\n- {evil: true}\n--- !!python/object/apply:os.system\x00"
DRAWN = range(60)
SCALARS = {
    "string": r".*",
    "integer": r"-?\d+",
    "boolean": r"True|False",
    "scalar-unit.size": r"\d+ (B|KiB|MiB|GiB)",
    "scalar-unit.frequency": r"[\d.e+]+ (MHz|GHz)",
}


def sample_instance() -> Instance:
    return build_instance(sample(), sample_placement(), host())


def hostile_instance() -> Instance:
    vmd, placement = small_vm()
    return build_instance(vmd, placement.model_copy(update={"vm": HOSTILE}), host(shape=Shape(nodes=1)))


@pytest.mark.parametrize(
    ("form", "text"),
    [("nova.sh", nova.write_commands), ("k8s.yaml", k8s.write_manifests), ("tosca.yaml", tosca.write_service)],
)
def test_the_sample_of_the_standard_is_written_as_it_was(form: str, text: Any) -> None:
    assert text(sample_instance()) == (HERE / form).read_text()


def test_nova_knows_every_extra_spec_and_takes_every_value() -> None:
    for seed in DRAWN:
        for name, value in nova.build_extra_specs(build_instance(*random_placement(seed))).items():
            _check_extra_spec(name, value)


def test_an_extra_spec_that_nova_does_not_know_would_be_noticed() -> None:
    with pytest.raises(AssertionError):
        _check_extra_spec("hw:numa_cpu.0", "0,1")
    with pytest.raises(AssertionError):
        _check_extra_spec("hw:cpu_thread_policy", "share")


def test_the_guest_has_one_numa_node_for_each_of_the_hosts_in_openstack() -> None:
    for seed in DRAWN:
        whole = build_instance(*random_placement(seed))
        specs = nova.build_extra_specs(whole)
        assert specs["hw:numa_nodes"] == str(len(whole.nodes))
        cells = [set(specs[f"hw:numa_cpus.{cell}"].split(",")) for cell in range(len(whole.nodes))]
        assert sorted(int(each) for cell in cells for each in cell) == list(whole.cpu_of)


def test_all_memory_is_in_whole_pages_where_nova_has_one_size_for_all() -> None:
    for seed in DRAWN:
        whole = build_instance(*random_placement(seed))
        page = nova.find_page_bytes(whole)
        for cell in nova.list_numa_cells(whole):
            assert cell.memory_mib * 2**20 % (page or 1) == 0


def test_the_commands_are_a_script_whatever_the_vm_is_called() -> None:
    script = nova.write_commands(hostile_instance(), image="it's; $(reboot)")
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    code = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
    words = shlex.split(code.replace("\\\n", ""))
    assert "it's; $(reboot)" in words
    assert not any(re.search(r"[$`;]", each) for each in words if each != "it's; $(reboot)")


def test_kubernetes_takes_every_pod() -> None:
    for seed in DRAWN:
        for document in yaml.safe_load_all(k8s.write_manifests(build_instance(*random_placement(seed)))):
            _check_manifest(document)


def test_a_pod_that_kubernetes_does_not_take_would_be_noticed() -> None:
    pod = k8s.build_pod(sample_instance())
    pod["spec"]["containers"][0]["hugepages"] = "1Gi"
    with pytest.raises(jsonschema.ValidationError):
        _check_manifest(pod)


def test_every_container_is_guaranteed() -> None:
    """Kubernetes pins only containers whose requests equal their limits, with whole CPUs."""
    for seed in DRAWN:
        for container in k8s.build_pod(build_instance(*random_placement(seed)))["spec"]["containers"]:
            amounts = container["resources"]
            assert amounts["requests"] == amounts["limits"]
            assert amounts["limits"]["cpu"].isdigit() and "memory" in amounts["limits"]


def test_the_device_plugin_offers_just_the_functions_of_the_placement() -> None:
    documents = list(yaml.safe_load_all(k8s.write_manifests(sample_instance())))
    resources = json.loads(documents[0]["data"]["config.json"])["resourceList"]
    offered = {
        f"{each['resourcePrefix']}/{each['resourceName']}": each["selectors"][0]["pciAddresses"] for each in resources
    }
    limits = documents[-1]["spec"]["containers"][0]["resources"]["limits"]
    assert {name: offered[name] for name in limits if name in offered} == offered
    assert sorted(offered.values()) == [["0000:03:00.0"], ["0000:03:10.0"]]


def test_a_host_that_is_no_label_is_refused() -> None:
    vmd, placement = small_vm()
    with pytest.raises(ConfigError, match="not a valid label value"):
        k8s.build_pod(
            build_instance(vmd, placement.model_copy(update={"hostname": HOSTILE}), host(shape=Shape(nodes=1)))
        )


def test_sol001_defines_every_type_and_property() -> None:
    for seed in DRAWN:
        for template in _templates(build_instance(*random_placement(seed))):
            _check_template(template)
    for template in _templates(sample_instance()):
        _check_template(template)


def test_a_property_that_sol001_does_not_define_would_be_noticed() -> None:
    template = next(_templates(sample_instance()))
    template["capabilities"]["virtual_compute"]["properties"]["virtual_cpu"]["num_virtual_cpus"] = 14
    with pytest.raises(AssertionError):
        _check_template(template)


def test_names_of_strangers_stay_words_in_yaml() -> None:
    for text in (k8s.write_manifests(hostile_instance()), tosca.write_service(hostile_instance())):
        documents = list(yaml.safe_load_all(text))
        assert all("evil" not in each for each in documents)
        assert "\x00" not in text


def test_long_names_stay_apart_and_short_enough() -> None:
    vmd, placement = small_vm()
    names = [
        build_instance(vmd, placement.model_copy(update={"vm": "v" * 300 + end}), host(shape=Shape(nodes=1))).name
        for end in "ab"
    ]
    assert names[0] != names[1]
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", each) for each in names)


def _check_extra_spec(name: str, value: str) -> None:
    definition = NOVA.get(re.sub(r"\.\d+$", ".{num}", name)) or NOVA.get(name.replace("trait:", "trait{group}:"))
    assert definition, f"{name} is not known"
    if definition["type"] == "int":
        assert int(value) >= definition.get("min", 0)
    if definition["type"] == "bool":
        assert value in ("true", "false")
    assert value in definition.get("enum", [value])
    assert re.fullmatch(definition.get("pattern", ".*"), value), f"{name}={value}"


def _check_manifest(document: Mapping[str, Any]) -> None:
    if document["kind"] == "NetworkAttachmentDefinition":  # Multus' own; its config is CNI's
        config = json.loads(document["spec"]["config"])
        assert {"cniVersion", "name", "type"} <= config.keys()
        return
    VALIDATORS[document["kind"]].validate(document)


def _templates(whole: Instance) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load(tosca.write_service(whole))["topology_template"]["node_templates"].values()


def _check_template(template: Mapping[str, Any]) -> None:
    kind = SOL001[template["type"]]
    _check_properties(template["type"], template["properties"])
    for name, capability in template.get("capabilities", {}).items():
        _check_properties(kind["capabilities"][name], capability["properties"])
    for requirement in template.get("requirements", []):
        assert set(requirement) <= set(kind["requirements"])


def _check_properties(kind: str, result: Mapping[str, Any]) -> None:
    definition = _properties(kind)
    assert set(result) <= set(definition), f"{kind}: {set(result) - set(definition)}"
    missing = {name for name, each in definition.items() if each.get("required", True)} - set(result)
    assert not missing, f"{kind}: {missing}"
    for name, value in result.items():
        _check_value(definition[name], value)


def _properties(kind: str) -> dict[str, Any]:
    if kind not in SOL001:
        return {}
    return _properties(SOL001[kind]["derived_from"]) | SOL001[kind]["properties"]


def _check_value(existing: Mapping[str, Any], value: Any) -> None:
    kind = existing["type"]
    for constraint in existing.get("constraints", []):
        assert value in constraint.get("valid_values", [value])
        assert "greater_or_equal" not in constraint or kind != "integer" or value >= constraint["greater_or_equal"]
    if kind in ("list", "map"):
        assert isinstance(value, list if kind == "list" else dict)
        for each in value if kind == "list" else value.values():
            _check_value(existing["entry_schema"], each)
    elif kind in SCALARS:
        assert not isinstance(value, (list, dict))
        assert isinstance(value, str) == (kind not in ("integer", "boolean")), f"{kind}: {value!r}"
        assert re.fullmatch(SCALARS[kind], str(value), re.DOTALL), f"{kind}: {value!r}"
    else:
        _check_properties(kind, value)
