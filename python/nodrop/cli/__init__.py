"""The command line: one file per command, imported on first use."""

from collections.abc import Sequence

import click

from nodrop import __version__
from nodrop.cli.lazy import LazyGroup
from nodrop.errors import ConfigError, NodropError
from nodrop.system.output_encoding import accept_any_text

SECTIONS = {
    "Measure": ("run", "test", "calibrate", "doctor", "lab", "status", "cleanup"),
    "Read results": ("show", "explain", "report", "plot", "results"),
    "Compare": ("compare", "trend", "grade"),
    "Configure": ("config", "completion", "version"),
    "Serve and export": ("serve", "client", "export", "ship"),
    "Searches without packets": ("simulate", "search"),
    "Hosts and VMs": ("host", "vm", "vm-image"),
}
"""Commands by task, in the order of the help."""
COMMANDS = tuple(command for commands in SECTIONS.values() for command in commands)
INTERRUPTED = 130
"""Exit code after Ctrl-C, by the shell convention 128 + SIGINT."""


@click.group(
    cls=LazyGroup,
    names=SECTIONS,
    package="nodrop.cli",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", prog_name="nodrop", message="%(prog)s %(version)s")
def nodrop() -> None:
    """Find the highest packet rate a network data plane forwards without loss.

    Without any configuration, `nodrop run` builds a private lab from network namespaces, connects a forwarder and
    measures it with real packets. It needs no privileges and changes nothing outside that lab.

    \b
    nodrop doctor          check this machine
    nodrop run             measure NDR, PDR and latency in about a minute
    nodrop show latest     show the last result
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code. Errors are messages on standard error, not tracebacks."""
    accept_any_text()
    try:
        return int(nodrop.main(args=arguments, prog_name="nodrop", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ConfigError.exit_code
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"; see {context.command_path} --help" if context else ""
        return _fail(f"{error.format_message().rstrip('.')}{hint}", ConfigError.exit_code)
    except NodropError as error:
        return _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except OSError as error:  # e.g. standard output on a full disk; other expected errors are NodropErrors
        return _fail(f"{error.filename or 'output'}: {error.strerror or error}", NodropError.exit_code)


def _fail(message: str, exit_code: int) -> int:
    for line in message.splitlines():
        click.echo(f"nodrop: error: {line}" if not line.startswith(" ") else line, err=True)
    return exit_code
