"""Stages: each brings the path under test up and takes it down."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodrop.model.plan import Plan
    from nodrop.stage.base import OnProgress, Stage


def open_stage(plan: "Plan", run_id: str, on_staging: "OnProgress") -> "Stage":
    """Return the stage of a plan, a context manager that brings it up on entry.

    Only the module of the stage in use is imported: OpenStack's takes long to load.

    Args:
        plan: the run's plan.
        run_id: name of a private lab.
        on_staging: receives the progress of stages that take long to come up.
    """
    if plan.standing_lab:
        from nodrop.stage.persistent_lab import PersistentLabStage

        return PersistentLabStage(plan.standing_lab)
    if plan.cloud:
        from nodrop.stage.openstack.stage import OpenStackStage

        return OpenStackStage(plan.lab, plan.cloud, on_staging, tester_is_here=plan.lab.tester_is_here)
    if plan.lab.sut == "ext":
        from nodrop.stage.external import ExternalStage

        return ExternalStage(plan.lab)
    from nodrop.stage.netns import NetnsStage

    return NetnsStage(plan.lab, run_id)


def require_programs(plan: "Plan") -> None:
    """Check that the programs of the SUT and its antagonists are installed. Raises StageError."""
    if plan.standing_lab or plan.cloud:
        return
    if plan.lab.sut == "ovs":
        from nodrop.stage.ovs import find_programs

        find_programs()
    if plan.lab.antagonists:
        from nodrop.stage.antagonist import find_program

        find_program(plan.lab.antagonists[0])
