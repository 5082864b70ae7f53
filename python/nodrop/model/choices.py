"""Names that users choose from. Apart from the models that use them, so that shell completion loads fast."""

from typing import Literal

SutKind = Literal["vnf-l2", "vnf-l3", "vnf-bras", "pool", "xdp", "bridge", "router", "ovs", "wire", "ext", "openstack"]
"""SUTs between the tester's ports; `wire` connects the ports and measures the tester; `ext` is an existing system;
`openstack` is staged in a cloud."""

InstanceSelection = Literal["hash", "standby"]
"""Selection of the instance of a flow in a pool: by a hash of its addresses and ports, or the first in service."""

GeneratorName = Literal["engine", "trex"]
"""Traffic generators: nodrop's packet engine, or a TRex server."""

Networks = Literal["ports", "vlan", "shared"]
"""Connection of chains to the tester: ports of their own, VLANs, or one network per side."""

Backend = Literal["af_packet", "af_xdp", "xdp_live", "dpdk"]
"""Packet I/O of the tester's ports."""

PageKind = Literal["usual", "small", "large"]
"""Memory pages: the kernel's choice, never huge pages, or huge pages."""

AntagonistKind = Literal["cpu", "memory", "cache"]
"""Resource that a noisy neighbor loads."""

VnfBackend = Literal["af_packet", "af_xdp"]
"""Packet I/O of a loopback VNF's ports."""

ColorMode = Literal["blind", "aware"]
"""Use that a policer makes of the color of arriving frames (MEF 10)."""

AlgorithmName = Literal[
    "nodrop",
    "mlrsearch-rfc9971",
    "mlrsearch-01",
    "mlrsearch-03",
    "binary",
    "binary-loss-verification",
    "nfvbench",
    "plrsearch",
    "mrr",
    "frame-loss-rate",
    "back-to-back",
]
"""Search algorithms."""

RateLayer = Literal["l1", "l2"]
"""Whether the bits of a rate include preamble and gap, `l1`, or count from destination MAC address to FCS, `l2`."""
Rfc2544Test = Literal["throughput", "latency", "frame-loss-rate", "back-to-back"]
"""Tests of RFC 2544."""

PatternKind = Literal["flat", "burst", "sawtooth", "triangle", "sinusoid", "stair", "random", "poisson"]
"""Variation of the load during a trial."""

ProfileName = Literal["quick", "standard", "csit"]
"""Presets for durations and precision."""
WorkloadName = Literal["bras"]
