"""VM Configuration for Kubernetes: a pod with one container per vCPU set, and the required node setup.

A vCPU set has to be within one NUMA node, which the topology manager ensures per container. Source: Kubernetes'
CPU, memory and topology managers; the SR-IOV network device plugin; Multus.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from nodrop.errors import ConfigError
from nodrop.model.placement import PlacedInterface
from nodrop.vm.config.instance import Instance, PlacedPiece, parse_pci_address
from nodrop.vm.config.limitations import format_hash_comments

MEBIBYTE = 2**20
PREFIX = "nodrop.io"
"""Prefix of device plugin resources."""
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
NORMAL_MIN_BYTES = 128 * MEBIBYTE
"""For a container whose set has large pages only: Kubernetes requires normal memory for guaranteed pods."""
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "single-numa-node",
    "topologyManagerScope": "container",
}


class _ManifestDumper(yaml.SafeDumper):
    """Writes multi-line strings as block scalars."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_ManifestDumper.add_representer(str, _represent_text)


def write_manifests(instance: Instance, image: str = "") -> str:
    """Return the pod, networks and device plugin resources as one file for `kubectl apply`. Raises ConfigError."""
    documents = [*build_device_plugin(instance), *build_networks(instance), build_pod(instance, image)]
    text = yaml.dump_all(documents, Dumper=_ManifestDumper, sort_keys=False, width=120)
    return format_hash_comments(collect_notes(instance)) + "---\n" + text


def build_pod(instance: Instance, image: str = "") -> dict[str, Any]:
    """Build the pod. Raises ConfigError if the host's name is not a valid label."""
    host = instance.placement.hostname
    if not LABEL.fullmatch(host):
        raise ConfigError(f"host name {host!r}: not a valid label value, so no Kubernetes node has it")
    lines = [_build_network_name(instance, piece, line) for piece, line in instance.lines]
    metadata: dict[str, Any] = {"name": instance.name}
    if lines:
        metadata["annotations"] = {"k8s.v1.cni.cncf.io/networks": ", ".join(lines)}
    spec: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": host}, "restartPolicy": "Never"}
    sizes = _list_page_sizes(instance)
    spec["containers"] = [_build_container(instance, each, image) for each in instance.pieces]
    if sizes:
        spec["volumes"] = [
            {"name": f"hugepages-{size.lower()}", "emptyDir": {"medium": f"HugePages-{size}"}} for size in sizes
        ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def build_device_plugin(instance: Instance) -> list[dict[str, Any]]:
    """Build the device plugin's resources: one per function of the placement."""
    resources: list[dict[str, Any]] = [
        {
            "resourceName": _build_resource(instance, piece, line),
            "resourcePrefix": PREFIX,
            "selectors": [{"pciAddresses": [_build_address(line.pci_id)]}],
        }
        for piece, line in instance.lines
        if line.mode != "vswitch"
    ]
    resources += [
        {
            "resourceName": _build_device(instance, piece, number),
            "resourcePrefix": PREFIX,
            "deviceType": "accelerator",
            "selectors": [{"pciAddresses": [_build_address(address)]}],
        }
        for piece in instance.pieces
        for number, address in enumerate(piece.placed.devices)
    ]
    if not resources:
        return []
    config = json.dumps({"resourceList": resources}, indent=2)
    metadata = {"name": "sriovdp-config", "namespace": "kube-system"}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"config.json": config}}]


def build_networks(instance: Instance) -> list[dict[str, Any]]:
    """Build one NetworkAttachmentDefinition of Multus per interface."""
    networks = []
    for piece, line in instance.lines:
        metadata: dict[str, Any] = {"name": _build_network_name(instance, piece, line)}
        if line.mode != "vswitch":
            metadata["annotations"] = {
                "k8s.v1.cni.cncf.io/resourceName": f"{PREFIX}/{_build_resource(instance, piece, line)}"
            }
        networks.append(
            {
                "apiVersion": "k8s.cni.cncf.io/v1",
                "kind": "NetworkAttachmentDefinition",
                "metadata": metadata,
                "spec": {"config": json.dumps(_build_cni(instance, piece, line))},
            }
        )
    return networks


def collect_notes(instance: Instance) -> tuple[str, ...]:
    """Collect what Kubernetes cannot express, and its required setup."""
    kubelet = "; ".join(f"{key}: {json.dumps(value)}" for key, value in list(KUBELET.items())[2:])
    return (
        f"VM {instance.placement.vm} on {instance.placement.hostname}, as a pod. The image has to be a container "
        "image.",
        f"The node's kubelet has to run with {kubelet}, and to reserve the CPUs that are not for pods "
        f"(reservedSystemCPUs{_format_reserved(instance)}).",
        "The kubelet chooses the CPUs itself and accepts no list. The placement maps vCPUs to CPUs "
        f"{', '.join(f'{vcpu}:{cpu}' for vcpu, cpu in instance.cpu_of.items())}.",
        *_list_set_notes(instance),
        *_list_line_notes(instance),
    )


def _build_container(instance: Instance, piece: PlacedPiece, image: str) -> dict[str, Any]:
    placed = piece.placed
    if not placed.cpus:
        raise ConfigError(
            f"placement of {instance.placement.vm!r}: memory of vCPU set {placed.index} is on node {placed.node} "
            "without any of its vCPUs; a container has both on one node"
        )
    normal = placed.normal_bytes or NORMAL_MIN_BYTES
    amounts = {"cpu": str(len(placed.cpus)), "memory": f"{-(-normal // MEBIBYTE)}Mi"}
    if placed.large_page_count and placed.large_page_bytes:
        size = _format_page_size(placed.large_page_bytes)
        amounts[f"hugepages-{size}"] = f"{placed.large_page_count * placed.large_page_bytes // MEBIBYTE}Mi"
    for line in placed.interfaces:
        if line.mode != "vswitch":
            amounts[f"{PREFIX}/{_build_resource(instance, piece, line)}"] = "1"
    for number, _ in enumerate(placed.devices):
        amounts[f"{PREFIX}/{_build_device(instance, piece, number)}"] = "1"
    container: dict[str, Any] = {
        "name": f"set{piece.number}",
        "image": image or instance.vmd.image or f"{instance.name}:latest",
        "resources": {"requests": amounts, "limits": dict(amounts)},
    }
    if placed.large_page_count and placed.large_page_bytes:
        size = _format_page_size(placed.large_page_bytes)
        name = f"hugepages-{size.lower()}"
        container["volumeMounts"] = [{"name": name, "mountPath": f"/dev/{name}"}]
    return container


def _build_cni(instance: Instance, piece: PlacedPiece, line: PlacedInterface) -> dict[str, Any]:
    config: dict[str, Any] = {"cniVersion": "0.3.1", "name": _build_network_name(instance, piece, line)}
    if line.mode == "dedicated":
        return {**config, "type": "host-device"}
    if line.mode == "sriov":
        rate = {"max_tx_rate": round(line.bandwidth_bps / 1e6)} if line.bandwidth_bps else {}
        return {**config, "type": "sriov", **rate}
    kinds = {"linux-bridge": "bridge", "ovs": "ovs", "ovn": "ovs", "ovs-dpdk": "userspace", "vpp": "userspace"}
    if line.vswitch_kind not in kinds or not line.vswitch:
        raise ConfigError(
            f"placement of {instance.placement.vm!r}: interface {line.index} of vCPU set {piece.placed.index} is on "
            f"virtual switch {line.vswitch!r} of kind {line.vswitch_kind!r}; known kinds: {', '.join(kinds)}"
        )
    kind = kinds[line.vswitch_kind]
    if kind == "userspace":
        side = {"engine": line.vswitch_kind, "iftype": "vhostuser"}
        bridge = {"netType": "bridge", "vhost": {"mode": "client"}, "bridge": {"bridgeName": line.vswitch}}
        pod_side = {"netType": "interface", "vhost": {"mode": "server"}}
        return {**config, "type": kind, "host": side | bridge, "container": side | pod_side}
    return {**config, "type": kind, "bridge": line.vswitch}


def _build_network_name(instance: Instance, piece: PlacedPiece, line: PlacedInterface) -> str:
    return f"{instance.name}-{piece.placed.index}-{line.index}"


def _build_resource(instance: Instance, piece: PlacedPiece, line: PlacedInterface) -> str:
    return _build_resource_name(f"{instance.name}-{piece.placed.index}-net{line.index}")


def _build_device(instance: Instance, piece: PlacedPiece, number: int) -> str:
    return _build_resource_name(f"{instance.name}-{piece.placed.index}-device{number}")


def _build_resource_name(name: str) -> str:
    """Return a valid resource name, without dashes."""
    return name.replace("-", "_")


def _build_address(text: str) -> str:
    address = parse_pci_address(text)
    return f"{address.domain}:{address.bus}:{address.slot}.{address.function}"


def _format_page_size(size: int) -> str:
    """Format a page size for Kubernetes: 2Mi, 1Gi."""
    for unit, step in (("Gi", 2**30), ("Mi", MEBIBYTE)):
        if size % step == 0:
            return f"{size // step}{unit}"
    return f"{size // 1024}Ki"


def _list_page_sizes(instance: Instance) -> list[str]:
    sizes = {
        each.placed.large_page_bytes
        for each in instance.pieces
        if each.placed.large_page_count and each.placed.large_page_bytes
    }
    return [_format_page_size(each) for each in sorted(sizes)]


def _format_reserved(instance: Instance) -> str:
    cpus = instance.placement.emulator_cpus
    return f", {','.join(map(str, cpus))} among them" if cpus else ""


def _list_set_notes(instance: Instance) -> Iterator[str]:
    if len(instance.pieces) > 1:
        yield (
            f"{len(instance.pieces)} vCPU sets become as many containers: the topology manager keeps each within "
            "one NUMA node, not a pod, and does not let you select the node."
        )
    threads = max((len(each) for each in instance.siblings.values()), default=1)
    for each in instance.pieces:
        if len(each.placed.cpus) % threads:
            yield (
                f"vCPU set {each.placed.index} has {len(each.placed.cpus)} CPUs: with full-pcpus-only the kubelet "
                f"rejects counts that are not a multiple of {threads}, the threads of a core."
            )
        if not each.placed.normal_bytes:
            yield (
                f"vCPU set {each.placed.index} requires no normal memory; a guaranteed container needs some, so it has "
                f"{NORMAL_MIN_BYTES // MEBIBYTE} MiB here."
            )


def _list_line_notes(instance: Instance) -> Iterator[str]:
    for piece, line in instance.lines:
        label = f"Interface {line.index} of vCPU set {piece.placed.index}"
        if line.mode == "vswitch" and line.bandwidth_bps:
            yield f"{label}: its {round(line.bandwidth_bps / 1e6)} Mbit/s have to be limited in the switch itself."
    if any(line.mode != "vswitch" for _, line in instance.lines):
        yield "The ConfigMap is the SR-IOV network device plugin's; add its resources to the existing ones."
