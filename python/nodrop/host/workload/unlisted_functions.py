"""Network functions mentioned in the text of ETSI GS NFV-PER 001 but missing in table 1."""

from nodrop.model.workload import NetworkFunction, WorkloadClass


def _build_class(plane: str, name: str, clause: str) -> WorkloadClass:
    return WorkloadClass(plane=plane, name=name, clause=clause)


BRAS = NetworkFunction(
    name="BRAS",
    use_case="",
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
        use_case="",
        classes=(_build_class("data plane", "intermediate NF", "annex D"),),
        note="no row of table 1. Annex D counts it among the edge functions whose features are like those of the BRAS "
        "it measured",
    ),
    NetworkFunction(
        name="router",
        use_case="",
        classes=(
            _build_class("data plane", "intermediate NF", "clause 5"),
            _build_class("storage", "non-intensive", "clause 5"),
        ),
        note="no row of table 1. Clause 5 takes it as its example of an intermediate NF, and of storage little used",
    ),
    NetworkFunction(
        name="IPSec tunneller",
        use_case="",
        classes=(_build_class("data plane", "intermediate NF with encryption", "clause 5"),),
        note="no row of table 1. Clause 5 takes it as its example of an intermediate NF with encryption",
    ),
    NetworkFunction(
        name="network probe",
        use_case="",
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
