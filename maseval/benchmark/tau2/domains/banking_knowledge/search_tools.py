"""Search tools: what an agent may look into the knowledge base with, by variant.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/retrieval_mixins.py (MIT, Sierra
Research).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from maseval.benchmark.tau2.domains.banking_knowledge.desk import Desk, bank_tool
from maseval.benchmark.tau2.domains.banking_knowledge.documents import (
    Hit,
    KnowledgeBase,
    knowledge_base,
    shown,
)
from maseval.benchmark.tau2.domains.base import ToolType


@dataclass(frozen=True)
class SearchOptions:
    """How much a search gives back."""

    top_k: int = 10
    grep_top_k: int = 10
    case_sensitive: bool = False
    reranker_min_score: int = 5


class SearchTools(Desk):
    """A toolkit that knows where the documents are."""

    search: ClassVar[SearchOptions] = SearchOptions()
    _folder: str | None = None

    def find_files(self, folder: Path) -> None:
        self._folder = str(folder)

    @property
    def knowledge(self) -> KnowledgeBase:
        """The documents."""
        assert self._folder is not None, "the world tells a toolkit where its files are"
        return knowledge_base(self._folder)


class BM25Search(SearchTools):
    """The search of the ``bm25`` variants."""

    @bank_tool(ToolType.READ, of="KBSearchMixin")
    def KB_search(self, query: str) -> str:
        """Search the knowledge base for documents about something.

        Args:
            query: What to look for.
        """
        started = time.perf_counter()
        return timed(self.knowledge.best(query, self.search.top_k), started)


class Grep(SearchTools):
    """The search by regular expression."""

    @bank_tool(ToolType.READ, of="GrepMixin")
    def grep(self, pattern: str) -> str:
        """Search all documents of the knowledge base for a regular expression.

        The documents with the most matches come first, each in full.

        Args:
            pattern: The regular expression, for example "annual.*fee" or "lost|stolen".
        """
        search = self.search
        hits = self.knowledge.matching(
            pattern, search.grep_top_k, case_sensitive=search.case_sensitive
        )
        return shown(hits) if hits else f"No matches found for pattern: {pattern}"


def timed(hits: Sequence[Hit], started: float, reranking: float = 0.0) -> str:
    """The answer of a search of the knowledge base, which says how long it took."""
    total = (time.perf_counter() - started) * 1000
    times = f"retrieval={total - reranking:.0f}ms, reranking={reranking:.0f}ms, total={total:.0f}ms"
    return f"{shown(hits) or 'No relevant documents found.'}\n\n[Timing: {times}]"
