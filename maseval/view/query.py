"""The query of a request, and the errors that answer a bad one; their text goes to the reader."""

from typing import ClassVar

from starlette.datastructures import QueryParams

from maseval.core.exceptions import MASEvalError

Query = QueryParams


class ViewError(MASEvalError):
    """A request that is refused, with the status of the answer."""

    status: ClassVar[int] = 400


class BadRequestError(ViewError, ValueError):
    """The request lacks something, or has it in the wrong form."""


class NothingThereError(ViewError, LookupError):
    """There is no such run, task or page."""

    status: ClassVar[int] = 404


def number_in(query: Query, name: str, usual: int) -> int:
    """Return a whole number of the query; ``usual`` if it is not there."""
    given = query.get(name, str(usual))
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise BadRequestError(f"{name} is {given!r}; give a whole number")
    return int(given)


def required_parts(query: Query, *names: str) -> list[str]:
    """Return parts of the query, each of which must be there."""
    missing = [name for name in names if name not in query]
    if missing:
        raise BadRequestError(f"the address lacks {', '.join(missing)}; add ?{missing[0]}=")
    return [query[name] for name in names]
