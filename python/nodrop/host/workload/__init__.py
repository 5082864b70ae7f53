"""Workload classes of VNFs, and the features relevant to them. Source: ETSI GS NFV-PER 001 tables 1 to 3.

The tables are in `data`, cell by cell as printed.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from nodrop.errors import ConfigError
from nodrop.model.workload import FeatureStanding, Layer, NetworkFunction, PerformanceFeature, WorkloadClass

TABLE_1 = "table 1"
NO_VNF = "N/A"
COLUMNS: tuple[tuple[str, str], ...] = (
    ("data plane", "edge NF"),
    ("data plane", "intermediate NF"),
    ("data plane", "intermediate NF with encryption"),
    ("control plane", "routing"),
    ("control plane", "authentication"),
    ("control plane", "session management"),
    ("signal processing", "signal processing"),
    ("signal processing", "signal processing, or storage"),
    ("storage", "non-intensive"),
    ("storage", "R/W intensive"),
)
"""Columns of table 1 from the third on. The table prints nine names over ten columns; its group heading `Storage` spans
the last two, consistent with clause 5's examples, a router that logs and a CDN cache node. The eighth has no name."""
UNNAMED_COLUMN = 7
UNCLEAR_WHY = (
    "the table's headings do not line up: the group says signal processing, the row of names non-intensive storage"
)
LAYERS: dict[str, Layer] = {
    "HW": "hardware",
    "OS support and configuration": "OS",
    "Hypervisor support": "hypervisor",
    "Guest OS support and configuration": "guest OS",
    "SW design and configuration": "software",
    "I/O device support and configuration": "I/O device",
}
BOLD = re.compile(r"</?b>")
LESS_IN_CONTROL_PLANES = frozenset(
    {
        "Deterministic allocation of threads in CPUs (pinning between vCPU and CPU)",
        "Deterministic memory allocation (pinning between vMemory and Memory)",
    }
)
"""Features that clause 6.1.1 calls optional for most control plane VNFs."""
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
"""Host checks by row of table 3."""
RECORDS: dict[str, tuple[str, ...]] = {
    "Processor architecture": ("R2",),
    "Number of cores": ("R3",),
    "Memory access speed": ("R6",),
}
"""Rows about quantities, which only have to be on record."""


@cache
def read_table(number: int) -> tuple[tuple[str, ...], ...]:
    """Read a table of the document cell by cell, including its heading rows."""
    text = files(__package__).joinpath("data", f"table-{number}.tsv").read_text(encoding="utf-8")
    return tuple(tuple(line.split("\t")) for line in text.splitlines())


@cache
def list_functions() -> tuple[NetworkFunction, ...]:
    """List every VNF of table 1, then those mentioned only in the text."""
    return (*_list_table_functions(), *UNLISTED_FUNCTIONS)


def _list_table_functions() -> Iterator[NetworkFunction]:
    use_case = ""
    for case, name, *marks in read_table(1)[2:]:
        use_case = case or use_case
        if name != NO_VNF:
            yield NetworkFunction(name=name, use_case=use_case, classes=tuple(_list_classes(marks)))


def _list_classes(marks: Sequence[str]) -> Iterator[WorkloadClass]:
    for place, mark in enumerate(marks):
        if mark:
            plane, name = COLUMNS[place]
            yield WorkloadClass(
                plane=plane, name=name, clause=TABLE_1, unclear=UNCLEAR_WHY if place == UNNAMED_COLUMN else ""
            )


def find_function(name: str) -> NetworkFunction:
    """Return the VNF of a name, ignoring case and punctuation. Raises ConfigError with similar names."""
    functions_by_key = {
        key: (function, function.name) for function in list_functions() for key in _list_keys(function.name)
    }
    functions_by_key |= {
        _normalize_name(alias): (functions_by_key[_normalize_name(meant)][0], alias) for alias, meant in ALIASES.items()
    }
    requested = _normalize_name(name)
    for key in (requested, requested.removeprefix("v")):
        if key in functions_by_key:
            return functions_by_key[key][0]
    near = [functions_by_key[key][1] for key in difflib.get_close_matches(requested, functions_by_key, n=3, cutoff=0.6)]
    meant = f"did you mean {' or '.join(near)}?" if near else "run nodrop host workload for the list"
    raise ConfigError(f"unknown VNF {name} (not in ETSI GS NFV-PER 001); {meant}")


def _list_keys(name: str) -> tuple[str, ...]:
    """Return the lookup keys of both names, e.g. of `E-CPE (Enterprise-CPE)`."""
    return tuple(_normalize_name(part) for part in (name, *re.split(r"[()]", name)) if part.strip())


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def list_features() -> tuple[PerformanceFeature, ...]:
    """List every row of table 3, combined with the same row of table 2."""
    bare = {_get_feature_key(row[0]): row for row in read_table(2)[1:]}
    return tuple(_build_feature(row, bare.get(_get_feature_key(row[0]))) for row in read_table(3)[1:])


def _build_feature(row: Sequence[str], bare: Sequence[str] | None) -> PerformanceFeature:
    name = BOLD.sub("", row[0])
    return PerformanceFeature(
        name=name,
        bare_metal=None if bare is None else _list_layers(read_table(2)[0], bare),
        virtualised=_list_layers(read_table(3)[0], row),
        is_hypervisors=name != row[0],
        checks=CHECKS.get(name, ()),
        record=RECORDS.get(name, ()),
    )


def _list_layers(heading: Sequence[str], row: Sequence[str]) -> tuple[Layer, ...]:
    return tuple(LAYERS[title] for title, mark in zip(heading[1:], row[1:], strict=True) if mark)


def _get_feature_key(name: str) -> str:
    """Return a key common to both tables: table 2 writes `IO` for `I/O`, and table 3 adds what is pinned to what."""
    return _normalize_name(BOLD.sub("", name).partition(" (pinning")[0])


def list_standings(vnf: NetworkFunction) -> tuple[FeatureStanding, ...]:
    """List the relevance of each feature for a VNF according to the document."""
    names = {each.name for each in vnf.classes}
    return tuple(_judge_standing(feature, names, {each.plane for each in vnf.classes}) for feature in list_features())


def _judge_standing(feature: PerformanceFeature, names: set[str], planes: set[str]) -> FeatureStanding:
    if any(name.startswith("intermediate NF") for name in names):
        reason = "clause 6.1 analyzed this workload"
        if feature.name.startswith("Extended instruction set") and "intermediate NF with encryption" in names:
            reason = "every packet is encrypted: a key task, clause 5"
        return FeatureStanding(feature=feature, standing="analysed", why=reason)
    if "data plane" in planes:
        reason = "clause 5 expects the same load of memory and devices; the document has no analysis of edge functions"
        return FeatureStanding(feature=feature, standing="open", why=reason)
    if "control plane" in planes and feature.name in LESS_IN_CONTROL_PLANES:
        reason = "clause 6.1.1: optional for most control plane VNFs"
        return FeatureStanding(feature=feature, standing="less", why=reason)
    return FeatureStanding(feature=feature, standing="open", why="the document has no analysis of this workload")


def _build_class(plane: str, name: str, clause: str) -> WorkloadClass:
    return WorkloadClass(plane=plane, name=name, clause=clause)


BRAS = NetworkFunction(
    name="BRAS",
    classes=(
        _build_class("data plane", "intermediate NF", "clause 6.1"),
        _build_class("control plane", "routing", "clause 5"),
        _build_class("control plane", "authentication", "clause 5"),
        _build_class("control plane", "session management", "clause 5"),
    ),
    note="no row of table 1. Clause 6.1 names it, beside P-GW and PE, as a data plane workload in an intermediate "
    "element, and measured a prototype of it (annex D: BRAS/BNG); clause 5 takes PPP sessions, BGP routing "
    "and RADIUS authentication in a BRAS as examples of control plane workloads",
)
UNLISTED_FUNCTIONS: tuple[NetworkFunction, ...] = (
    BRAS,
    NetworkFunction(
        name="CGNAT",
        classes=(_build_class("data plane", "intermediate NF", "annex D"),),
        note="no row of table 1. Annex D counts it among the edge functions whose features are like those of the BRAS "
        "it measured",
    ),
    NetworkFunction(
        name="router",
        classes=(
            _build_class("data plane", "intermediate NF", "clause 5"),
            _build_class("storage", "non-intensive", "clause 5"),
        ),
        note="no row of table 1. Clause 5 takes it as its example of an intermediate NF, and of storage little used",
    ),
    NetworkFunction(
        name="IPSec tunneller",
        classes=(_build_class("data plane", "intermediate NF with encryption", "clause 5"),),
        note="no row of table 1. Clause 5 takes it as its example of an intermediate NF with encryption",
    ),
    NetworkFunction(
        name="network probe",
        classes=(_build_class("storage", "R/W intensive", "clause 5"),),
        note="no row of table 1. Clause 5 takes it as an example of storage written to all the time",
    ),
)
ALIASES = {
    "BNG": "BRAS",
    "broadband network gateway": "BRAS",
    "broadband remote access server": "BRAS",
    "carrier-grade NAT": "CGNAT",
    "IPsec": "IPSec tunneller",
    "IPsec gateway": "IPSec tunneller",
    "provider edge": "PE",
    "PE router": "PE",
    "CPE": "E-CPE (Enterprise-CPE)",
    "firewall": "FW",
    "deep packet inspection": "DPI",
    "serving gateway": "S-GW",
    "PDN gateway": "P-GW",
    "application server": "AS",
    "base band unit": "BBU",
    "residential gateway": "RGW",
    "set-top box": "STB",
    "CDN cache": "CDN Cache Node",
}
"""Alternative names, and the row or mention they refer to."""
