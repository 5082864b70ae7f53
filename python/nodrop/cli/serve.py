"""`nodrop serve`: REST interface and web pages."""

from pathlib import Path

import click

from nodrop.cli.completion_types import DIR, FILE

EPILOG = """
\b
Examples:
  nodrop serve                                         on http://127.0.0.1:7555
  nodrop serve -c lab.yaml --results-dir /var/lib/nodrop
  nodrop serve --host 0.0.0.0 --token-file tokens      for other hosts, with tokens
  curl -H 'Content-Type: application/json' -d '{"rate": "10kpps"}' http://127.0.0.1:7555/start_run
  curl http://127.0.0.1:7555/status
  nodrop client run                                    queue a run and follow it
"""


@click.command(epilog=EPILOG, short_help="Serve the REST interface and pages.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", "-p", type=click.IntRange(0, 65535), default=7555, show_default=True, help="Port; 0 selects a free one."
)
@click.option("--token-file", type=FILE, help="File of access tokens, one per line.")
@click.option("--config", "-c", "config_files", type=FILE, multiple=True, help="Configuration of every run.")
@click.option("--results-dir", type=DIR, help="Directory of results.  [default: the configuration's]")
def serve(host: str, port: int, token_file: str | None, config_files: tuple[str, ...], results_dir: str | None) -> int:
    """Serve web pages, NFVbench's interface and /api/v1, which GET /openapi.json describes.

    One run measures at a time; others wait in a queue. Requests override the configuration given here, except for keys
    that name files, programs or devices of this host. Other addresses than 127.0.0.1 require tokens.
    """
    from nodrop.server.pages.routes import WebPages
    from nodrop.server.rest.server import serve as serve_runs
    from nodrop.server.rest.server_config import make_server_config

    config = make_server_config(config_files, results_dir)

    def announce(url: str) -> None:
        click.echo(f"nodrop serves {url}, results in {config.results_dir}")

    serve_runs(host, port, Path(token_file) if token_file else None, config, announce, make_pages=WebPages)
    return 0
