"""Virtual switches of a machine. ETSI GS NFV-PER 001 clauses 8.1.1.3 and 8.1.1.4."""

from concurrent.futures import ThreadPoolExecutor

from nodrop.host import bridges, nat, ovs, vpp
from nodrop.host.inputs import Source
from nodrop.model.chd import VSwitch


def describe(source: Source) -> tuple[VSwitch, ...]:
    """Every virtual switch that runs here: Open vSwitch with OVN and DPDK, VPP, the kernel's bridges."""
    with ThreadPoolExecutor() as pool:
        programs = pool.submit(lambda: tuple(vpp.describe(source)))
        masquerading = (
            nat.read_masquerade_rules(source)
            if bridges.list_bridges(source) or ovs.is_running(source)
            else nat.MasqueradeRules((), {})
        )
        found = ovs.describe(source, masquerading)
        return (*found, *programs.result(), *bridges.describe(source, masquerading))
