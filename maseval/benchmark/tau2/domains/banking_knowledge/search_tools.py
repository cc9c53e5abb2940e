"""Search tools: what an agent may look into the knowledge base with, by variant.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/retrieval_mixins.py (MIT, Sierra
Research).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from maseval.benchmark.tau2.domains.banking_knowledge.desk import Desk, bank_tool
from maseval.benchmark.tau2.domains.banking_knowledge.documents import (
    Hit,
    KnowledgeBase,
    knowledge_base,
    render_hits,
)
from maseval.benchmark.tau2.domains.banking_knowledge.embeddings import (
    OPENAI,
    EmbeddingModel,
    dense_index,
)
from maseval.benchmark.tau2.domains.banking_knowledge.reranking import rerank
from maseval.benchmark.tau2.domains.banking_knowledge.sandbox import Shell
from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.world.state.copying import Memo


@dataclass(frozen=True)
class SearchOptions:
    """Settings of a search: its method, and the number of results.

    ``embedding`` makes a search of the knowledge base dense; ``reranker`` lets a model rate what
    was found; ``writable`` lets a shell change its folder.
    """

    top_k: int = 10
    grep_top_k: int = 10
    case_sensitive: bool = False
    reranker_min_score: int = 5
    embedding: EmbeddingModel | None = None
    reranker: bool = False
    writable: bool = False


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


class KnowledgeSearch(SearchTools):
    """One search of the knowledge base: by BM25, or by an embedding."""

    @bank_tool(ToolType.READ, of="KBSearchMixin")
    def KB_search(self, query: str) -> str:
        """Search the knowledge base for documents about something.

        Args:
            query: What to look for.
        """
        search, knowledge = self.search, self.knowledge
        found = dense_index(knowledge, search.embedding) if search.embedding else knowledge
        rating = search.reranker_min_score if search.reranker else None
        return answer_search(lambda: found.best(query, search.top_k), query, rating)


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
        return render_hits(hits) if hits else f"No matches found for pattern: {pattern}"


class BothSearches(SearchTools):
    """The two searches of the variants that have all tools."""

    @bank_tool(ToolType.READ, of="KBSearchBm25AllToolsMixin")
    def KB_search_bm25(self, query: str, k: int = 10) -> str:
        """Search the knowledge base for documents by their words.

        Args:
            query: What to look for.
            k: How many documents to give back at most.
        """
        return answer_search(lambda: self.knowledge.best(query, self.search.top_k)[:k], query)

    @bank_tool(ToolType.READ, of="KBSearchDenseAllToolsMixin")
    def KB_search_dense(self, query: str, k: int = 10) -> str:
        """Search the knowledge base for documents by their meaning.

        Args:
            query: What to look for.
            k: How many documents to give back at most.
        """
        index = dense_index(self.knowledge, self.search.embedding or OPENAI)
        return answer_search(lambda: index.best(query, self.search.top_k)[:k], query)


class Terminal(SearchTools):
    """A shell in a folder that holds the documents as files."""

    _shell: Shell | None = None

    def twin(self, memo: Memo) -> Self:
        """The same tools in a folder of their own: it is made when first used."""
        twin = super().twin(memo)
        twin._shell = None
        return twin

    @bank_tool(ToolType.READ, of="ShellMixin")
    def shell(self, command: str) -> str:
        """Run a shell command in the folder of the knowledge base.

        Args:
            command: The command, for example "grep -l 'wire transfer' *.md | head".
        """
        if self._shell is None:
            self._shell = Shell(self.knowledge.documents, writable=self.search.writable)
        return self._shell.run(command)


def answer_search(
    find: Callable[[], Sequence[Hit]], query: str, min_rating: int | None = None
) -> str:
    """Return the answer of a search of the knowledge base; it says how long it took."""
    started = time.perf_counter()
    hits = find()
    found = time.perf_counter()
    if min_rating is not None:
        hits = rerank(query, hits, min_rating)
    done = time.perf_counter()
    retrieval, reranking, total = (
        f"{seconds * 1000:.0f}ms" for seconds in (found - started, done - found, done - started)
    )
    times = f"retrieval={retrieval}, reranking={reranking}, total={total}"
    return f"{render_hits(hits) or 'No relevant documents found.'}\n\n[Timing: {times}]"
