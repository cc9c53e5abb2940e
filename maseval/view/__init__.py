"""The viewer: all runs of a folder as a page on this machine, live while they are running."""

from maseval.view.api import Answers
from maseval.view.app import create_app

__all__ = ["Answers", "create_app"]
