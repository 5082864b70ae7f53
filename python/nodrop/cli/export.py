"""`nodrop export`: dashboards for Kibana and Grafana."""

from pathlib import Path

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import FILE

EPILOG = """
\b
Examples:
  nodrop export kibana -o nodrop.ndjson        import it under Stack Management, Saved Objects
  nodrop export grafana -o nodrop.json         for a Prometheus that scrapes nodrop serve
  nodrop export grafana --source postgresql    for the database of results_index
"""


@click.group(epilog=EPILOG, short_help="Export dashboards for Kibana and Grafana.")
def export() -> None:
    """Export dashboards: Kibana for shipped records, Grafana for metrics or SQL.

    Ids are stable: importing the dashboard of a later release replaces the former one.
    """


@export.command(short_help="Export saved objects for Kibana and OpenSearch Dashboards.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Output file.  [default: standard output]")
@click.option(
    *("--index", "index_pattern"),
    metavar="PATTERN",
    default="resu*",
    show_default=True,
    help="Index pattern of the records, as set in the aggregator.",
)
def kibana(output: str | None, index_pattern: str) -> None:
    """Export charts, a table and a dashboard for the records that `ship.fluentd` sends, of nodrop and NFVbench.

    Saved objects of release 7.10, for Kibana from that release on and for OpenSearch Dashboards.
    """
    from nodrop.export.dashboards.kibana import build_ndjson

    _write(build_ndjson(index_pattern), output)


@export.command(short_help="Export a dashboard for Grafana.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Output file.  [default: standard output]")
@click.option(
    "--source",
    type=Choice(["openmetrics", "postgresql"]),
    default="openmetrics",
    show_default=True,
    help="Data source: Prometheus, or the results index in PostgreSQL.",
)
def grafana(output: str | None, source: str) -> None:
    """Export a dashboard for import or provisioning in Grafana 10 or later."""
    from nodrop.export.dashboards import openmetrics, postgresql
    from nodrop.export.dashboards.grafana import to_json

    dashboard = openmetrics.build_dashboard() if source == "openmetrics" else postgresql.build_dashboard()
    _write(to_json(dashboard), output)


def _write(content: str, output: str | None) -> None:
    if output in (None, "-"):
        click.echo(content, nl=False)
        return
    from nodrop.store import write_text

    write_text(Path(output), content)
    click.echo(f"{output}: written", err=True)
