"""What every hop of a lab counted during a trial, read by `nodrop-observe`."""

import contextlib
import json
import subprocess
import time
from collections.abc import Mapping
from typing import Any, Self

from nodrop.errors import StageError
from nodrop.model.choices import SutKind
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.model.ledger import LossLedger
from nodrop.model.trial import TrialResult
from nodrop.observe.chain_hops import chain_hops
from nodrop.observe.counter_delta import Difference
from nodrop.observe.ledger import loss_ledger
from nodrop.observe.path_hops import PROCESS, is_behind
from nodrop.system.line_reader import LineReader
from nodrop.system.native_binaries import find_program

ANSWER_TIMEOUT_S = 5.0
END_TIMEOUT_S = 2.0
SETTLING_MAX_S, SETTLING_STEP_S = 0.5, 0.01
FORWARDED_BY_THE_KERNEL: frozenset[SutKind] = frozenset({"bridge", "router"})
"""SUTs whose losses the kernel gives reasons for. Counting them costs the tester's receivers a little, see
docs/concepts/where-packets-were-lost.md, so elsewhere it is left alone."""


class HopCounters:
    """Adds a ledger of lost frames to every trial; see `nodrop.observe.base.Observer`.

    Counters that cannot be read never end a run: the ledger then says why it is empty.
    """

    def __init__(
        self, facts: StageFacts, lab: LabPlan, drop_reasons: bool = True, chains: Mapping[int, int] | None = None
    ) -> None:
        """Read what is counted in a lab; `chains` has the chain of every stream, by its number."""
        self._facts = facts
        self._chains = chains or {}
        self._lab = lab
        self._drop_reasons = drop_reasons
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: LineReader | None = None
        self._before: dict[str, int] = {}
        self._reading_s = 0.0
        self._refusal = ""
        self._drops_refusal: str | None = None

    def __enter__(self) -> Self:
        """Start the program that reads."""
        try:
            self._start()
        except StageError as error:
            self._refusal = str(error)
        return self

    def __exit__(self, *exc: object) -> None:
        """End it; never raises."""
        if not self._process:
            return
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def before(self) -> None:
        """Read all counters."""
        self._reading_s = 0.0
        self._before = self._settled({})

    def after(self, result: TrialResult) -> TrialResult:
        """Read them again, and tell where the frames went in between."""
        after = self._settled(self._before)
        grown = None if self._refusal else Difference(self._before, after)
        if grown is None:
            ledger = LossLedger(remarks=(f"the host's counters were not read: {self._refusal}",))
        else:
            ledger = loss_ledger(result, self._lab, grown)
            if self._drops_refusal and ledger.unattributed_count:
                remark = f"the kernel's reasons for drops were not counted: {self._drops_refusal}"
                ledger = ledger.model_copy(update={"remarks": (*ledger.remarks, remark)})
        counted = chain_hops(result, self._lab, self._chains, grown)
        ledger = ledger.model_copy(update={"reading_s": self._reading_s})
        return result.model_copy(update={"ledger": ledger, "chain_hops": counted})

    def _settled(self, before: dict[str, int]) -> dict[str, int]:
        """Read again until processes show all that came to them: they do once they have had a quiet moment."""
        deadline_s = time.monotonic() + SETTLING_MAX_S
        while is_behind(Difference(before, counters := self._read())) and time.monotonic() < deadline_s:
            time.sleep(SETTLING_STEP_S)
        return counters

    def _start(self) -> None:
        facts = self._facts
        arguments = ["--netns", f"tester={facts.tester_pid}"]
        behind = {"sut": facts.sut_pid} if facts.sut_pid else {}
        for name, pid in {**behind, **facts.router_pids}.items():
            arguments += ["--netns", f"{name}={pid}"]
        for process in facts.sut_processes:
            arguments += ["--process", f"{PROCESS}={process.pid}"]
        routed = self._lab.sut == "router" or bool(self._lab.routers)
        if self._drop_reasons and (routed or self._lab.sut in FORWARDED_BY_THE_KERNEL):
            arguments.append("--drops")
            # Only a router loses frames because they are for another station; the tester's ports do with every frame.
            arguments += ["--other-host"] if routed else []
        self._process = subprocess.Popen(
            [find_program("nodrop-observe", StageError), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdout
        self._reader = LineReader(self._process.stdout.fileno())
        said = self._answer()
        if said.get("event") != "ready":
            raise StageError(str(said.get("message", "nodrop-observe did not start")))
        self._drops_refusal = said.get("drops_refusal")

    def _read(self) -> dict[str, int]:
        if self._refusal or not self._process:
            return {}
        assert self._process.stdin
        start_s = time.monotonic()
        try:
            self._process.stdin.write(b"read\n")
            counters = self._answer()["counters"]
        except (OSError, KeyError):
            self._refusal = "nodrop-observe does not answer any more"
            return {}
        self._reading_s += time.monotonic() - start_s
        return dict(counters)

    def _answer(self) -> dict[str, Any]:
        assert self._reader
        line = self._reader.next_line(ANSWER_TIMEOUT_S)
        try:
            said = json.loads(line or "{}")
        except json.JSONDecodeError:
            return {}
        return said if isinstance(said, dict) else {}
