"""Sealed lines: JSON lines that begin with a checksum of all that follows.

JSON alone does not notice a digit that was changed or a sentence that was edited; the seal does.
"""

import re
import zlib
from collections.abc import Mapping

from maseval.core.storage import strict_json

_SEAL = re.compile(rb'\{"crc": (\d+), ')


def sealed(record: Mapping[str, object]) -> bytes:
    """The line of a record, which must not be empty; its end is not part of it."""
    return sealed_json(strict_json.dumps(record))


def sealed_json(text: str) -> bytes:
    """``sealed`` for a record that is JSON already, as ``strict_json`` writes it."""
    plain = text.encode("ascii")
    return b'{"crc": %d, %b' % (zlib.crc32(plain), plain[1:])


def broken_seal(line: bytes) -> str | None:
    """Why a line is not as it was written; None if it is."""
    seal = _SEAL.match(line)
    if seal is None:
        return "it has no checksum"
    # A view, as copying each line would take longer than the checksum.
    content = memoryview(line)[seal.end() : len(line.rstrip(b"\r\n"))]
    if zlib.crc32(content, zlib.crc32(b"{")) != int(seal[1]):
        return "its checksum does not match its content"
    return None
