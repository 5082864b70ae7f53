"""`nodrop ship`: deliver what still waits for Fluentd."""

from pathlib import Path

import click

from nodrop.cli.completion_types import DIR
from nodrop.errors import ConfigError, ShipError

EPILOG = """
\b
Examples:
  nodrop ship                          deliver what earlier runs could not
  nodrop ship --list                   say what waits, deliver nothing
  nodrop ship --buffer-dir /var/ship   where ship.buffer_dir is set

\b
Exit codes: 0 nothing waits any more, 2 no such directory, 7 something still waits.
"""


@click.command(epilog=EPILOG, short_help="Deliver logs and results that still wait for Fluentd.")
@click.option("--buffer-dir", type=DIR, help="Where they wait.  [default: nodrop/ship in the state directory]")
@click.option("--list", "only_list", is_flag=True, help="Only say what waits.")
def ship(buffer_dir: str | None, only_list: bool) -> int:
    """Deliver the logs and results that earlier runs kept on disk because an aggregator was away.

    Every run does so as well, for the aggregators it is told of; this needs no configuration, because the buffers know
    who they are for.
    """
    from nodrop.export.fluentd.buffer import paths_in
    from nodrop.plan.shipping import default_buffer_dir

    directory = Path(buffer_dir) if buffer_dir else default_buffer_dir()
    if buffer_dir and not directory.is_dir():
        raise ConfigError(f"--buffer-dir: {buffer_dir} asked, there is no such directory; name that of ship.buffer_dir")
    paths = paths_in(directory)
    if not paths:
        click.echo(f"nothing waits in {directory}")
    left = [count for path in paths if (count := _ship(path, only_list))]
    return ShipError.exit_code if left else 0


def _ship(path: Path, only_list: bool) -> int:
    """Deliver one buffer and say what came of it; gives how many records are left."""
    from nodrop.export.fluentd.sender import deliver, waiting

    try:
        aggregator, before_count = waiting(path)
        trouble = ""
        if not only_list and before_count:
            try:
                deliver(path)
            except ShipError as error:
                trouble = f": {error}"
        left_count = waiting(path).record_count
    except ShipError as error:
        click.echo(f"nodrop: error: {error}", err=True)
        return 1
    delivered = "" if only_list else f"{before_count - left_count} delivered, "
    click.echo(f"{aggregator.name}: {delivered}{left_count} waiting{trouble}")
    return left_count
