"""A running lab with a TRex server at the tester's ports, and runs of nodrop that measure with it."""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.running import plan_lab

from nodrop.config.load import build_config
from nodrop.generator.trex.measurer import TrexMeasurer
from nodrop.model.lab_plan import LabPlan
from nodrop.plan import build_plan
from nodrop.run.local_planning import make_local_resolvers
from nodrop.stage import persistent_lab, registry

ROOT = Path(__file__).parents[2]
RUN_S = 120.0
NUMBERS = itertools.count()


def free_ports() -> tuple[int, int]:
    """Return two free TCP ports."""
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@dataclass
class Trex:
    """A running server."""

    rpc_port: int
    publish_port: int
    process: "subprocess.Popen[str]"

    @contextlib.contextmanager
    def measurer(self, **keys: Any) -> Iterator[TrexMeasurer]:
        """Create a measurer for it, as a run with these keys would."""
        base = {"generator": "trex", "trex.rpc_port": self.rpc_port, "trex.publish_port": self.publish_port}
        config = build_config(
            (), {"sut": "ext"} | base | {key.replace("__", "."): value for key, value in keys.items()}
        )
        plan = build_plan(config, make_local_resolvers(config.results_dir))
        assert plan.trex
        names = plan.lab.tester_interfaces
        with TrexMeasurer(
            plan.trex, plan.traffic, plan.neighbors, check_alive=lambda: None, interfaces=names
        ) as measurer:
            yield measurer

    def run(self, folder: Path, *flags: str, **keys: Any) -> "subprocess.CompletedProcess[str]":
        """Execute `nodrop run` with it, its result as JSON on standard output; keys with `__` for the dot."""
        base = {"generator": "trex", "trex.rpc_port": self.rpc_port, "trex.publish_port": self.publish_port}
        return nodrop_run(folder, *flags, **base | {key.replace("__", "."): value for key, value in keys.items()})


def nodrop_run(folder: Path, *flags: str, **keys: Any) -> "subprocess.CompletedProcess[str]":
    """Execute `nodrop run` with these keys."""
    words = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "nodrop", "run", *words, *flags, "--results-dir", "results", "--json", "-"]
    return subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False, cwd=folder)


def result_of(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """Return the result of a successful run."""
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@contextlib.contextmanager
def running_lab(plan: LabPlan | None = None) -> Iterator[registry.LabRecord]:
    """Bring up a lab and remove it in any case."""
    name = f"trex-{os.getpid()}-{next(NUMBERS)}"
    try:
        yield persistent_lab.bring_up(plan or plan_lab("vnf-l2"), name)
    finally:
        if registry.read_record(name):
            persistent_lab.take_down(name)


@contextlib.contextmanager
def run_trex_server(lab: registry.LabRecord, *options: str) -> Iterator[Trex]:
    """Run a server at the lab's tester ports, with these options."""
    rpc_port, publish_port = free_ports()
    command = [
        *(sys.executable, "-m", "tests.trex.server", "--netns-pid", str(lab.facts.tester_pid)),
        *("--interfaces", ",".join(interfaces_of(lab))),
        *("--rpc-port", str(rpc_port), "--publish-port", str(publish_port), *options),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("serving")
        try:
            yield Trex(rpc_port, publish_port, process)
        finally:
            process.terminate()


def interfaces_of(lab: registry.LabRecord) -> tuple[str, ...]:
    """Return the interfaces in the order of the ports."""
    return tuple(each.name for each in lab.facts.interfaces if each.namespace == "tester")
