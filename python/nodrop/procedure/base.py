"""The interface of all procedures."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nodrop.model.procedure import ProcedurePlan
from nodrop.model.result import RunResult

RETRY_MAX = 3
"""Runs without a value that a procedure repeats in a row before it ends."""


REMOTE_SUTS = ("ext", "openstack")
ISOLATION_DEVIATION = "V-ISO: tester and SUT share this host"


class RunRequest(NamedTuple):
    """The next run of a procedure."""

    settings: Mapping[str, Any]
    """Configuration keys that differ from those of the user."""
    variant: str
    """Its round, for people and to find its results again: `20 streams`."""
    repeat: int
    """Number of the repeat in its round, from 1."""
    repeat_count: int


class Procedure(ABC):
    """Chooses each run of a suite from the results of those before."""

    plan: ProcedurePlan
    """Its settings."""

    @abstractmethod
    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        """Return the next run; None at the end.

        Args:
            results: those of all runs of the procedure so far, in order, failed ones included.
        """

    def list_samples(self) -> Sequence[RunRequest]:
        """Return a run of each kind, whose configurations are checked before the first run."""
        first = self.request_run(())
        return [first] if first else []

    def list_expected_runs(self) -> Sequence[RunRequest]:
        """Return the runs to expect, whose durations are estimated before the first; none if results decide them."""
        return ()

    @abstractmethod
    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        """Return why the results of all runs give no answer, and the remedy; None if they do."""

    def find_failure(self, results: Sequence[RunResult]) -> str | None:  # noqa: ARG002
        """Return what the system under test fails, by the results of all runs; None if it does not, or has no verdict.

        Only procedures whose standard knows pass and fail have one.
        """
        return None

    @abstractmethod
    def describe_extent(self) -> str:
        """Return the runs that follow, and their least duration: `5 runs of 8 s`."""


def find_local_suts(results: Sequence[RunResult]) -> frozenset[str]:
    """Return the kinds of SUTs that share the tester's host."""
    return frozenset(result.plan.lab.sut for result in results).difference(REMOTE_SUTS)
