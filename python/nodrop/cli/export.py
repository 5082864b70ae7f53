"""`nodrop export`: dashboards for those who keep results elsewhere."""

from pathlib import Path

import click

from nodrop.cli.completion_types import FILE

EPILOG = """
\b
Examples:
  nodrop export kibana -o nodrop.ndjson        import it under Stack Management, Saved Objects
  nodrop export grafana -o nodrop.json         over what Prometheus scrapes of nodrop serve
  nodrop export grafana --source postgresql    over the index that results_index names
"""


@click.group(epilog=EPILOG, short_help="Dashboards for Kibana and Grafana.")
def export() -> None:
    """Write dashboards for those who keep results elsewhere: Kibana over shipped records, Grafana over metrics or SQL.

    Importing one again, as of a later release, replaces it: its ids stay.
    """


@export.command(short_help="Saved objects for Kibana and OpenSearch Dashboards.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Where to write them.  [default: standard output]")
@click.option(
    *("--index", "index_pattern"),
    metavar="PATTERN",
    default="resu*",
    show_default=True,
    help="Indices of the records, as the aggregator names them.",
)
def kibana(output: str | None, index_pattern: str) -> None:
    """Write charts, a table and a dashboard over the records that `ship.fluentd` sends, nodrop's and NFVbench's alike.

    Saved objects of release 7.10, which Kibana from there on and OpenSearch Dashboards import.
    """
    from nodrop.export.dashboards.kibana import ndjson

    _write(ndjson(index_pattern), output)


@export.command(short_help="A dashboard for Grafana.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Where to write it.  [default: standard output]")
@click.option(
    "--source",
    type=click.Choice(["openmetrics", "postgresql"]),
    default="openmetrics",
    show_default=True,
    help="Prometheus that scrapes nodrop, or the index of results in PostgreSQL.",
)
def grafana(output: str | None, source: str) -> None:
    """Write a dashboard to import in Grafana 10 or later, or to put among the files it is provisioned with."""
    from nodrop.export.dashboards import openmetrics, postgresql
    from nodrop.export.dashboards.grafana import to_json

    dashboard = openmetrics.dashboard() if source == "openmetrics" else postgresql.dashboard()
    _write(to_json(dashboard), output)


def _write(content: str, output: str | None) -> None:
    if output in (None, "-"):
        click.echo(content, nl=False)
        return
    from nodrop.store import write_whole

    write_whole(Path(output), content)
    click.echo(f"{output}: written", err=True)
