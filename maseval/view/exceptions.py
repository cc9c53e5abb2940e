"""The errors of requests; their text goes to the reader of the page."""

from typing import ClassVar

from maseval.core.exceptions import MASEvalError


class ViewError(MASEvalError):
    """A request that is refused, with the status of the answer."""

    status: ClassVar[int] = 400


class BadRequestError(ViewError, ValueError):
    """The request lacks something, or has it in the wrong form."""


class NothingThereError(ViewError, LookupError):
    """There is no such run, task or page."""

    status: ClassVar[int] = 404
