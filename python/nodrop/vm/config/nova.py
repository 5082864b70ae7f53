"""VM Configuration for OpenStack: commands for a flavor with extra specs, ports and a server.

Source: Nova's and Neutron's own definitions; extra specs as validated by Nova 34.0.0.
"""

import re
from collections.abc import Iterator
from shlex import quote
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.cloud import CloudFlavor
from nodrop.vm.config import guest
from nodrop.vm.config.instance import Instance, PlacedPiece
from nodrop.vm.config.limitations import format_hash_comments

MEBIBYTE = 2**20
GIBIBYTE = 2**30
VNIC_TYPES = {"dedicated": "direct-physical", "sriov": "direct", "vswitch": "normal"}
TRAITS = {
    "aes": "AESNI",
    "avx": "AVX",
    "avx2": "AVX2",
    "avx512bw": "AVX512BW",
    "avx512cd": "AVX512CD",
    "avx512dq": "AVX512DQ",
    "avx512f": "AVX512F",
    "avx512vl": "AVX512VL",
    "bmi1": "BMI",
    "bmi2": "BMI2",
    "fma": "FMA3",
    "pclmulqdq": "CLMUL",
    "sha_ni": "SHA",
    "sse4_1": "SSE41",
    "sse4_2": "SSE42",
}
"""os-traits names after `HW_CPU_X86_`, by the kernel's name of an ISA extension."""
CRYPTO_ALIAS = "crypto"
OTHER_ALIAS = "device"


class NovaCell(NamedTuple):
    """A NUMA node of the guest; Nova never puts two on one node of the host."""

    vcpus: tuple[int, ...]
    memory_mib: int
    host_node: int


def write_commands(instance: Instance, image: str = "") -> str:
    """Return a POSIX shell script with the `openstack` client that creates the VM. Raises ConfigError."""
    server = _format_server(instance, image)
    return "\n".join(
        (
            "#!/bin/sh",
            *format_hash_comments(collect_notes(instance)).splitlines(),
            "set -e",
            "",
            _format_flavor(instance),
            *_format_ports(instance),
            server,
        )
    )


def build_extra_specs(instance: Instance) -> dict[str, str]:
    """Build the flavor's extra specs, in Nova's order. Raises ConfigError."""
    profile, shape, cells = instance.profile, guest.compute_topology(instance), list_numa_cells(instance)
    specs = {}
    if profile.cpu_oversubscription_allowed:
        specs["hw:cpu_policy"] = "shared"
    else:
        specs |= {
            "hw:cpu_policy": "dedicated",
            "hw:cpu_thread_policy": "require" if shape.threads > 1 else _get_thread_policy(instance),
            "hw:emulator_threads_policy": "share",
        }
    for name, count in shape._asdict().items():
        specs[f"hw:cpu_{name}"] = str(count)
    specs["hw:numa_nodes"] = str(len(cells))
    for number, cell in enumerate(cells):
        specs[f"hw:numa_cpus.{number}"] = ",".join(map(str, cell.vcpus))
        specs[f"hw:numa_mem.{number}"] = str(cell.memory_mib)
    page = find_page_bytes(instance)
    specs["hw:mem_page_size"] = f"{page // 1024}kB" if page else "small"
    if not profile.memory_oversubscription_allowed:
        specs["hw:locked_memory"] = "true"
    if instance.has_device:
        specs |= {"hw:pci_numa_affinity_policy": "required", "hw:viommu_model": "auto"}
    if any(line.mode == "vswitch" for piece in instance.pieces for line in piece.placed.interfaces):
        specs["hw:vif_multiqueue_enabled"] = "true"
    if aliases := _format_aliases(instance):
        specs["pci_passthrough:alias"] = aliases
    for flag in profile.processor.isa_extensions:
        if flag in TRAITS:
            specs[f"trait:HW_CPU_X86_{TRAITS[flag]}"] = "required"
    return specs


def list_numa_cells(instance: Instance) -> tuple[NovaCell, ...]:
    """Return one cell per host node with vCPUs; memory on other nodes is added to the first."""
    unsorted = []
    for node in instance.nodes:
        pieces = [each for each in instance.pieces if each.placed.node == node]
        vcpus = tuple(sorted(vcpu for each in pieces for vcpu in each.vcpus))
        unsorted.append(NovaCell(vcpus, sum(_compute_memory_mib(instance, each) for each in pieces), node))
    cells = sorted((each for each in unsorted if each.vcpus), key=lambda cell: cell.vcpus)
    rest = sum(each.memory_mib for each in unsorted if not each.vcpus)
    return (cells[0]._replace(memory_mib=cells[0].memory_mib + rest), *cells[1:])


def find_page_bytes(instance: Instance) -> int | None:
    """Return the page size of all memory, as Nova has one per VM: the largest requested. None: none requested."""
    return (
        max((each.placed.large_page_bytes or 0 for each in instance.pieces if each.placed.large_page_count), default=0)
        or None
    )


def collect_notes(instance: Instance) -> tuple[str, ...]:
    """Collect what Nova cannot express, and its required setup."""
    return (
        f"VM {instance.placement.vm} on {instance.placement.hostname}, as a request to OpenStack.",
        "Nova chooses the CPUs itself and accepts no list. The placement maps vCPUs to CPUs "
        f"{', '.join(f'{vcpu}:{cpu}' for vcpu, cpu in instance.cpu_of.items())}. "
        "Compare after the start, on the host: nodrop vm verify NAME --placement FILE",
        "nova.conf of the host: [compute] cpu_dedicated_set has to hold these CPUs"
        + (
            f", cpu_shared_set the hypervisor's own threads ({', '.join(map(str, instance.placement.emulator_cpus))})."
            if instance.placement.emulator_cpus
            else "; cpu_shared_set CPUs for the hypervisor's own threads."
        ),
        *_list_node_notes(instance),
        *_list_memory_notes(instance),
        *_list_device_notes(instance),
    )


def build_flavor(instance: Instance) -> CloudFlavor:
    """Build the flavor. Raises ConfigError."""
    return CloudFlavor(
        name=instance.name,
        vcpus=len(instance.cpu_of),
        ram_mib=sum(each.memory_mib for each in list_numa_cells(instance)),
        disk_gib=-(-instance.profile.disks[0].size_bytes // GIBIBYTE) if instance.profile.disks else 0,
        extra_specs=build_extra_specs(instance),
    )


def _format_flavor(instance: Instance) -> str:
    flavor = build_flavor(instance)
    head = f"openstack flavor create --vcpus {flavor.vcpus} --ram {flavor.ram_mib} --disk {flavor.disk_gib}"
    properties = [f"  --property {quote(f'{name}={value}')}" for name, value in flavor.extra_specs.items()]
    return " \\\n".join((head, *properties, f"  {instance.name}")) + "\n"


def _format_ports(instance: Instance) -> list[str]:
    commands = []
    for number, (piece, line) in enumerate(instance.lines):
        name = _build_port_name(instance, number)
        policy = ""
        if line.bandwidth_bps and line.mode != "dedicated":
            kbps = round(line.bandwidth_bps / 1000)
            commands.append(f"openstack network qos policy create {name}")
            for direction in ("egress", "ingress"):
                commands.append(
                    f"openstack network qos rule create --type minimum-bandwidth --min-kbps {kbps} --{direction} {name}"
                )
            policy = f" --qos-policy {name}"
        network = f'"${{NETWORK_{number}:?the network of interface {line.index} of vCPU set {piece.placed.index}}}"'
        commands.append(f"openstack port create --network {network} --vnic-type {VNIC_TYPES[line.mode]}{policy} {name}")
    return [*commands, ""] if commands else []


def _format_server(instance: Instance, image: str) -> str:
    if not instance.placement.hostname:
        raise ConfigError(f"placement of {instance.placement.vm!r} names no host; Nova needs its name")
    image = image or instance.vmd.image
    chosen = quote(image) if image else '"${IMAGE:?name of the image in Glance}"'
    ports = [f"  --port {_build_port_name(instance, number)}" for number, _ in enumerate(instance.lines)]
    head = f"openstack --os-compute-api-version 2.74 server create --flavor {instance.name} --image {chosen}"
    host_option = f"  --host {quote(instance.placement.hostname)}"
    return " \\\n".join((head, *(ports or ["  --nic none"]), host_option, f"  {instance.name}")) + "\n"


def _build_port_name(instance: Instance, number: int) -> str:
    return f"{instance.name}-{number}"


def _compute_memory_mib(instance: Instance, piece: PlacedPiece) -> int:
    """Return the memory in MiB, rounded up to pages."""
    step = max(find_page_bytes(instance) or 0, MEBIBYTE)
    size = piece.placed.memory_bytes
    return -(-size // step) * step // MEBIBYTE


def _get_thread_policy(instance: Instance) -> str:
    used = list(instance.cpu_of.values())
    alone = all(len(instance.siblings.get(cpu, frozenset({cpu})) & set(used)) == 1 for cpu in used)
    policy = instance.profile.thread_policy
    return policy if policy != "require" else "isolate" if alone else "prefer"


def _format_aliases(instance: Instance) -> str:
    requested: dict[str, int] = {}
    for each in instance.profile.other_io:
        name = CRYPTO_ALIAS if each.kind == "crypto" else OTHER_ALIAS
        name = re.sub(r"[^a-z0-9]+", "-", each.model.lower()).strip("-") or name
        requested[name] = requested.get(name, 0) + each.count
    return ",".join(f"{name}:{count}" for name, count in requested.items())


def _list_node_notes(instance: Instance) -> Iterator[str]:
    if len(instance.nodes) < len(instance.pieces):
        yield (
            f"{len(instance.pieces)} vCPU sets are on {len(instance.nodes)} of the host's NUMA nodes. Nova puts no two "
            "guest nodes on one of the host's, so sets that share one are one guest node here."
        )
    if len(instance.nodes) > 1:
        node_pairs = ", ".join(f"{number}:{each.host_node}" for number, each in enumerate(list_numa_cells(instance)))
        yield (
            f"Nova chooses which of the host's NUMA nodes each guest node gets; the placement has {node_pairs} "
            "(guest:host). It keeps devices on one of them, but not on a particular one."
        )


def _list_memory_notes(instance: Instance) -> list[str]:
    page = find_page_bytes(instance)
    if page is None:
        return []
    mixed = [each for each in instance.pieces if each.placed.normal_bytes or each.placed.large_page_bytes != page]
    if not mixed:
        return []
    number, unit = guest.split_memory_unit(page)
    sizes = ", ".join(
        f"{each.memory_mib * MEBIBYTE // page} on node {each.host_node}" for each in list_numa_cells(instance)
    )
    return [
        f"Nova backs all of a VM's memory with pages of one size, here {number} {unit}: it uses {sizes}, more "
        "than in the placement. Make sure that they are free."
    ]


def _list_device_notes(instance: Instance) -> Iterator[str]:
    if instance.has_device:
        yield "The image has to set hw_machine_type=q35 (on Arm: virt), for the guest's own IOMMU."
    functions = sorted(line.pci_id for _, line in instance.lines if line.mode != "vswitch")
    if functions:
        yield f"nova.conf of the host: [pci] device_spec has to list {', '.join(functions)}."
    if aliases := _format_aliases(instance):
        devices = sorted(each for piece in instance.pieces for each in piece.placed.devices)
        yield f"nova.conf: [pci] alias has to define {aliases}; the placement has {', '.join(devices) or 'none'}."
    unnamed = [each for each in instance.profile.processor.isa_extensions if each not in TRAITS]
    if unnamed:
        yield f"Instruction sets without a trait in Nova: {', '.join(unnamed)}. The placement has checked them."
