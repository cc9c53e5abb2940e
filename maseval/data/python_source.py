"""Parse a fetched Python file, once it is verified, into its syntax tree; none of it is run."""

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from maseval.data.files import DataError


class SourceShapeError(DataError):
    """A source file is not of the shape that texts are taken from; the message names the file."""


def parse_source(name: str, content: bytes) -> ast.Module:
    """Return the syntax tree of the file called ``name``."""
    with refuse_unreadable(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in its texts, which are not ours to mend
        return ast.parse(content, name)


@contextmanager
def refuse_unreadable(name: str) -> Iterator[None]:
    """Turn whatever breaks while the file called ``name`` is read into a ``SourceShapeError``."""
    try:
        yield
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SourceShapeError(f"{name} cannot be read: {error}") from error
