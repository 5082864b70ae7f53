"""What was seen of a machine, each leaf with where it comes from and how far it can be believed."""

from typing import Generic, Literal, NamedTuple, TypeVar

from nodrop.model.base import Value

T = TypeVar("T")
Confidence = Literal["measured", "reported", "inferred", "database", "declared", "unknown"]
"""Measured by us; reported by the machine itself; inferred from other leaves, `why` says how; from a table of models;
declared by the operator; not known, `why` says what stood in the way."""


class Observation(Value, Generic[T]):
    """A value as it was found, or the reason why it was not."""

    value: T | None = None
    """None: unknown."""
    source: str = ""
    """A path, `cpuid 0x80000006`, `netlink ethtool`, a program, a table, or `user`."""
    confidence: Confidence = "unknown"
    at: str = ""
    """UTC, ISO 8601."""
    why: str = ""
    """Why it is unknown (`needs root`), or what it was inferred by."""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return self.confidence != "unknown"


class Feature(Value):
    """A capability: what the hardware or program can do, and whether it is switched on. ETSI asks for both."""

    supported: Observation[bool] = Observation[bool]()
    enabled: Observation[bool] = Observation[bool]()


class ObservationTime(NamedTuple):
    """When a machine is looked at; makes the observations of that time."""

    at: str
    """UTC, ISO 8601."""

    def reported(self, value: T, source: str, why: str = "") -> Observation[T]:
        """What the machine itself says."""
        return Observation(value=value, source=source, confidence="reported", at=self.at, why=why)

    def inferred(self, value: T, source: str, why: str) -> Observation[T]:
        """What follows from other leaves, and how."""
        return Observation(value=value, source=source, confidence="inferred", at=self.at, why=why)

    def seen(self, value: T, source: str, confidence: Confidence, why: str = "") -> Observation[T]:
        """A value of any other confidence."""
        return Observation(value=value, source=source, confidence=confidence, at=self.at, why=why)

    def unknown(self, why: str, source: str = "") -> Observation[T]:
        """No value, and what stood in the way: `needs root`, `no such file`."""
        return Observation(source=source, at=self.at, why=why)
