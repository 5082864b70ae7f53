"""Observations of a machine: values with source and confidence."""

from typing import Generic, Literal, NamedTuple, TypeVar

from nodrop.model.base import Value

T = TypeVar("T")
Confidence = Literal["measured", "reported", "inferred", "database", "declared", "unknown"]
"""Measured by nodrop; reported by the machine itself; inferred from other leaves (`why` says how); from a table of
models; declared by the operator; unknown (`why` gives the reason)."""


class Observation(Value, Generic[T]):
    """An observed value, or the reason for its absence."""

    value: T | None = None
    """None: unknown."""
    source: str = ""
    """A path, `cpuid 0x80000006`, `netlink ethtool`, a program, a table, or `user`."""
    confidence: Confidence = "unknown"
    at: str = ""
    """UTC, ISO 8601."""
    why: str = ""
    """Why it is unknown (`needs root`), or from what it was inferred."""

    @property
    def known(self) -> bool:
        """Whether the value is known."""
        return self.confidence != "unknown"


class Feature(Value):
    """A capability: whether the hardware or program supports it, and whether it is enabled. ETSI requires both."""

    supported: Observation[bool] = Observation[bool]()
    enabled: Observation[bool] = Observation[bool]()


class ObservationTime(NamedTuple):
    """The time of observations, and a factory for them."""

    at: str
    """UTC, ISO 8601."""

    def reported(self, value: T, source: str, why: str = "") -> Observation[T]:
        """Return a value that the machine itself reports."""
        return Observation(value=value, source=source, confidence="reported", at=self.at, why=why)

    def inferred(self, value: T, source: str, why: str) -> Observation[T]:
        """Return a value that follows from other leaves."""
        return Observation(value=value, source=source, confidence="inferred", at=self.at, why=why)

    def seen(self, value: T, source: str, confidence: Confidence, why: str = "") -> Observation[T]:
        """Return a value of any other confidence."""
        return Observation(value=value, source=source, confidence=confidence, at=self.at, why=why)

    def unknown(self, why: str, source: str = "") -> Observation[T]:
        """Return an unknown value with the reason: `needs root`, `no such file`."""
        return Observation(source=source, at=self.at, why=why)
