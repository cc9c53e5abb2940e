"""The command ``maseval``: one file for each subcommand, which parses, calls and prints."""

from maseval.cli.app import app, main

__all__ = ["app", "main"]
