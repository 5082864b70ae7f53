"""Which host checks are about which rows of table 3."""

CHECKS: dict[str, tuple[str, ...]] = {
    "Clock rate": ("A6",),
    "Large pages support": ("H1", "A11"),
    "I/O Large pages support": ("H2",),
    "TLB cache with large pages support": ("H3",),
    "I/O TLB cache with large pages support": ("H4",),
    "Interrupt affinity": ("A3", "A4"),
    "Deterministic allocation of threads in CPUs (pinning between vCPU and CPU)": ("Y7",),
    "Deterministic memory allocation (pinning between vMemory and Memory)": ("Y8", "Y9"),
    "Independent memory structures per thread (no shared structures)": ("A9",),
    "CPU isolation": ("A2",),
    "Polling-mode drivers": ("A1",),
    "DMA": ("A10",),
    "Direct I/O access to processor cache": ("H13",),
    "Flow affinity/steering by I/O devices": ("A8",),
    "Instructions to reduce the number of VM exits under certain common operations": ("H5",),
    "Second-level address translation services": ("H6", "Y1"),
    "Second-level address translation services for large pages": ("H7", "Y2"),
    "Second-level address translation services for I/O": ("H10", "Y3"),
    "Second-level address translation services for large I/O pages": ("H11", "Y4"),
    "I/O interrupt remapping": ("H12", "Y5"),
    "Extension of processor caches with new fields to avoid cache eviction with VM exits": ("H8",),
    "Extension of processor TLB caches with new fields to avoid TLB flushes": ("H9",),
    "Independent TX/RX queues for virtual machines": ("A8",),
    "SR-IOV": ("A12",),
}
RECORDS: dict[str, tuple[str, ...]] = {
    "Processor architecture": ("R2",),
    "Number of cores": ("R3",),
    "Memory access speed": ("R6",),
}
"""Rows about quantities: no check, but they have to be on record."""
