"""A Nova driver whose servers have no guest: two NUMA nodes, huge pages, virtual functions; nothing runs.

Nova's fake driver lacks these, so flavors with pinned CPUs and SR-IOV ports would find no host. With this driver,
Nova's scheduler, resource tracker and Placement place them.
"""

import json
import uuid
from typing import Any, ClassVar

import os_resource_classes as orc
from nova import objects
from nova.virt import fake

NODES, NODE_CPUS, NODE_MIB, RESERVED_CPUS = 2, 16, 65536, 2
VFS_EACH = 4
VF_PRODUCT = {"physnet1": "1515", "physnet2": "1516"}
"""Same as in nova.conf's device_spec."""


class IdleDriver(fake.FakeDriver):  # type: ignore[misc]
    """Servers become ACTIVE at once. Virtual functions are on compute1 only."""

    capabilities: ClassVar[dict[str, bool]] = {**fake.FakeDriver.capabilities, "supports_pcpus": True}
    vcpus = NODES * NODE_CPUS
    memory_mb = NODES * NODE_MIB
    local_gb = 10000

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resource: dict[str, Any] = super().get_available_resource(nodename)
        if resource:
            resource["numa_topology"] = _topology()._to_json()
            resource["uuid"] = _uuid(nodename)
            resource["pci_passthrough_devices"] = json.dumps(_functions() if nodename == "compute1" else [])
        return resource

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:  # noqa: ARG002
        return {_uuid(name): name for name in self._nodes or ()}

    def update_provider_tree(self, provider_tree: Any, nodename: str, allocations: Any = None) -> None:
        super().update_provider_tree(provider_tree, nodename, allocations)
        count = NODES * (NODE_CPUS - RESERVED_CPUS)
        inventory = dict(provider_tree.data(nodename).inventory)
        inventory[orc.PCPU] = {
            "total": count,
            "min_unit": 1,
            "max_unit": count,
            "step_size": 1,
            "allocation_ratio": 1.0,
            "reserved": 0,
        }
        provider_tree.update_inventory(nodename, inventory)


def _uuid(nodename: str) -> str:
    """Return an id that is stable across starts and unique per host."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, nodename))


def _topology() -> Any:
    return objects.NUMATopology(cells=[_cell(index) for index in range(NODES)])


def _cell(index: int) -> Any:
    first = index * NODE_CPUS
    ids = set(range(first + RESERVED_CPUS, first + NODE_CPUS))
    pages = ((4, NODE_MIB * 256 // 4), (2048, NODE_MIB // 4), (1048576, 16))
    return objects.NUMACell(
        id=index,
        socket=index,
        cpuset=ids,
        pcpuset=ids,
        cpu_usage=0,
        memory=NODE_MIB,
        memory_usage=0,
        siblings=[{cpu} for cpu in sorted(ids)],
        pinned_cpus=set(),
        mempages=[objects.NUMAPagesTopology(size_kb=kb, total=total, used=0, reserved=0) for kb, total in pages],
        network_metadata=objects.NetworkMetadata(
            physnets={"physnet1", "physnet2"} if index == 0 else set(), tunneled=False
        ),
    )


def _functions() -> list[dict[str, Any]]:
    return [
        {
            "address": f"0000:0{card + 1}:10.{number}",
            "parent_addr": f"0000:0{card + 1}:00.0",
            "product_id": product,
            "vendor_id": "8086",
            "status": "available",
            "dev_type": "type-VF",
            "numa_node": 0,
            "dev_id": f"pci_0000_0{card + 1}_10_{number}",
            "label": f"label_8086_{product}",
        }
        for card, product in enumerate(VF_PRODUCT.values())
        for number in range(VFS_EACH)
    ]
