"""Sealed lines: JSON lines that begin with a checksum of all that follows.

JSON alone does not notice a digit that was changed or a sentence that was edited; the seal does.
"""

import json
import re
import zlib
from collections.abc import Mapping

from maseval.core.storage import strict_json

_SEAL = re.compile(rb'\{"crc": (\d+), ')


def sealed(record: Mapping[str, object]) -> dict[str, object]:
    """The record with a checksum of its own text, as the first item of its line."""
    plain = json.loads(strict_json.dumps(record))
    return {"crc": zlib.crc32(strict_json.dumps(plain).encode("ascii")), **plain}


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
