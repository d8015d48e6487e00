"""hypot completion: a script that lets a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script that completes hypot's commands and options in your shell.

    For bash and zsh, add `eval "$(hypot completion bash)"` to ~/.bashrc or ~/.zshrc. For fish, write it to
    ~/.config/fish/completions/hypot.fish.
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"completion for {shell} is not available")
    whole = context.find_root().command
    click.echo(found(whole, {}, "hypot", "_HYPOT_COMPLETE").source())
