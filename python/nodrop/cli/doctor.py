"""`nodrop doctor`: what this machine allows, one line each, with the remedy."""

from typing import TYPE_CHECKING

import click

from nodrop.errors import GeneratorError

if TYPE_CHECKING:
    from nodrop.stage.capability_checks import Check


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Say what this machine allows, and what to do about the rest.

    Everything is really tried, in processes and namespaces of their own. `ok` is as it should be, `no` keeps the
    default run from working, `note` may only make its results worse. Ends with status 0 if `nodrop run` would work,
    4 otherwise. Whether the machine is fit for a fast data plane is another question, which `nodrop host check`
    answers; its score is told here in a line.
    """
    from nodrop.run.self_test import checks

    works = True
    for check in checks():
        click.echo(_line(check))
        works = works and (check.ok or not check.required)
    click.echo(
        "\n" + ("`nodrop run` works here." if works else "`nodrop run` does not work here: mend each `no` above.")
    )
    click.echo(_fitness())
    if not works:
        context.exit(GeneratorError.exit_code)


def _fitness() -> str:
    """The score of the host's checks."""
    from nodrop.host.check import check
    from nodrop.host.describe import describe, this_machine
    from nodrop.model.hostcheck import score

    found = score(check(describe(this_machine())))
    decided = found.passed + found.failed
    return (
        f"As a host of data planes it passes {found.passed} of {decided} checks, {found.unknown} more are unknown: "
        "`nodrop host check`."
    )


def _line(check: "Check") -> str:
    mark = "ok" if check.ok else "no" if check.required else "note"
    remedy = "" if check.ok else f" -> {check.remedy}"
    return f"{mark:<6}{check.name:<14}{check.found}{remedy}"
