"""Host features that a stack exposes to the operators who place VMs. Source: ETSI GS NFV-PER 001 annex A, table A.1."""

from typing import Literal

from nodrop.model.base import Value

ExposureStatus = Literal["exposed", "partly", "not exposed", "unknown"]
"""`unknown`: the stack could not be queried, which differs from `not exposed`."""
Level = Literal["hypervisor", "orchestrator"]


class ExposedFeature(Value):
    """A row of table A.1."""

    key: str
    name: str
    at_hypervisor: str
    """As printed: whether it was exposed there in 2014. The column's heading requires it of every row."""
    at_orchestrator: str
    priority: str
    """`Required` or `Optional`; empty for a row that is not from ETSI."""
    why: str
    """Its use."""


class FeatureExposure(Value):
    """The exposure of one feature by one part of the stack."""

    status: ExposureStatus
    value: str = ""
    """The value reported for this host."""
    source: str = ""
    """Its source: an API call and the field of the answer."""


class StackExposure(Value):
    """The features that one part of the stack exposes."""

    name: str
    """`libvirt`, `OpenStack`, `Kubernetes`."""
    level: Level
    version: str = ""
    why: str = ""
    """Why it could not be queried; empty: it was queried."""
    features: dict[str, FeatureExposure]
    """By key of the row."""


def build_exposed(value: str, source: str) -> FeatureExposure:
    """Return an exposed feature."""
    return FeatureExposure(status="exposed", value=value, source=source)


def build_partly_exposed(value: str, source: str) -> FeatureExposure:
    """Return a feature of which a part is exposed."""
    return FeatureExposure(status="partly", value=value, source=source)


def build_absent(what: str, source: str) -> FeatureExposure:
    """Return a feature that is not exposed, as the source has none of this."""
    return FeatureExposure(status="not exposed", value=f"no {what}", source=source)
