"""What a stack shows of a host to those who place VMs on it. Source: ETSI GS NFV-PER 001 annex A, table A.1."""

from typing import Literal

from nodrop.model.base import Value

ExposureStatus = Literal["exposed", "partly", "not exposed", "unknown"]
"""`unknown`: it could not be asked. That is no `not exposed`."""
Level = Literal["hypervisor", "orchestrator"]


class ExposedFeature(Value):
    """A row of table A.1."""

    key: str
    name: str
    at_hypervisor: str
    """As printed: whether it was exposed there in 2014. The column's heading requires it of every row."""
    at_orchestrator: str
    priority: str
    """`Required` or `Optional`; empty for a row that is not ETSI's."""
    why: str
    """What it is needed for."""


class FeatureExposure(Value):
    """What one part of the stack shows of one feature."""

    status: ExposureStatus
    value: str = ""
    """What it says of this host."""
    source: str = ""
    """Where: an API call and what was looked for in the answer."""


class StackExposure(Value):
    """What one part of the stack shows."""

    name: str
    """`libvirt`, `OpenStack`, `Kubernetes`."""
    level: Level
    version: str = ""
    why: str = ""
    """Why it could not be asked; empty: it was."""
    features: dict[str, FeatureExposure]
    """By the key of the row."""
