"""Workloads of network functions, and features that support them: tables 1 to 3 of ETSI GS NFV-PER 001."""

from typing import Literal

from nodrop.model.base import Value

Layer = Literal["hardware", "OS", "hypervisor", "guest OS", "software", "I/O device"]
"""The layer that must support or do something."""
Standing = Literal["analysed", "less", "open"]
"""The document analyzed it for this workload; states that this workload may do without; does not mention it."""


class WorkloadClass(Value):
    """A class of workload. Source: clause 5, figure 4."""

    plane: str
    """`data plane`, `control plane`, `signal processing`, `storage`."""
    name: str
    clause: str
    """Source of the function's class."""
    unclear: str = ""
    """Why the class is uncertain."""


class NetworkFunction(Value):
    """A VNF and its classes of workload."""

    name: str
    use_case: str = ""
    classes: tuple[WorkloadClass, ...]
    note: str = ""
    """Where the document mentions it, if it is not a row of table 1."""


class PerformanceFeature(Value):
    """A feature for fast and predictable data planes, and the layers that must support it. Source: tables 2 and 3."""

    name: str
    """As in table 3, which is longer."""
    bare_metal: tuple[Layer, ...] | None
    """Layers of table 2; None: not in that table."""
    virtualised: tuple[Layer, ...]
    """Layers of table 3."""
    is_hypervisors: bool = False
    """Whether table 3 prints it in bold: new with virtualisation, or also the hypervisor's task."""
    checks: tuple[str, ...] = ()
    """IDs of host checks about it."""
    record: tuple[str, ...] = ()
    """IDs of checks that only record it."""


class FeatureStanding(Value):
    """The relevance of a feature for a network function, and its state on a host."""

    feature: PerformanceFeature
    standing: Standing
    why: str
