"""Actions of NFVbench's flags other than a run, carried out by nodrop's commands."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from nodrop import __version__
from nodrop.cli.nfvbench_flags import PREFIX


def run_action(context: click.Context, flags: Mapping[str, Any], keys: Mapping[str, Any]) -> int | None:
    """Carry out the action of the flags, if they contain one.

    Args:
        context: context of the command.
        flags: arguments of the command.
        keys: configuration keys that they set.

    Returns: the exit code; None if a run is requested.
    """
    set_flags = {flag.removeprefix(PREFIX): value for flag, value in flags.items() if flag.startswith(PREFIX) and value}
    if "version" in set_flags:
        click.echo(f"nodrop {__version__}")
        return 0
    if "show_trex_log" in set_flags:
        return _show_trex_log(flags["files"], keys)
    for flag, (command, *arguments) in COMMANDS.items():
        if flag in set_flags:
            return _run_command(context, command, [*arguments, *_make_arguments(flag, set_flags, flags["files"], keys)])
    return None


COMMANDS = {
    "show_default_config": ("config", "default", "--nfvbench"),
    "show_pre_config": ("config", "show", "--nfvbench", "--json"),
    "show_config": ("config", "show", "--nfvbench", "--json"),
    "show_json_config": ("config", "show", "--nfvbench", "--json"),
    "show_summary": ("show",),
    "status": ("status",),
    "cleanup": ("cleanup",),
    "force_cleanup": ("cleanup", "--force"),
    "server": ("serve",),
}
"""Flag, as an argument of the command, and the equivalent command; the first given flag takes effect."""


def _make_arguments(
    flag: str, set_flags: Mapping[str, Any], config_files: Sequence[str], keys: Mapping[str, Any]
) -> list[str]:
    files = [part for file in config_files for part in ("--config", file)]
    if flag == "show_summary":
        return [set_flags[flag]]
    if flag == "show_pre_config":
        return files
    if flag in ("show_config", "show_json_config"):
        return [*files, *_make_settings(keys)]
    if flag in ("status", "cleanup", "force_cleanup"):
        return [*files, *_make_settings(keys), *(() if flag == "status" or not (files or keys) else ("--nfvbench",))]
    if flag == "server":
        address = [
            part for name in ("host", "port") if name in set_flags for part in (f"--{name}", str(set_flags[name]))
        ]
        return [*address, *files, *(("--results-dir", results_dir) if (results_dir := keys.get("results_dir")) else ())]
    return []


def _show_trex_log(files: Sequence[str], keys: Mapping[str, Any]) -> int:
    """Print the log of the TRex server at the configured port."""
    from nodrop.config.load import build_config
    from nodrop.generator.trex.server import log_text

    port = build_config(files, keys).trex.rpc_port
    text = log_text(port)
    if text is None:
        click.echo(f"nodrop: no log of a TRex server started by nodrop at port {port}", err=True)
        return 1
    click.echo(text, nl=False)
    return 0


def _make_settings(keys: Mapping[str, Any]) -> list[str]:
    """Return keys as `--set` arguments."""
    from nodrop.system.yaml_reader import to_yaml_line

    return [part for key, value in keys.items() for part in ("--set", f"{key}={to_yaml_line(value)}")]


def _run_command(context: click.Context, name: str, arguments: list[str]) -> int:
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    command = root.command.get_command(root, name)
    assert command
    return int(command.main(arguments, prog_name=name, parent=root, standalone_mode=False) or 0)
