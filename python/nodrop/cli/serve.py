"""`nodrop serve`: measure on request, over HTTP and on pages."""

from pathlib import Path

import click

from nodrop.cli.completion_types import DIR, FILE

EPILOG = """
\b
Examples:
  nodrop serve                                         on http://127.0.0.1:7555, open it in a browser
  nodrop serve -c lab.yaml --results-dir /var/lib/nodrop
  nodrop serve --host 0.0.0.0 --token-file tokens      for others, who show a token
  curl -H 'Content-Type: application/json' -d '{"rate": "10kpps"}' http://127.0.0.1:7555/start_run
  curl http://127.0.0.1:7555/status
  nodrop client run                                    the same from nodrop, followed to its end
"""


@click.command(epilog=EPILOG, short_help="Measure on request, over HTTP.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", "-p", type=click.IntRange(0, 65535), default=7555, show_default=True, help="0: a free one.")
@click.option("--token-file", type=FILE, help="Tokens, one a line; requests have to show one.")
@click.option("--config", "-c", "config", type=FILE, multiple=True, help="Configuration of every run.")
@click.option("--results-dir", type=DIR, help="Where results are kept.  [default: the configuration's]")
def serve(host: str, port: int, token_file: str | None, config: tuple[str, ...], results_dir: str | None) -> int:
    """Take runs over HTTP: on pages, by NFVbench's interface, and by /api/v1, which GET /openapi.json describes.

    One run goes on at a time, others wait in a queue. What a request sets wins over the configuration given here; keys
    that name files, programs or devices of this host can be set here only. Beyond 127.0.0.1 a token is needed.
    """
    from nodrop.server.pages.routes import WebPages
    from nodrop.server.rest.server import serve as serve_runs
    from nodrop.server.rest.server_config import make_base

    base = make_base(config, results_dir)

    def announce(url: str) -> None:
        click.echo(f"nodrop serves {url}, results in {base.results_dir}")

    serve_runs(host, port, Path(token_file) if token_file else None, base, announce, make_pages=WebPages)
    return 0
