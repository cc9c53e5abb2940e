"""What can be searched in a simulation, and how words are looked for in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from maseval.core.shapes import Shape, entries, mapping, text
from maseval.report.conversation import conversation

# In the order of their numbers, which stand in index files.
PLACES = ("text", "result", "tool", "argument", "label", "error")
KINDS: Mapping[str, Sequence[str]] = {
    "any": PLACES,
    "text": ("text", "result"),
    "tool": ("tool",),
    "argument": ("argument",),
    "label": ("label",),
    "error": ("error",),
}
"""What may be asked for, and where that is looked for."""

_CHUNK = re.compile(r'"([^"]*)"|(\S+)')
_AROUND = 90


class Part(NamedTuple):
    """A text of a simulation: of which message, if of one, and what kind of text."""

    message: int | None
    where: str
    text: str


def parts_of(report: Shape) -> Iterator[Part]:
    """All that can be searched in a report."""
    for said in conversation(report):
        index = said["index"]
        if words := said.get("text"):
            yield Part(index, "error" if said.get("failed") else "text", words)
        calls = said.get("calls") or ()
        if calls:
            yield Part(index, "tool", "\n".join(call["name"] for call in calls))
            yield Part(index, "argument", "\n".join(call["arguments"] for call in calls))
        results = [call["result"] for call in calls if call["result"] is not None]
        for where, failed in (("result", False), ("error", True)):
            told = [each["text"] for each in results if each["failed"] is failed]
            if told:
                yield Part(index, where, "\n".join(told))
    if message := mapping(report, "error").get("error_message"):
        yield Part(None, "error", text(message))
    if labels := entries(report.get("labels")):
        yield Part(None, "label", "\n".join(map(text, labels)))


def chunks_of(words: str) -> list[str]:
    """What must all be found: words, and phrases in quotes; signs alone are nothing."""
    found = (quoted or plain for quoted, plain in _CHUNK.findall(words.replace("\0", " ")))
    return [chunk for chunk in found if any(map(str.isalnum, chunk))]


def holds(part: Part, chunks: Sequence[str]) -> bool:
    """Whether all chunks occur in a text, in upper or lower case."""
    folded = part.text.casefold()
    return all(chunk.casefold() in folded for chunk in chunks)


def excerpt_of(words: str, chunks: Sequence[str]) -> str:
    """The text around the first of the chunks that is found in it."""
    folded = words.lower()
    found = [at for chunk in chunks if (at := folded.find(chunk.lower())) >= 0]
    at = min(found, default=0)
    begin, end = max(0, at - _AROUND), at + _AROUND
    cut = " ".join(words[begin:end].split())
    return f"{'…' if begin else ''}{cut}{'…' if end < len(words) else ''}"
