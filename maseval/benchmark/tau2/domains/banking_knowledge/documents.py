"""The knowledge base: 698 documents, read once, in the order of their file names.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/ (MIT, Sierra Research).
"""

import json
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.bm25 import BM25
from maseval.benchmark.tau2.world.state.copying import once


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
    forms = (json.loads(path.read_bytes()) for path in paths)
    return KnowledgeBase([Document(form["id"], form["title"], form["content"]) for form in forms])
