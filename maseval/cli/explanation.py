"""Explanations in the terminal: each line keeps its margin when it is wrapped."""

import re

from rich.console import Console

from maseval.cli.console import indented
from maseval.cli.text import inert

_EMPHASIS = (
    (re.compile(r"\b(FAILED|NOT MET)\b"), r"[red]\1[/red]"),
    (re.compile(r"^(agent|user|task|infrastructure|unclear): ([^()]+)"), r"[bold]\1: \2[/bold]"),
)


def print_words(text: str, console: Console) -> None:
    """A text of ours, with quotations of models in it, line by line."""
    for line in text.splitlines():
        if not line:
            console.print()
            continue
        words = line.lstrip(" ")
        margin = len(line) - len(words)
        shown = inert(words)
        for pattern, replacement in _EMPHASIS:
            shown = pattern.sub(replacement, shown)
        if not margin and not words.endswith(")") and ":" not in words:
            shown = f"[bold]{shown}[/bold]"
        console.print(indented(shown, margin), highlight=False)
