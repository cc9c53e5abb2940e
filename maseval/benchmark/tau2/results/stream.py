"""JSON read piece by piece: a file of any size needs only the memory of its largest piece.

A piece may be ``LONGEST_VALUE`` long: a file of some megabytes can unpack to any size.
"""

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Generator, Iterator
from json.decoder import JSONDecodeError
from pathlib import Path
from typing import Any, Protocol, Self

from maseval.core.exceptions import MASEvalError

CHUNK = 1 << 20
LONGEST_VALUE = 64 << 20
"""The most bytes that one value may have, as it is read whole; a simulation has a hundredth."""
_DECODER = json.JSONDecoder()
_WHITESPACE = " \t\n\r"
_GZIP = b"\x1f\x8b"
_MARK = codecs.BOM_UTF8

# A piece may be cut anywhere, so an error this close to the end of what was read so far may only
# mean that more is to come: the longest words are -Infinity and the two halves of an escaped pair.
_MARGIN = 16
_CUT_WORD = re.compile(r"[-+.\w\\]*\s*")


class JsonStreamError(MASEvalError, ValueError):
    """The text is not JSON; ``offset`` is the byte (of the decompressed text) where that shows."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(f"{problem} at byte {offset}")
        self.problem = problem
        self.offset = offset


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class JsonStream:
    """Walks through a JSON text; values are built only where they are asked for.

    ``members`` and ``elements`` walk through an object and an array. Inside ``members`` each value
    must be taken, by ``value``, ``skip``, ``members`` or ``elements``, before the next key.
    """

    def __init__(
        self, file: Readable, *, chunk: int = CHUNK, longest: int = LONGEST_VALUE, start: int = 0
    ) -> None:
        self._file = file
        self._longest = longest
        self._chunk = chunk
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._text = ""
        self._at = 0
        self._bytes_before = start  # in the file, before the first character of _text
        self._bytes_read = start
        self._ended = False

    @property
    def offset(self) -> int:
        """The number of bytes consumed so far."""
        return self._bytes_before + _size(self._text[: self._at])

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end of the text."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in _WHITESPACE:
                    return character
                self._at += 1
            if not self._read_more():
                return ""

    def value(self) -> Any:
        """Return the next value, whole."""
        if not self.peek():
            raise self._truncation_error()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except JSONDecodeError as error:
                if not self._may_continue(error):
                    raise self._format_error(error.msg, error.pos) from None
            except RecursionError:
                raise self._format_error("nested too deeply", self._at) from None
            except ValueError as error:  # a number too long for Python
                raise self._format_error(str(error), self._at) from None
            else:
                # What looks like a number may be the beginning of a longer one.
                cut = isinstance(value, int | float) and len(self._text) - end < _MARGIN
                if not (cut and self._read_more()):
                    self._at = end
                    return value

    def skip(self) -> None:
        """Pass over the next value, holding no more than one of its parts."""
        match self.peek():
            case "{":
                for _ in self.members():
                    self.value()
            case "[":
                for _ in self.elements():
                    pass
            case _:
                self.value()

    def elements(self, end: int | None = None) -> Generator[Any, None, bool]:
        """Yield the elements of the array that comes next, as ``more_elements``."""
        self._take("[")
        return self._took("]") or (yield from self.more_elements(end))

    def more_elements(self, end: int | None = None) -> Generator[Any, None, bool]:
        """Yield elements, beginning with the one that comes next, up to the end of the array.

        Ends before the first that begins at or after the byte ``end``. Returns whether the array
        is over.
        """
        while not self.is_past(end):
            yield self.value()
            if self._took("]"):
                return True
            self._take(",")
        return False

    def is_past(self, end: int | None) -> bool:
        """Tell whether the next value begins at or after the byte ``end``."""
        self.peek()
        # Counting bytes takes time, and most of a text is far from the end.
        return end is not None and self._bytes_read >= end and self.offset >= end

    def members(self) -> Iterator[str]:
        """Yield the keys of the object that comes next; the caller takes each value."""
        self._take("{")
        if not self._took("}"):
            yield from self._more_members()

    def members_left(self) -> Iterator[str]:
        """Yield the other keys of an object, one of whose values was just taken."""
        if not self._took("}"):
            self._take(",")
            yield from self._more_members()

    def _more_members(self) -> Iterator[str]:
        while True:
            if self.peek() not in ('"', ""):
                raise self._format_error("expected a key in double quotes", self._at)
            key = self.value()
            self._take(":")
            yield str(key)
            if self._took("}"):
                return
            self._take(",")

    def finish(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            raise self._format_error("extra data", self._at)

    def _took(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def _take(self, character: str) -> None:
        if not self._took(character):
            if not self.peek():
                raise self._truncation_error()
            raise self._format_error(f"expected {character!r}", self._at)

    def _may_continue(self, error: JSONDecodeError) -> bool:
        """Tell whether a value that could not be read may be complete once more is read."""
        open_string = error.msg.startswith("Unterminated string")
        if not open_string and error.pos < len(self._text) - _MARGIN:
            return False
        if self._read_more():
            return True
        if open_string or _CUT_WORD.fullmatch(self._text, error.pos):
            raise self._truncation_error()
        return False

    def _read_more(self) -> bool:
        """Read more, and drop what was consumed; at the end of the file nothing changes.

        At least as much is read as is waiting, so that a long value is not tried too often.
        """
        if self._ended:
            return False
        waiting = len(self._text) - self._at
        if waiting > self._longest:
            size = self._longest >> 20
            problem = f"a value of more than {size} MB, which must be removed or split, begins"
            raise self._format_error(problem, self._at)
        try:
            size = min(waiting, self._longest - waiting)
            data = self._file.read(max(self._chunk, len(_MARK) + 1, size))
            if self._bytes_read == 0 and data.startswith(_MARK):
                self._bytes_read = self._bytes_before = len(_MARK)
                data = data[len(_MARK) :]
            more = self._decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise JsonStreamError(f"not UTF-8 ({error.reason})", self._bytes_read) from None
        except EOFError:
            raise self._truncation_error() from None
        except (zlib.error, OSError) as error:
            raise JsonStreamError(f"unreadable ({error})", self._bytes_read) from error
        self._ended = not data
        self._bytes_read += len(data)
        if data:
            self._bytes_before += _size(self._text[: self._at])
            self._text, self._at = self._text[self._at :] + more, 0
        return not self._ended

    def _format_error(self, problem: str, position: int) -> JsonStreamError:
        offset = self._bytes_before + _size(self._text[:position])
        return JsonStreamError(problem, offset)

    def _truncation_error(self) -> JsonStreamError:
        return JsonStreamError("the text ends in the middle of a value", self._bytes_read)


class JsonFile(JsonStream):
    """A JSON file, compressed with gzip or not, as a stream to be used in a ``with`` block.

    One that is not compressed can be read from the byte ``start`` on, where a value begins.
    """

    def __init__(self, path: Path, start: int = 0) -> None:
        self._raw = path.open("rb")
        self.packed = self._raw.peek(len(_GZIP)).startswith(_GZIP)
        self._raw.seek(start)
        file = gzip.GzipFile(fileobj=self._raw) if self.packed else self._raw
        super().__init__(file, start=start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._raw.close()


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
