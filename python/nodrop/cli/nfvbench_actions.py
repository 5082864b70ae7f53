"""What NFVbench's flags ask for instead of a run: the command of nodrop's own that does it, carried out."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from nodrop import __version__
from nodrop.cli.nfvbench_flags import PREFIX


def instead(context: click.Context, flags: Mapping[str, Any], keys: Mapping[str, Any]) -> int | None:
    """Do what was asked for instead of a run.

    Args:
        context: of the command.
        flags: its arguments.
        keys: what they set, by configuration key.

    Returns: the exit code; None when a run was asked for.
    """
    asked = {flag.removeprefix(PREFIX): value for flag, value in flags.items() if flag.startswith(PREFIX) and value}
    if "version" in asked:
        click.echo(f"nodrop {__version__}")
        return 0
    if "show_trex_log" in asked:
        return _show_trex_log(flags["files"], keys)
    for flag, (command, *arguments) in COMMANDS.items():
        if flag in asked:
            return _carry_out(context, command, [*arguments, *_own_arguments(flag, asked, flags["files"], keys)])
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
"""Flag, as it is named among the command's arguments, and what it stands for; the first that was given is done."""


def _own_arguments(flag: str, asked: Mapping[str, Any], given: Sequence[str], keys: Mapping[str, Any]) -> list[str]:
    files = [part for file in given for part in ("--config", file)]
    if flag == "show_summary":
        return [asked[flag]]
    if flag == "show_pre_config":
        return files
    if flag in ("show_config", "show_json_config"):
        return [*files, *_settings(keys)]
    if flag in ("status", "cleanup", "force_cleanup"):
        return [*files, *_settings(keys), *(() if flag == "status" or not (files or keys) else ("--nfvbench",))]
    if flag == "server":
        where = [part for name in ("host", "port") if name in asked for part in (f"--{name}", str(asked[name]))]
        return [*where, *files, *(("--results-dir", results_dir) if (results_dir := keys.get("results_dir")) else ())]
    return []


def _show_trex_log(files: Sequence[str], keys: Mapping[str, Any]) -> int:
    """The log of the server at the port that is asked for."""
    from nodrop.config.load import load
    from nodrop.generator.trex.server import log_text

    port = load(files, keys).trex.rpc_port
    text = log_text(port)
    if text is None:
        click.echo(f"nodrop: no log of a TRex that nodrop started at port {port} is there", err=True)
        return 1
    click.echo(text, nl=False)
    return 0


def _settings(keys: Mapping[str, Any]) -> list[str]:
    """The other flags, as settings of the keys they stand for."""
    from nodrop.system.yaml_reader import dumped

    return [part for key, value in keys.items() for part in ("--set", f"{key}={dumped(value)}")]


def _carry_out(context: click.Context, name: str, arguments: list[str]) -> int:
    group = context.find_root().command
    assert isinstance(group, click.Group)
    command = group.get_command(context, name)
    assert command
    return int(command.main(arguments, prog_name=f"nodrop {name}", standalone_mode=False) or 0)
