"""`nodrop completion`: completion scripts for shells."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from nodrop.cli.choice import Choice

VARIABLE = "_NODROP_COMPLETE"
"""Environment variable of a completion request."""
SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
EPILOG = """
\b
For the current shell, and permanently:
  bash  eval "$(nodrop completion bash)"      nodrop completion bash > ~/.local/share/bash-completion/completions/nodrop
  zsh   eval "$(nodrop completion zsh)"       nodrop completion zsh > a directory of $fpath, as _nodrop
  fish  nodrop completion fish | source       nodrop completion fish > ~/.config/fish/completions/nodrop.fish
"""


@click.command(epilog=EPILOG, short_help="Print a shell completion script.")
@click.argument("shell", type=Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print a script that completes commands, flags, SUTs, searches, configuration keys and run ids."""
    completer = SHELLS[shell]
    group = click.get_current_context().find_root().command
    assert completer.source_template
    click.echo(completer.source_template % completer(group, {}, "nodrop", VARIABLE).source_vars())
