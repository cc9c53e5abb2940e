"""Parse a fetched Python file into its syntax tree, without running any of it.

Whoever made the file, reading it must neither crash nor take long: size and nesting are limited
before the parser sees it, far above what the original's files have.
"""

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from maseval.data.files import DataError

SIZE_LIMIT = 1024 * 1024
BRACKET_LIMIT = 64
INDENT_LIMIT = 32
# Tokens of one statement: what nests without brackets (`- - - 1`, `a.b.c`) is a long statement.
STATEMENT_LIMIT = 10_000


class SourceShapeError(DataError):
    """A source file is not of the shape that texts are taken from; the message names the file."""


def parse_source(name: str, content: bytes) -> ast.Module:
    """Return the syntax tree of the file called ``name``."""
    if len(content) > SIZE_LIMIT:
        raise SourceShapeError(f"{name} is larger than {SIZE_LIMIT:,} bytes")
    if b"\0" in content:
        raise SourceShapeError(f"{name} is not Python: it has null bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceShapeError(f"{name} is not UTF-8: {error}") from error
    with refuse_unreadable(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in its texts, which are not ours to mend
        _limit_nesting(name, text)
        return ast.parse(text, name)


@contextmanager
def refuse_unreadable(name: str) -> Iterator[None]:
    """Turn whatever breaks while the file called ``name`` is read into a ``SourceShapeError``."""
    try:
        yield
    except (SyntaxError, tokenize.TokenError, ValueError) as error:
        raise SourceShapeError(f"{name} cannot be read: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise SourceShapeError(f"{name} is nested too deeply to be read") from error


def _limit_nesting(name: str, text: str) -> None:
    brackets = indents = statement = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        statement = 0 if token.type == tokenize.NEWLINE else statement + 1
        if token.type == tokenize.OP:
            brackets += (token.string in "([{") - (token.string in ")]}")
        else:
            indents += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if brackets > BRACKET_LIMIT or indents > INDENT_LIMIT or statement > STATEMENT_LIMIT:
            line = token.start[0]
            raise SourceShapeError(f"{name} is nested too deeply to be read, in line {line}")
