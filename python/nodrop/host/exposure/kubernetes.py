"""Host features exposed by Kubernetes, queried with kubectl. Read-only.

Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/,
https://kubernetes-sigs.github.io/node-feature-discovery/, topology.node.k8s.io, SR-IOV network operator.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nodrop.host.inputs import ProgramOutput
from nodrop.model.exposure import FeatureExposure, StackExposure, build_absent, build_exposed, build_partly_exposed

NAME = "Kubernetes"
NODES, VERSION = "/api/v1/nodes", "/version"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
FUNCTIONS = "/apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"
LABELS = "feature.node.kubernetes.io/"
PLAIN = ("cpu", "memory", "pods", "ephemeral-storage", "hugepages-", "attachable-volumes-")
"""Resources of every node; others come from device plugins."""
CRYPTO = ("qat", "crypto")


class KubernetesNode(NamedTuple):
    """API objects of one node."""

    node: dict[str, Any]
    topology: dict[str, Any] | None
    """Its NodeResourceTopology; None: not present."""
    functions: dict[str, Any] | None
    """Its SriovNetworkNodeState; None: not present."""

    @property
    def allocatable(self) -> dict[str, str]:
        """Resources available to pods."""
        return {str(key): str(value) for key, value in self.node.get("status", {}).get("allocatable", {}).items()}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of node feature discovery, without their prefix."""
        labels = self.node.get("metadata", {}).get("labels", {})
        return {key.removeprefix(LABELS): str(value) for key, value in labels.items() if key.startswith(LABELS)}


def query_kubernetes(run: Callable[..., ProgramOutput], hostname: str) -> StackExposure:
    """Query the node of this name in the cluster configured for kubectl."""

    def get(path: str) -> ProgramOutput:
        return run("kubectl", "--request-timeout=2s", "get", "--raw", path)

    if not os.environ.get("KUBECONFIG") and not os.path.isfile(Path("~/.kube/config").expanduser()):  # noqa: PTH113 - never raises
        return _build_unavailable("no cluster is named: neither KUBECONFIG nor ~/.kube/config")
    answer = get(NODES)
    nodes = list(_list_items(answer))
    if not nodes:
        return _build_unavailable(answer.why or "it lists no node")
    node = next((each for each in nodes if _is_named(each, hostname)), None)
    if node is None:
        names = ", ".join(str(each.get("metadata", {}).get("name")) for each in nodes[:5])
        return _build_unavailable(f"this host, {hostname}, is none of its nodes: {names}")
    name = node.get("metadata", {}).get("name")
    answers = [
        next((each for each in _list_items(get(path)) if each["metadata"].get("name") == name), None)
        for path in (TOPOLOGIES, FUNCTIONS)
    ]
    exposed_node = KubernetesNode(node, *answers)
    return StackExposure(
        name=NAME,
        level="orchestrator",
        version=str(_parse_json(get(VERSION)).get("gitVersion", "")),
        features={key: way(exposed_node) for key, way in READERS.items()},
    )


def _build_unavailable(reason: str) -> StackExposure:
    unknown = FeatureExposure(status="unknown", value=reason)
    return StackExposure(name=NAME, level="orchestrator", why=reason, features=dict.fromkeys(READERS, unknown))


def _parse_json(answer: ProgramOutput) -> dict[str, Any]:
    try:
        document = json.loads(answer.text or "")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _list_items(answer: ProgramOutput) -> Iterator[dict[str, Any]]:
    items = _parse_json(answer).get("items")
    for each in items if isinstance(items, list) else ():
        if isinstance(each, dict) and isinstance(each.get("metadata"), dict):
            yield each


def _is_named(node: dict[str, Any], hostname: str) -> bool:
    addresses = node.get("status", {}).get("addresses", [])
    names = {
        node["metadata"].get("name"),
        *(each.get("address") for each in addresses if each.get("type") == "Hostname"),
    }
    return hostname in names


def _collect_resources(node: KubernetesNode, *words: str) -> dict[str, str]:
    """Return device plugin resources whose names contain any of these words; all without words."""
    extended = {key: value for key, value in node.allocatable.items() if not key.startswith(PLAIN)}
    return {key: value for key, value in extended.items() if not words or any(word in key.lower() for word in words)}


def _build_device_reader(*words: str, what: str) -> Callable[[KubernetesNode], FeatureExposure]:
    place = "status.allocatable, of device plugins"

    def way(node: KubernetesNode) -> FeatureExposure:
        resources = _collect_resources(node, *words)
        return build_exposed(_format_pairs(resources), place) if resources else build_absent(what, place)

    return way


def _format_pairs(pairs: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(pairs.items()))


def _build_label_reader(
    *beginnings: str, what: str, partly: bool = False
) -> Callable[[KubernetesNode], FeatureExposure]:
    place = f"labels {LABELS}{' or '.join(beginnings)}"

    def way(node: KubernetesNode) -> FeatureExposure:
        labels = {key: value for key, value in node.labels.items() if key.startswith(beginnings)}
        if not labels:
            return build_absent(f"{what}: node feature discovery sets none", place)
        value = (
            _format_pairs(labels)
            if len(labels) <= 3
            else f"{len(labels)} labels, as {_format_pairs(dict(list(labels.items())[:2]))}"
        )
        return (build_partly_exposed if partly else build_exposed)(value, place)

    return way


def _describe_memory(node: KubernetesNode) -> FeatureExposure:
    memory = node.allocatable.get("memory")
    place = "status.allocatable.memory"
    return build_exposed(f"{memory} allocatable", place) if memory else build_absent("such resource", place)


def _describe_large_pages(node: KubernetesNode) -> FeatureExposure:
    pages = {key: value for key, value in node.allocatable.items() if key.startswith("hugepages-")}
    place = "status.allocatable.hugepages-*"
    return build_exposed(_format_pairs(pages), place) if pages else build_absent("such resource", place)


def _build_zone_reader(what: str, partly: bool) -> Callable[[KubernetesNode], FeatureExposure]:
    """Return a reader for features of the node's resource topology."""
    place = "NodeResourceTopology.zones"

    def way(node: KubernetesNode) -> FeatureExposure:
        if node.topology is None:
            return build_absent(f"{what}: the node has no NodeResourceTopology", place)
        zones = [each for each in node.topology.get("zones", []) if each.get("type") == "Node"]
        names = sorted({resource.get("name", "") for each in zones for resource in each.get("resources", [])})
        value = f"{len(zones)} NUMA zones with {', '.join(names[:5])}"
        return (build_partly_exposed if partly else build_exposed)(value, place)

    return way


def _describe_functions(node: KubernetesNode) -> FeatureExposure:
    place = "SriovNetworkNodeState.status.interfaces"
    if node.functions is None:
        return _build_device_reader("sriov", "_vf", what="SR-IOV resource, and no SriovNetworkNodeState")(node)
    interfaces = node.functions.get("status", {}).get("interfaces", [])
    return build_exposed(
        ", ".join(f"{each.get('name')}: {each.get('totalvfs', 0)} functions" for each in interfaces) or "none", place
    )


def _describe_kernel(node: KubernetesNode) -> FeatureExposure:
    version = node.node.get("status", {}).get("nodeInfo", {}).get("kernelVersion")
    place = "status.nodeInfo.kernelVersion"
    return build_exposed(str(version), place) if version else build_absent("such field", place)


def _describe_cores(node: KubernetesNode) -> FeatureExposure:
    cpus = node.allocatable.get("cpu")
    place = "status.allocatable.cpu"
    if not cpus:
        return build_absent("such resource", place)
    return build_partly_exposed(f"{cpus} CPUs allocatable, by number and not by name", place)


READERS: dict[str, Callable[[KubernetesNode], FeatureExposure]] = {
    "hypervisor": _build_device_reader("kubevirt.io/kvm", what="kvm resource"),
    "iommu": _build_label_reader("iommu-", what="label"),
    "direct-cache": _build_label_reader("ddio", "cpu-ddio", what="label"),
    "memory": _describe_memory,
    "large-pages": _describe_large_pages,
    "nic": _build_label_reader("pci-0200", "pci-0280", "network-", what="label of a network card"),
    "crypto": _build_device_reader(*CRYPTO, what="resource of a crypto device"),
    "pci-socket": _build_zone_reader("node of a device", partly=True),
    "pci-bandwidth": _build_label_reader("pci-bandwidth", what="label"),
    "sriov": _describe_functions,
    "cpu": _build_label_reader("cpu-", what="label of the processor"),
    "ovs": _build_label_reader("ovs", "network-ovs", what="label"),
    "cores": _describe_cores,
    "isolation": _build_label_reader(
        "cpu-isolated", "kernel-config.NO_HZ_FULL", "kernel-config.NO_HZ", what="label", partly=True
    ),
    "core-socket": _build_zone_reader("socket or node of a CPU", partly=False),
    "kernel": _describe_kernel,
    "tlb": _build_label_reader("cpu-tlb", what="label"),
}
"""By key of the row."""
