"""What a command gives of results: shown in one of several forms, and written to files besides."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

import click

from nodrop.cli.completion_types import FILE
from nodrop.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nodrop.model.plan import Plan
    from nodrop.model.result import RunResult
    from nodrop.model.shipping import ShipPlan

STDOUT = "-"
FORMS = ("text", "nfvbench", "markdown", "csv")

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="nodrop's report, or NFVbench's tables.  [default: text; `run` at a fixed rate: nfvbench]",
)
nfvbench_json_option = click.option(
    "--nfvbench-json", type=FILE, help="Also write the result as NFVbench does; - is standard output."
)


class Outputs(NamedTuple):
    """What is wanted of the results of a command."""

    json_file: str | None = None
    """Where to write our own JSON; `-` is standard output."""
    nfvbench_json: str | None = None
    """Where to write NFVbench's."""
    form: str | None = None
    """One of FORMS; None: what suits the run."""

    @property
    def stream(self) -> TextIO:
        """Where people read: standard output, unless a file of a program's goes there."""
        return sys.stderr if STDOUT in (self.json_file, self.nfvbench_json) else sys.stdout

    def require_writable(self, plans: "Sequence[Plan]") -> None:
        """Make sure, before anything is measured, that everything asked for can be written. Raises ConfigError."""
        if self.json_file == STDOUT == self.nfvbench_json:
            raise ConfigError(
                "--json and --nfvbench-json: standard output asked for both, it can hold one; name a file"
            )
        self._require_form(plans)
        plan = plans[0]
        require_writable(self.json_file)
        require_writable(self.nfvbench_json, "--nfvbench-json")
        asked = plan.nfvbench
        require_writable(asked.get("json"), "json")
        if asked.get("std_json"):
            _require_place(Path(asked["std_json"]) / "result.json", "std_json")

    def _require_form(self, plans: "Sequence[Plan]") -> None:
        """Make sure that NFVbench's form has room for all runs, where that is asked for. Raises ConfigError."""
        asked = plans[0].nfvbench
        if self.nfvbench_json or self.form not in (None, "text") or asked.get("json") or asked.get("std_json"):
            from nodrop.export.nfvbench import require_one_setup

            require_one_setup(plans)

    def show(self, runs: "Sequence[RunResult]", own: "Callable[[], RenderableType]") -> None:
        """Show runs that belong together: in the form that was asked for, or that suits them."""
        from nodrop.cli.console import show

        form = self.form or default_format(runs)
        if form == "text":
            show(own(), self.stream)
            return
        from nodrop.export.nfvbench import build_nfvbench_result

        print_nfvbench(build_nfvbench_result(runs), form, self.stream)
        if form == "nfvbench":
            for line in _fixed_lines(runs):
                click.echo(line, file=self.stream)

    def write(self, runs: "Sequence[RunResult]", own_json: str) -> None:
        """Write the files that were asked for. Raises ConfigError."""
        write_json(own_json, self.json_file)
        nfvbench_files = tuple(self._nfvbench_files(runs))
        for file in nfvbench_files:
            from nodrop.export.nfvbench import build_nfvbench_result, format_nfvbench_json

            write_json(format_nfvbench_json(build_nfvbench_result(runs)), file)
        written = [Path(file) for file in (self.json_file, *nfvbench_files) if file and file != STDOUT]
        for path in written if runs else ():
            _hand_over(path, runs[0].plan.ship)

    def _nfvbench_files(self, runs: "Sequence[RunResult]") -> Iterator[str]:
        """Those of flags, and those of keys of NFVbench's."""
        if not runs:
            return
        from nodrop.export.nfvbench import build_standard_name

        asked = runs[0].plan.nfvbench
        yield from filter(None, (self.nfvbench_json, asked.get("json")))
        if directory := asked.get("std_json"):
            yield str(Path(directory) / build_standard_name(runs))


def default_format(runs: "Sequence[RunResult]") -> Literal["text", "nfvbench"]:
    """NFVbench's tables for what was measured once at a fixed rate; nodrop's report says what a search found, and why,
    and how far repeats differ.
    """
    if any(run.plan.repeat_count > 1 or run.plan.variant for run in runs):
        return "text"
    return "nfvbench" if runs and all(run.plan.fixed and run.trials for run in runs) else "text"


def print_nfvbench(result: Mapping[str, Any], form: str, out: TextIO) -> None:
    """A result in NFVbench's form, as its tables."""
    from nodrop.cli.console import show
    from nodrop.report.nfvbench import render_nfvbench, write_nfvbench

    if form in ("markdown", "csv"):
        click.echo(write_nfvbench(result, form), file=out, nl=False)  # type: ignore[arg-type]
    else:
        show(render_nfvbench(result), out)


def require_writable(file: str | None, key: str = "--json") -> None:
    """Make sure, before anything is measured, that a file can be written. Raises ConfigError."""
    if not file or file == STDOUT:
        return
    if Path(file).is_dir():
        raise ConfigError(f"{key}: {file} asked, it is a directory; name a file in it")
    _require_place(Path(file), key)


def write_json(text: str, file: str | None) -> None:
    """Write what was asked for, if anything."""
    from nodrop import store

    if file == STDOUT:
        click.echo(text, nl=False)
    elif file:
        store.write_text(Path(file), text)


def _hand_over(path: Path, ship: "ShipPlan") -> None:
    """Make a file whose it is to be; that it cannot be is said, for it is written."""
    from nodrop.run.event_sinks import change_owner

    try:
        change_owner(path, ship.user_id, ship.group_id)
    except OSError as error:
        click.echo(f"nodrop: ship.user_id, ship.group_id: {path} stays as it is: {error.strerror}", err=True)


def _require_place(path: Path, key: str) -> None:
    from nodrop import store

    store.require_writable(path.parent, key)


def _fixed_lines(runs: "Sequence[RunResult]") -> Iterator[str]:
    """What the tables do not say of trials at a fixed rate: where frames were lost."""
    from nodrop.report.document.fixed_rate import find_fixed_trial
    from nodrop.report.document.loss import describe_loss

    lines = {run.plan.frame_size: describe_loss(trial) for run in runs if (trial := find_fixed_trial(run)) and trial.lost_count}
    for size, line in lines.items():
        if line:
            yield f"\n{size}: {line}"
