"""`nodrop ship`: delivery of buffered logs and results to Fluentd."""

from pathlib import Path

import click

from nodrop.cli.completion_types import DIR
from nodrop.errors import ConfigError, ShipError

EPILOG = """
\b
Examples:
  nodrop ship                          deliver buffered records
  nodrop ship --list                   list buffered records only
  nodrop ship --buffer-dir /var/ship   with another ship.buffer_dir

\b
Exit codes: 0 all delivered, 2 no such directory, 7 records remain.
"""


@click.command(epilog=EPILOG, short_help="Deliver buffered records to Fluentd.")
@click.option("--buffer-dir", type=DIR, help="Buffer directory.  [default: nodrop/ship in the state directory]")
@click.option("--list", "only_list", is_flag=True, help="Only list buffered records.")
def ship(buffer_dir: str | None, only_list: bool) -> int:
    """Deliver logs and results that runs buffered on disk while an aggregator was unavailable.

    Every run does this for its own aggregators. This command needs no configuration: buffers contain their destination.
    """
    from nodrop.export.fluentd.buffer import list_buffers
    from nodrop.plan.shipping import default_buffer_dir

    directory = Path(buffer_dir) if buffer_dir else default_buffer_dir()
    if buffer_dir and not directory.is_dir():
        raise ConfigError(f"--buffer-dir: {buffer_dir} does not exist; use the directory of ship.buffer_dir")
    paths = list_buffers(directory)
    if not paths:
        click.echo(f"no buffered records in {directory}")
    remaining = [count for path in paths if (count := _ship(path, only_list))]
    return ShipError.exit_code if remaining else 0


def _ship(path: Path, only_list: bool) -> int:
    """Deliver one buffer and print the outcome; returns the number of remaining records."""
    from nodrop.export.fluentd.sender import deliver, read_status

    try:
        aggregator, before_count = read_status(path)
        failure = ""
        if not only_list and before_count:
            try:
                deliver(path)
            except ShipError as error:
                failure = f": {error}"
        remaining_count = read_status(path).record_count
    except ShipError as error:
        click.echo(f"nodrop: error: {error}", err=True)
        return 1
    delivered = "" if only_list else f"{before_count - remaining_count} delivered, "
    click.echo(f"{aggregator.name}: {delivered}{remaining_count} waiting{failure}")
    return remaining_count
