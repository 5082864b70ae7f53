"""Checks of a host against the recommendations of ETSI GS NFV-PER 001 clauses 6 and 7, each with its evidence."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from nodrop.model.base import Value

CheckStatus = Literal["pass", "fail", "unknown", "not required"]
"""`unknown` never counts as `pass`."""
CheckProfile = Literal["data-plane", "control-plane"]


class CheckEvidence(Value):
    """What a verdict rests on."""

    value: str
    source: str


class HostCheck(Value):
    """The result of one recommendation on a host."""

    id: str
    """`H1`..`H14` hardware, `Y1`..`Y9` hypervisor, `A1`..`A12` configuration, `R1`.. facts to record."""
    title: str
    clause: str
    required: bool
    """Whether this profile requires it; otherwise advice."""
    status: CheckStatus
    evidence: tuple[CheckEvidence, ...] = ()
    why: str
    """Its importance, in a sentence."""
    fix: str = ""
    """The shell command that fixes it; empty if there is none."""
    by_hand: str = ""
    """The manual fix: a BIOS setting, a reboot, another part."""
    verify: str = ""
    """The shell command that verifies the fix."""
    to_know: str = ""
    """How to make an unknown fact known."""

    @property
    def failed(self) -> bool:
        """Whether a required check failed."""
        return self.required and self.status == "fail"

    @property
    def open(self) -> bool:
        """Whether a required check could not be decided."""
        return self.required and self.status == "unknown"


class CheckScore(NamedTuple):
    """Number of passed checks among decided ones, without checks of recorded facts."""

    passed: int
    failed: int
    unknown: int

    @property
    def ratio(self) -> float | None:
        """Passed of passed and failed; None if nothing was decided."""
        decided = self.passed + self.failed
        return self.passed / decided if decided else None


HOST_FINDING = "host-check"
"""Code of a run's findings that refer to checks of its host."""
RECORD_PREFIX = "R"
"""Ids of checks that ask whether something is on record begin with this."""


def compute_score(checks: Iterable[HostCheck]) -> CheckScore:
    """Return the score of these checks."""
    statuses = [check.status for check in checks if not check.id.startswith(RECORD_PREFIX)]
    return CheckScore(passed=statuses.count("pass"), failed=statuses.count("fail"), unknown=statuses.count("unknown"))
