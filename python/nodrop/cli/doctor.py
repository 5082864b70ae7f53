"""`nodrop doctor`: self-test of this machine, with remedies."""

from typing import TYPE_CHECKING

import click

from nodrop.errors import GeneratorError

if TYPE_CHECKING:
    from nodrop.stage.capability_checks import CapabilityCheck


@click.command(short_help="Check this machine.")
@click.pass_context
def doctor(context: click.Context) -> None:
    """Check whether `nodrop run` works on this machine, and print remedies.

    All checks use the real mechanisms, in private processes and namespaces. `no` prevents the default run, `note` may
    degrade its results. Exits with status 0 if `nodrop run` works, otherwise 4. The last line shows the score of
    `nodrop host check`, which rates the machine as a host of fast data planes.
    """
    from nodrop.run.self_test import run_checks

    works = True
    for check_host in run_checks():
        click.echo(_format_line(check_host))
        works = works and (check_host.ok or not check_host.required)
    click.echo(
        "\n" + ("`nodrop run` works here." if works else "`nodrop run` does not work here: fix each `no` above.")
    )
    click.echo(_format_fitness())
    if not works:
        context.exit(GeneratorError.exit_code)


def _format_fitness() -> str:
    """Return the score of the host checks."""
    from nodrop.host.check import check_host
    from nodrop.host.describe import describe_host, open_local_source
    from nodrop.model.hostcheck import compute_score

    score = compute_score(check_host(describe_host(open_local_source())))
    decided = score.passed + score.failed
    return (
        f"As a host of data planes it passes {score.passed} of {decided} checks, {score.unknown} more are unknown: "
        "`nodrop host check`."
    )


def _format_line(check: "CapabilityCheck") -> str:
    mark = "ok" if check.ok else "no" if check.required else "note"
    remedy = "" if check.ok else f" -> {check.remedy}"
    return f"{mark:<6}{check.name:<14}{check.found}{remedy}"
