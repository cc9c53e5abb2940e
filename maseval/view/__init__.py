"""The viewer: all runs of a folder as a page on this machine, live while they are running."""

from maseval.view.answers import Answers
from maseval.view.app import create_app
from maseval.view.feature import Feature

__all__ = ["Answers", "Feature", "create_app"]
