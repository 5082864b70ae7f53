"""Names of which a user writes one. Apart from the models that hold them, so that a shell can complete them at once."""

from typing import Literal

SutKind = Literal["vnf-l2", "vnf-l3", "xdp", "bridge", "router", "ovs", "wire", "ext", "openstack"]
"""The SUTs the lab can put between the tester's ports; a wire joins them, and what is measured is the tester; ext is
already there; openstack is staged in a cloud."""

GeneratorName = Literal["engine", "trex"]
"""Who sends and receives: nodrop's own packet engine, or a TRex server."""

Networks = Literal["ports", "vlan", "shared"]
"""How chains reach the tester: by ports of their own, by VLANs, or by one network a side."""

Backend = Literal["af_packet", "af_xdp", "xdp_live", "dpdk"]
"""How frames get in and out of the tester's ports."""

PageKind = Literal["usual", "small", "large"]
"""In which pages memory is: as the kernel sees fit, never in large ones, or in large ones."""

AntagonistKind = Literal["cpu", "memory", "cache"]
"""What a noisy neighbour loads."""

VnfBackend = Literal["af_packet", "af_xdp"]
"""How frames get in and out of a loopback VNF's ports."""

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
]
"""Every search by the name a user writes."""

PatternKind = Literal["flat", "burst", "sawtooth", "triangle", "sinusoid", "stair", "random", "poisson"]
"""How a trial's load varies while it runs."""

ProfileName = Literal["quick", "standard", "csit"]
"""How long and how precisely to search."""
