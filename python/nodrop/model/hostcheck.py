"""Whether a host is ready: the recommendations of ETSI GS NFV-PER 001 clauses 6 and 7, each with its evidence."""

from typing import Literal

from nodrop.model.base import Value

CheckStatus = Literal["pass", "fail", "unknown", "not required"]
"""Unknown never counts as pass."""
CheckProfile = Literal["data-plane", "control-plane"]


class Evidence(Value):
    """What a verdict rests on."""

    value: str
    source: str


class HostCheck(Value):
    """One recommendation, held against a host."""

    id: str
    """`H1`..`H14` hardware, `Y1`..`Y9` hypervisor, `A1`..`A10` configuration."""
    title: str
    clause: str
    required: bool
    """For this profile; otherwise advice."""
    status: CheckStatus
    evidence: tuple[Evidence, ...] = ()
    why: str
    """Why it matters, in a sentence."""
    fix: str = ""
    """The command, or the BIOS setting, that mends it."""
    verify: str = ""
    """The command that shows that it is mended."""
