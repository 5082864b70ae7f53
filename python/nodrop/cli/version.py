"""`nodrop version`: the versions of nodrop and of what it runs on."""

import click


@click.command(short_help="Print all versions.")
def version() -> int:
    """Print the versions of nodrop, its engine, Python and the kernel, as a bug report needs them."""
    import platform

    from nodrop import __version__
    from nodrop.generator.engine_process import EngineProcess

    engine = EngineProcess(None, lambda: None)
    engine.end()
    click.echo(
        f"nodrop {__version__}, engine {engine.hello['version']} ({engine.hello['commit']}), "
        f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    )
    return 0
