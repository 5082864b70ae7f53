"""Devices that compute beside the processor: cryptography, compression, others."""

from collections.abc import Iterator
from typing import Literal

from nodrop.host import pci, ports
from nodrop.host.pci import INTEL, PciFunction
from nodrop.host.pci_names import load_pci_names
from nodrop.host.ports import PortContext
from nodrop.model.chd import Accelerator
from nodrop.model.observation import Observation

ENCRYPTION, PROCESSING = 0x10, 0x12
"""Base classes. Source: PCI Code and ID Assignment Specification."""
CO_PROCESSOR = 0x0B40
"""Class and subclass."""
QUICK_ASSIST = frozenset(
    {0x0435, 0x37C8, 0x19E2, 0x18A0, 0x18EE, 0x6F54, 0x4940, 0x4942, 0x4944, 0x4946, 0x4948, 0x578A}
)
"""Of Intel: cryptography, as co-processors. Source: Linux, include/linux/pci_ids.h and drivers/crypto/intel/qat."""
STREAMING = frozenset({0x0B25, 0x0CFE, 0x11FB, 0x1212})
"""Of Intel: copy and analytics engines, among system peripherals. Source: Linux, drivers/dma/idxd/init.c."""


def describe(around: PortContext, functions: tuple[PciFunction, ...]) -> Iterator[Accelerator]:
    """Those of a machine; virtual ones are counted with theirs."""
    source = around.source
    for each in functions:
        kind = _kind(each)
        if kind and not each.virtual_of:
            yield Accelerator(
                pci_id=each.id,
                kind=kind,
                node=pci.find_node(source, each.path),
                vendor=load_pci_names().vendor(source.moment, each.vendor),
                model=load_pci_names().device(source.moment, each.vendor, each.device),
                in_use=ports.observe_in_use(around, each),
                vf_count=_virtual(around, each),
            )


def _kind(function: PciFunction) -> Literal["crypto", "other"] | None:
    intel = function.vendor == INTEL
    if function.base_class == ENCRYPTION or (intel and function.device in QUICK_ASSIST):
        return "crypto"
    if function.base_class == PROCESSING or function.class_code >> 8 == CO_PROCESSOR:
        return "other"
    return "other" if intel and function.device in STREAMING else None


def _virtual(around: PortContext, function: PciFunction) -> Observation[int]:
    source, path = around.source, f"{function.path}/sriov_numvfs"
    found = source.tree.number(path)
    if found is not None and 0 <= found < 1 << 16:
        return source.moment.reported(found, path)
    if source.tree.exists(function.path) and not source.tree.exists(path):
        return source.moment.inferred(0, function.path, "it cannot be shared by SR-IOV")
    why = source.tree.why(path) if found is None else f"holds {found}, no number of virtual functions"
    return source.moment.unknown(why, path)
