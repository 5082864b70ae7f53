"""`nodrop completion`: what a shell needs to complete nodrop's command lines."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

VARIABLE = "_NODROP_COMPLETE"
"""Environment variable by which the shell asks for completions."""
SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
EPILOG = """
\b
For this shell alone, and for every new one:
  bash  eval "$(nodrop completion bash)"      nodrop completion bash > ~/.local/share/bash-completion/completions/nodrop
  zsh   eval "$(nodrop completion zsh)"       nodrop completion zsh > a directory of $fpath, as _nodrop
  fish  nodrop completion fish | source       nodrop completion fish > ~/.config/fish/completions/nodrop.fish
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands, flags, SUTs, searches, configuration keys and run ids."""
    made = SHELLS[shell]
    group = click.get_current_context().find_root().command
    assert made.source_template
    click.echo(made.source_template % made(group, {}, "nodrop", VARIABLE).source_vars())
