"""What a network function has to do, and what helps it: tables 1 to 3 of ETSI GS NFV-PER 001."""

from typing import Literal

from nodrop.model.base import Value

Layer = Literal["hardware", "OS", "hypervisor", "guest OS", "software", "I/O device"]
"""Who has to support, or do, something."""
Standing = Literal["analysed", "less", "open"]
"""The document analysed it for this kind of work; says that this kind may do without; says nothing."""


class WorkloadClass(Value):
    """A kind of work. Source: clause 5, figure 4."""

    plane: str
    """`data plane`, `control plane`, `signal processing`, `storage`."""
    name: str
    clause: str
    """Where it is said that the function has it."""
    unclear: str = ""
    """Why that is not certain."""


class NetworkFunction(Value):
    """A VNF and the kinds of work in it."""

    name: str
    use_case: str
    classes: tuple[WorkloadClass, ...]
    note: str = ""
    """Where it is not a row of table 1: where the document speaks of it."""


class PerformanceFeature(Value):
    """What makes a data plane fast and predictable, and who has to do something for it. Source: tables 2 and 3."""

    name: str
    """As table 3 has it, which is the longer one."""
    bare_metal: tuple[Layer, ...] | None
    """Of table 2; None: it is no row there."""
    virtualised: tuple[Layer, ...]
    """Of table 3."""
    is_hypervisors: bool = False
    """Set in bold in table 3: new with virtualisation, or the hypervisor's affair too."""
    checks: tuple[str, ...] = ()
    """Ids of host checks about it."""
    record: tuple[str, ...] = ()
    """Of those that only put it on record."""


class FeatureStanding(Value):
    """A feature, and how a network function and a host stand on it."""

    feature: PerformanceFeature
    standing: Standing
    why: str
