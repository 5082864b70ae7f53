"""The page of this machine: active processes, host, labs and self-test."""

import shutil
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from nodrop.report.lab import format_lab
from nodrop.run import self_test
from nodrop.run.machine_lock import MachineActivity, find_activity, is_alongside
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import read_form
from nodrop.server.pages.render import render
from nodrop.server.rest.problem import Problem
from nodrop.stage.capability_checks import CapabilityCheck
from nodrop.stage.host_facts import read_host

NEARLY_FULL = 0.05
"""Free ratio of a disk below which the page warns."""


class LabRow(NamedTuple):
    """A persistent lab."""

    name: str
    ending: str | None
    lines: tuple[str, ...]


class DiskSpace(NamedTuple):
    """Space on the disk of the results."""

    path: str
    free_bytes: int
    total_bytes: int

    @property
    def is_nearly_full(self) -> bool:
        """Whether the disk is nearly full."""
        return self.free_bytes < NEARLY_FULL * self.total_bytes


class SelfTest:
    """The last self-test; it takes seconds and brings up labs, so it runs on request only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.checks: tuple[CapabilityCheck, ...] = ()
        self.finished_at: str | None = None

    def run(self) -> None:
        """Run all checks, unless a self-test is already running."""
        if self._lock.acquire(blocking=False):
            try:
                self.checks = tuple(self_test.run_checks())
                self.finished_at = datetime.now(UTC).isoformat()
            finally:
                self._lock.release()


def make_routes(site: Site) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter()
    self_test_result = SelfTest()

    @router.get("/state")
    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, request)

    def _show(request: Request) -> Response:
        activity = find_activity()
        return render(
            request,
            "state.html",
            host=read_host(),
            processes=activity.processes,
            labs=_list_labs(activity),
            unrecorded=activity.unrecorded,
            disk=_read_disk_space(site.config.results_dir),
            queued_count=site.runs.queued_count,
            checks=self_test_result.checks,
            finished_at=self_test_result.finished_at,
            config=site.config.sources,
        )

    @router.post("/state/check")
    async def check(request: Request) -> Response:
        await read_form(request)
        activity = await run_in_threadpool(find_activity)
        if not is_alongside() and any(process.role == "run" for process in activity.processes):
            raise Problem(409, "the self-test would disturb the running measurement; try again after the run")
        await run_in_threadpool(self_test_result.run)
        return RedirectResponse("/state#doctor", 303)

    return router


def _list_labs(activity: MachineActivity) -> tuple[LabRow, ...]:
    endings = {name: lab.describe_failure() for name, lab in activity.labs.items()}
    return tuple(
        LabRow(name, endings[name], () if endings[name] else tuple(format_lab(lab.facts)))
        for name, lab in activity.labs.items()
    )


def _read_disk_space(results_dir: str) -> DiskSpace | None:
    """Return the space on the disk of the results, whose directory may not exist yet."""
    for path in (Path(results_dir), *Path(results_dir).parents):
        try:
            usage = shutil.disk_usage(path)
        except OSError:
            continue
        return DiskSpace(results_dir, usage.free, usage.total)
    return None
