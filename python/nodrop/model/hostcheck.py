"""Whether a host is ready: the recommendations of ETSI GS NFV-PER 001 clauses 6 and 7, each with its evidence."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from nodrop.model.base import Value

CheckStatus = Literal["pass", "fail", "unknown", "not required"]
"""Unknown never counts as pass."""
CheckProfile = Literal["data-plane", "control-plane"]


class CheckEvidence(Value):
    """What a verdict rests on."""

    value: str
    source: str


class HostCheck(Value):
    """One recommendation, held against a host."""

    id: str
    """`H1`..`H14` hardware, `Y1`..`Y9` hypervisor, `A1`..`A12` configuration, `R1`.. what has to be on record."""
    title: str
    clause: str
    required: bool
    """For this profile; otherwise advice."""
    status: CheckStatus
    evidence: tuple[CheckEvidence, ...] = ()
    why: str
    """Why it matters, in a sentence."""
    fix: str = ""
    """The shell command that mends it; empty where none does."""
    by_hand: str = ""
    """What no command does: a BIOS setting, a reboot, another part."""
    verify: str = ""
    """The shell command that shows that it is mended."""
    to_know: str = ""
    """What would make it known, where it is unknown."""

    @property
    def failed(self) -> bool:
        """Whether a check that this profile requires failed."""
        return self.required and self.status == "fail"

    @property
    def open(self) -> bool:
        """Whether a check that this profile requires could not be decided."""
        return self.required and self.status == "unknown"


class CheckScore(NamedTuple):
    """How many checks pass, of those that could be decided; what only has to be on record is no part of it."""

    passed: int
    failed: int
    unknown: int

    @property
    def ratio(self) -> float | None:
        """Passed of passed and failed; None where nothing was decided."""
        decided = self.passed + self.failed
        return self.passed / decided if decided else None


HOST_FINDING = "host-check"
"""Code of a run's findings that point at checks of the host it ran on."""
RECORD_PREFIX = "R"
"""Ids of checks that ask whether something is on record begin with this."""


def compute_score(checks: Iterable[HostCheck]) -> CheckScore:
    """The score of these checks."""
    found = [check.status for check in checks if not check.id.startswith(RECORD_PREFIX)]
    return CheckScore(passed=found.count("pass"), failed=found.count("fail"), unknown=found.count("unknown"))
