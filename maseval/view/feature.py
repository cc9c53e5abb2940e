"""What a command adds to the viewer, such as the timeline of a benchmark's world."""

from collections.abc import Sequence
from typing import Protocol

from starlette.routing import BaseRoute


class Feature(Protocol):
    """Routes of its own, and what it is called.

    A route finds the runs in ``request.app.state.library``. One that takes a POST is answered only
    if the viewer was started with ``--edit``, or if it lies below ``/api/NAME/`` of a feature with
    ``writes``.
    """

    @property
    def name(self) -> str:
        """One word: the page learns which features are there by it."""

    @property
    def writes(self) -> bool:
        """Whether its own routes take a POST without ``--edit``."""

    def routes(self) -> Sequence[BaseRoute]:
        """What it answers."""
