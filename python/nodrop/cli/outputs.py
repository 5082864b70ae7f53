"""Output of results: the form on standard output, and output files."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE
from nodrop.errors import ConfigError
from nodrop.system.output_encoding import escape_json

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
    type=Choice(FORMS),
    help="Output format.  [default: text]",
)
nfvbench_json_option = click.option(
    "--nfvbench-json", type=FILE, help="Write the result in NFVbench's form; - is standard output."
)


class Outputs(NamedTuple):
    """The requested outputs of a command."""

    json_file: str | None = None
    """File for nodrop's JSON; `-` is standard output."""
    nfvbench_json: str | None = None
    """File for NFVbench's JSON."""
    form: str | None = None
    """One of FORMS; None: text."""
    is_verbose: bool = False
    """Print the entire summary of a search, not only its screen."""

    @property
    def stream(self) -> TextIO:
        """Stream for the report: standard output unless JSON goes there."""
        return sys.stderr if STDOUT in (self.json_file, self.nfvbench_json) else sys.stdout

    def require_writable(self, plans: "Sequence[Plan]") -> None:
        """Check before the measurement that all outputs can be written. Raises ConfigError."""
        if self.json_file == STDOUT == self.nfvbench_json:
            raise ConfigError(
                "--json and --nfvbench-json: cannot both write to standard output; give one of them a file name"
            )
        self._require_form(plans)
        plan = plans[0]
        require_writable(self.json_file)
        require_writable(self.nfvbench_json, "--nfvbench-json")
        nfvbench = plan.nfvbench
        require_writable(nfvbench.get("json"), "json")
        if nfvbench.get("std_json"):
            _require_directory(Path(nfvbench["std_json"]) / "result.json", "std_json")

    def _require_form(self, plans: "Sequence[Plan]") -> None:
        """Check that NFVbench's form, if requested, can represent all runs. Raises ConfigError."""
        nfvbench = plans[0].nfvbench
        if self.nfvbench_json or self.form not in (None, "text") or nfvbench.get("json") or nfvbench.get("std_json"):
            from nodrop.export.nfvbench import require_one_setup

            require_one_setup(plans)

    def show(self, runs: "Sequence[RunResult]", render: "Callable[[], RenderableType]") -> None:
        """Print the result of a run or a suite in the requested form."""
        from nodrop.cli.console import print_renderable

        form = self.form or "text"
        if form == "text":
            print_renderable(render(), self.stream)
            return
        from nodrop.export.nfvbench import build_nfvbench_result

        print_nfvbench(build_nfvbench_result(runs), form, self.stream)
        if form == "nfvbench":
            for line in _list_fixed_losses(runs):
                click.echo(line, file=self.stream)

    def write(self, runs: "Sequence[RunResult]", report_json: str) -> None:
        """Write the output files. Raises ConfigError."""
        write_json(report_json, self.json_file)
        nfvbench_files = tuple(self._nfvbench_files(runs))
        for file in nfvbench_files:
            from nodrop.export.nfvbench import build_nfvbench_result, format_nfvbench_json

            write_json(format_nfvbench_json(build_nfvbench_result(runs)), file)
        files = [Path(file) for file in (self.json_file, *nfvbench_files) if file and file != STDOUT]
        for path in files if runs else ():
            _change_owner(path, runs[0].plan.ship)

    def _nfvbench_files(self, runs: "Sequence[RunResult]") -> Iterator[str]:
        """Yield the files for NFVbench's JSON, from flags and from NFVbench's keys."""
        if not runs:
            return
        from nodrop.export.nfvbench import build_standard_name

        nfvbench = runs[0].plan.nfvbench
        yield from filter(None, (self.nfvbench_json, nfvbench.get("json")))
        if directory := nfvbench.get("std_json"):
            yield str(Path(directory) / build_standard_name(runs))


def print_nfvbench(result: Mapping[str, Any], form: str, out: TextIO) -> None:
    """Print a result in NFVbench's form as tables."""
    from nodrop.cli.console import print_renderable
    from nodrop.report.nfvbench import render_nfvbench, write_nfvbench

    if form in ("markdown", "csv"):
        click.echo(write_nfvbench(result, form), file=out, nl=False)  # type: ignore[arg-type]
    else:
        print_renderable(render_nfvbench(result), out)


def require_writable(file: str | None, key: str = "--json") -> None:
    """Check before the measurement that a file can be written. Raises ConfigError."""
    if not file or file == STDOUT:
        return
    if Path(file).is_dir():
        raise ConfigError(f"{key}: {file} is a directory; give a file name")
    _require_directory(Path(file), key)


def write_json(text: str, file: str | None) -> None:
    """Write JSON to a file or standard output, if requested."""
    from nodrop import store

    if file == STDOUT:
        print_json(text)
    elif file:
        store.write_text(Path(file), text)


def print_json(text: str) -> None:
    """Print JSON; in an encoding other than UTF-8, with escape sequences."""
    click.echo(escape_json(text, sys.stdout), nl=False)


def _change_owner(path: Path, ship: "ShipPlan") -> None:
    """Change the owner of a file, with a warning if that fails."""
    from nodrop.run.event_sinks import change_owner

    try:
        change_owner(path, ship.user_id, ship.group_id)
    except OSError as error:
        click.echo(
            f"nodrop: ship.user_id, ship.group_id: cannot change the owner of {path}: {error.strerror}", err=True
        )


def _require_directory(path: Path, key: str) -> None:
    from nodrop import store

    store.require_writable(path.parent, key)


def _list_fixed_losses(runs: "Sequence[RunResult]") -> Iterator[str]:
    """Yield where trials at a fixed rate lost frames, which NFVbench's tables do not contain."""
    from nodrop.report.document.loss import describe_loss

    lines = {
        run.plan.frame_size: describe_loss(trial) for run in runs if (trial := run.fixed_trial) and trial.lost_count
    }
    for size, line in lines.items():
        if line:
            yield f"\n{size}: {line}"
