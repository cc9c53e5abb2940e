"""Examples at the end of a command's help."""

from rich.markup import escape


def examples(*lines: tuple[str, str]) -> str:
    """Commands and what they are good for, one below the other."""
    shown = [f"[cyan]{escape(command)}[/cyan]\n  {escape(purpose)}" for command, purpose in lines]
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(shown)
