"""VM Configuration as TOSCA node templates of ETSI GS NFV-SOL 001.

Types and properties are those of V2.6.1, which later versions retain.
"""

from typing import Any

import yaml

from nodrop.model.placement import PlacedInterface
from nodrop.vm.config import guest
from nodrop.vm.config.instance import Instance, PlacedPiece
from nodrop.vm.config.limitations import format_hash_comments, to_plain_line

MEBIBYTE = 2**20
TYPES = "etsi_nfv_sol001_vnfd_types.yaml"
NODE = "tosca.nodes.nfv."


def write_service(instance: Instance) -> str:
    """Return a service template with the VM's compute, connection points and storage."""
    document = {
        "tosca_definitions_version": "tosca_simple_yaml_1_2",
        "description": f"{to_plain_line(instance.placement.vm)} on {to_plain_line(instance.placement.hostname)}",
        "imports": [TYPES],
        "topology_template": {"node_templates": build_templates(instance)},
    }
    return format_hash_comments(collect_notes(instance)) + yaml.safe_dump(document, sort_keys=False, width=120)


def build_templates(instance: Instance) -> dict[str, Any]:
    """Build the node templates by name."""
    name = instance.name
    disks = {f"{name}-disk{number}": each for number, each in enumerate(instance.profile.disks)}
    compute = _build_compute(instance)
    if disks:
        compute["requirements"] = [{"virtual_storage": each} for each in disks]
    templates = {name: compute}
    for order, (piece, line) in enumerate(instance.lines):
        templates[f"{name}-cp{order}"] = _build_connection(instance, piece, line, order)
    for disk, requested in disks.items():
        properties = {"virtual_block_storage_data": {"size_of_storage": _format_size(requested.size_bytes)}}
        templates[disk] = {"type": f"{NODE}Vdu.VirtualBlockStorage", "properties": properties}
    return templates


def collect_notes(instance: Instance) -> tuple[str, ...]:
    """Collect what SOL 001 leaves undefined."""
    return (
        f"VM {instance.placement.vm} on {instance.placement.hostname}, as expressible in ETSI GS NFV-SOL 001 V2.6.1.",
        f"{TYPES} is ETSI's own file; place it next to this one.",
        "Keys and values of *_requirements are strings not defined by SOL 001: those here are nodrop's own terms.",
    )


def _build_compute(instance: Instance) -> dict[str, Any]:
    properties = {
        "name": instance.name,
        "description": to_plain_line(instance.placement.vm) or instance.name,
        "nfvi_constraints": [f"compute host {to_plain_line(instance.placement.hostname)}"],
        "vdu_profile": {"min_number_of_instances": 1, "max_number_of_instances": 1},
    }
    virtual = {
        "logical_node": {f"set{each.number}": _build_logical_node(each) for each in instance.pieces},
        "virtual_memory": _build_memory(instance),
        "virtual_cpu": _build_cpu(instance),
    }
    return {
        "type": f"{NODE}Vdu.Compute",
        "properties": properties,
        "capabilities": {"virtual_compute": {"properties": virtual}},
    }


def _build_cpu(instance: Instance) -> dict[str, Any]:
    profile, shape = instance.profile, guest.compute_topology(instance)
    architecture = profile.processor.architecture or instance.host.capabilities.processor.architecture.value
    cpu: dict[str, Any] = {"cpu_architecture": architecture} if architecture else {}
    cpu["num_virtual_cpu"] = len(instance.cpu_of)
    if profile.processor.reference_mhz:
        cpu["virtual_cpu_clock"] = f"{profile.processor.reference_mhz:g} MHz"
    ratio = "allowed" if profile.cpu_oversubscription_allowed else "1:1"
    cpu["virtual_cpu_oversubscription_policy"] = ratio
    requirements = {
        "sockets": str(shape.sockets),
        "coresPerSocket": str(shape.cores),
        "threadsPerCore": str(shape.threads),
        "simultaneousMultiThreading": "enabled" if shape.threads > 1 else "disabled",
    }
    if profile.processor.isa_extensions:
        requirements["instructionSetRequirements"] = ",".join(profile.processor.isa_extensions)
    cpu["vdu_cpu_requirements"] = requirements
    rules = [f"vCPU {vcpu}: CPU {number}" for vcpu, number in instance.cpu_of.items()]
    if instance.placement.emulator_cpus:
        rules.append(f"emulator: CPU {','.join(map(str, instance.placement.emulator_cpus))}")
    cpu["virtual_cpu_pinning"] = {"virtual_cpu_pinning_policy": "static", "virtual_cpu_pinning_rule": rules}
    return cpu


def _build_memory(instance: Instance) -> dict[str, Any]:
    cells = guest.list_cells(instance)
    memory: dict[str, Any] = {
        "virtual_mem_size": _format_size(sum(each.memory_bytes for each in cells)),
        "virtual_mem_oversubscription_policy": "allowed" if instance.profile.memory_oversubscription_allowed else "1:1",
    }
    sizes = sorted({each.page_bytes for each in cells if each.page_bytes})
    requirements = {"memoryAllocationPolicy": "strictLocalAssignment"}
    if sizes:
        counts = [sum(each.memory_bytes for each in cells if each.page_bytes == size) // size for size in sizes]
        requirements["memoryPageSize"] = ",".join(map(_format_size, sizes))
        requirements["numberOfPages"] = ",".join(map(str, counts))
    memory["vdu_mem_requirements"] = requirements
    memory["numa_enabled"] = True
    return memory


def _build_logical_node(piece: PlacedPiece) -> dict[str, Any]:
    placed = piece.placed
    requirements = {
        "numaNode": str(placed.node),
        "vcpus": ",".join(map(str, piece.vcpus)),
        "normalMemory": _format_size(placed.normal_bytes),
    }
    if piece.pairs:
        requirements["threadPairs"] = " ".join(",".join(map(str, each)) for each in piece.pairs)
    if placed.large_page_count and placed.large_page_bytes:
        requirements["memoryPageSize"] = _format_size(placed.large_page_bytes)
        requirements["numberOfPages"] = str(placed.large_page_count)
    if placed.devices:
        requirements["pciAddresses"] = ",".join(map(to_plain_line, placed.devices))
    return {"logical_node_requirements": requirements}


def _build_connection(instance: Instance, piece: PlacedPiece, line: PlacedInterface, order: int) -> dict[str, Any]:
    names = {"dedicated": "fully dedicated port", "sriov": "SR-IOV function", "vswitch": "virtual switch"}
    requirements = {"interfaceType": names[line.mode], "speed": f"{line.speed_bps:.0f} bit/s"}
    node_requirements = {"numaNode": str(piece.placed.node)}
    if line.mode == "vswitch":
        node_requirements["virtualSwitch"] = to_plain_line(f"{line.vswitch} ({line.vswitch_kind})")
    else:
        node_requirements["pciAddress"] = to_plain_line(line.pci_id)
    properties: dict[str, Any] = {"layer_protocols": ["ethernet"], "order": order}
    if line.bandwidth_bps:
        properties["bitrate_requirement"] = round(line.bandwidth_bps)
    if line.mode != "sriov":
        properties["vnic_type"] = "direct-physical" if line.mode == "dedicated" else "virtio"
    properties["virtual_network_interface_requirements"] = [
        {
            "support_mandatory": True,
            "network_interface_requirements": requirements,
            "nic_io_requirements": {"logical_node_requirements": node_requirements},
        }
    ]
    binding = [{"virtual_binding": instance.name}]
    return {"type": f"{NODE}VduCp", "properties": properties, "requirements": binding}


def _format_size(size: int) -> str:
    """Format a scalar-unit.size of TOSCA."""
    for unit, step in (("GiB", 2**30), ("MiB", MEBIBYTE), ("KiB", 1024)):
        if size and size % step == 0:
            return f"{size // step} {unit}"
    return f"{size} B"
