"""The knowledge base: 698 documents, read once, in the order of their file names.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/ (MIT, Sierra Research).
"""

import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.world.state.copying import once
from maseval.data.folder import content_hash, read_content

_K1, _B, _EPSILON = 1.5, 0.75, 0.25


def tokens(text: str) -> list[str]:
    """Words in lower case, with their punctuation."""
    return text.lower().split()


class BM25:
    """Scores of all documents for a question, to the last bit those of rank-bm25 0.2.2 (Okapi).

    Written here because a score that differs in its last bit can change the order of two documents:
    the sums are taken in that library's order. An inverted index makes it as fast without numpy.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        counts = [Counter(tokens(text)) for text in texts]
        sizes = [count.total() for count in counts]
        mean_size = sum(sizes) / len(sizes) if sizes else 0
        self._size = len(counts)
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for index, count in enumerate(counts):
            length = _K1 * (1 - _B + _B * sizes[index] / mean_size) if mean_size else 0
            for word, times in count.items():
                weight = times * (_K1 + 1) / (times + length)
                self._postings.setdefault(word, []).append((index, weight))
        self._idf = self._inverse_document_frequencies()

    def _inverse_document_frequencies(self) -> dict[str, float]:
        """Return the rarity of each word; very common words get a share of the mean."""
        idf = {
            word: math.log(self._size - len(found) + 0.5) - math.log(len(found) + 0.5)
            for word, found in self._postings.items()
        }
        floor = _EPSILON * (sum(idf.values()) / len(idf)) if idf else 0.0
        return {word: floor if value < 0 else value for word, value in idf.items()}

    def scores(self, question: str) -> list[float]:
        """One score a document; a word that is asked for twice counts twice."""
        scores = [0.0] * self._size
        for word in tokens(question):
            idf = self._idf.get(word, 0.0)
            for index, weight in self._postings.get(word, ()):
                scores[index] += idf * weight
        return scores


class Document(NamedTuple):
    """A text of the knowledge base."""

    id: str
    title: str
    content: str

    def as_section(self) -> str:
        """The document as part of a policy."""
        return f"## {self.title}\n\n{self.content}"


class Hit(NamedTuple):
    """A document that was found, and how well it fits."""

    document: Document
    score: float

    def render(self, number: int) -> str:
        document, score = self
        return (
            f"{number}. {document.title}\n   ID: {document.id}\n   Score: {score:.4f}\n"
            f"   Content: {document.content}\n"
        )


def render_hits(hits: Iterable[Hit]) -> str:
    """Hits as an agent reads them."""
    return "\n".join(hit.render(number) for number, hit in enumerate(hits, 1))


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """All documents, and the ways to search them that need nothing but the documents."""

    documents: Sequence[Document] = field(repr=False)

    @cached_property
    def _bm25(self) -> BM25:
        return BM25(document.content for document in self.documents)

    def best(self, query: str, top_k: int) -> list[Hit]:
        """The documents that fit a question best by BM25; there are always as many as asked for."""
        if not query or not query.strip():
            return []
        scores = self._bm25.scores(query)
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        cut = min(top_k, len(order))
        return [Hit(self.documents[index], scores[index]) for index in order[:cut]]

    def matching(self, pattern: str, top_k: int, *, case_sensitive: bool = False) -> list[Hit]:
        """The documents in which a regular expression matches, most matches first."""
        if not pattern.strip():
            return []
        flags = 0 if case_sensitive else re.IGNORECASE
        expression = _compile(pattern, flags)
        counts = ((d, len(expression.findall(d.content))) for d in self.documents)
        hits = [Hit(document, float(count)) for document, count in counts if count]
        hits.sort(key=lambda hit: -hit.score)
        return hits[:top_k]

    def find(self, names: Iterable[str]) -> list[Document]:
        """Documents by title or id; of equal titles the last counts, unknown names are left out."""
        by_title = {document.title: document for document in self.documents}
        by_id = {document.id: document for document in self.documents}
        found = (by_title.get(name) or by_id.get(name) for name in names)
        return [document for document in found if document is not None]


def _compile(pattern: str, flags: int) -> re.Pattern[str]:
    """Compile an agent's search pattern; a text that is no regular expression means itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about what agents write, not about us
        try:
            return re.compile(pattern, flags)
        except re.error:
            return re.compile(re.escape(pattern), flags)


def knowledge_base(folder: Path | str) -> KnowledgeBase:
    """The documents below a domain's folder; read once, for all simulations."""
    documents = Path(folder) / "documents"
    return _read(documents, documents.stat().st_mtime_ns)


@once(maxsize=4)
def _read(folder: Path, modified: int) -> KnowledgeBase:
    paths = sorted(folder.glob("*.json"), key=lambda path: path.name)
    forms = (json.loads(read_content(path, content_hash(str(path)))) for path in paths)
    return KnowledgeBase([Document(form["id"], form["title"], form["content"]) for form in forms])
