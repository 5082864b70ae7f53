"""What the machine is, who measures on it, which labs stand, and whether everything works here."""

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
from nodrop.run.machine_lock import MachineActivity, find_activity
from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import read_form
from nodrop.server.pages.render import render
from nodrop.server.rest.problem import Problem
from nodrop.stage.capability_checks import CapabilityCheck
from nodrop.stage.host_facts import read_host

NEARLY_FULL = 0.05
"""Share of a disk below which what is free is pointed out."""


class Lab(NamedTuple):
    """A lab left standing."""

    name: str
    ending: str | None
    lines: tuple[str, ...]


class Disk(NamedTuple):
    """Where results go."""

    place: str
    free_bytes: int
    total_bytes: int

    @property
    def is_nearly_full(self) -> bool:
        """Whether results may soon find no room."""
        return self.free_bytes < NEARLY_FULL * self.total_bytes


class Doctor:
    """What this machine allows, as last tried: trying takes seconds and brings up labs, so only when somebody asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.checks: tuple[CapabilityCheck, ...] = ()
        self.tried_at: str | None = None

    def try_all(self) -> None:
        """Try everything, unless that is being done already."""
        if self._lock.acquire(blocking=False):
            try:
                self.checks = tuple(self_test.run_checks())
                self.tried_at = datetime.now(UTC).isoformat()
            finally:
                self._lock.release()


def routes(site: Site) -> APIRouter:
    """The pages."""
    router = APIRouter()
    tried = Doctor()

    @router.get("/state")
    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, request)

    def _show(request: Request) -> Response:
        found = find_activity()
        return render(
            request,
            "state.html",
            host=read_host(),
            presences=found.processes,
            labs=_labs(found),
            unrecorded=found.unrecorded,
            disk=_disk(site.config.results_dir),
            queued_count=site.runs.queued_count,
            checks=tried.checks,
            tried_at=tried.tried_at,
            config=site.config.config,
        )

    @router.post("/state/check")
    async def check(request: Request) -> Response:
        await read_form(request)
        if any(presence.role == "run" for presence in (await run_in_threadpool(find_activity)).processes):
            raise Problem(
                409, "a check asked while a run measures, which it would disturb; try again when that is done"
            )
        await run_in_threadpool(tried.try_all)
        return RedirectResponse("/state#doctor", 303)

    return router


def _labs(found: MachineActivity) -> tuple[Lab, ...]:
    endings = {name: lab.describe_failure() for name, lab in found.labs.items()}
    return tuple(
        Lab(name, endings[name], () if endings[name] else tuple(format_lab(lab.facts)))
        for name, lab in found.labs.items()
    )


def _disk(results_dir: str) -> Disk | None:
    """The disk that results are on; its directory may not be there yet."""
    for place in (Path(results_dir), *Path(results_dir).parents):
        try:
            usage = shutil.disk_usage(place)
        except OSError:
            continue
        return Disk(results_dir, usage.free, usage.total)
    return None
