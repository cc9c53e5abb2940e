"""Variants: how an agent gets at the knowledge base, and the policy that tells it so.

Numbers are comparable only within a variant, so a variant is part of the domain's name:
``banking_knowledge@bm25``. Search tools are what an agent may look into the knowledge base with.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/ (MIT, Sierra Research).
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

from maseval.benchmark.tau2.data import VARIANT_MARK
from maseval.benchmark.tau2.domains.banking_knowledge.desk import (
    Desk,
    amount_in,
    balance,
    bank_tool,
    descriptions,
)
from maseval.benchmark.tau2.domains.banking_knowledge.documents import (
    OPENAI,
    QWEN,
    RERANKER,
    Document,
    EmbeddingModel,
    Hit,
    KnowledgeBase,
    NotReadyError,
    Shell,
    dense_index,
    knowledge_base,
    render_hits,
    require_sandbox,
    rerank,
)
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB
from maseval.benchmark.tau2.domains.banking_knowledge.tools import KnowledgeTools
from maseval.benchmark.tau2.domains.banking_knowledge.user_tools import KnowledgeUserTools
from maseval.benchmark.tau2.domains.base import ToolKitBase, ToolType
from maseval.benchmark.tau2.domains.domain import (
    Customers,
    Domain,
    LateRules,
    MoneyField,
    OpenChoice,
    PermanenceRule,
    ends_with,
    stays,
)
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.texts import fill_parts
from maseval.benchmark.tau2.world.state.copying import Memo
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.model import resolve_model
from maseval.core.providers import resolve_embedder
from maseval.data.files import DataError


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
        # The result is cut twice, as in the original: a k above the variant's ``top_k`` has no
        # effect.
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
        # Most simulations never use it, and a folder of all documents takes its time.
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
    # The original shows the time of re-rating even where nothing is re-rated.
    times = f"retrieval={retrieval}, reranking={reranking}, total={total}"
    return f"{render_hits(hits) or 'No relevant documents found.'}\n\n[Timing: {times}]"


NAME = "banking_knowledge"
DEFAULT = "alltools"
OFFLINE = ("no_knowledge", "full_kb", "golden_retrieval", "grep_only", "bm25", "bm25_grep")
_COMPONENT = re.compile(r"\{\{component:(\w+)\}\}")
_SEPARATOR = "\n\n---\n\n"
_WITH_SEARCH = "What the bank's assistant may do, and how it searches the knowledge base."
_PLAIN = SearchOptions()
_OPTIONS = ("top_k", "grep_top_k", "case_sensitive", "reranker_min_score")


class KnowledgeToolsPlain(KnowledgeTools):
    """The tools of a bank's assistant that cannot search."""


class KnowledgeVariant(NamedTuple):
    """A template of the policy, and the search tools that go with it."""

    name: str
    template: str
    searches: tuple[type[SearchTools], ...] = ()
    search: SearchOptions = _PLAIN

    def toolkit(self) -> type[ToolKitBase[Any]]:
        """The bank's tools with the search tools before them."""
        if not self.searches:
            return KnowledgeToolsPlain
        said = {"__doc__": _WITH_SEARCH, "search": self.search}
        return type("KnowledgeTools", (*self.searches, KnowledgeTools), said)

    def policy(self, folder: Path, solo: bool, task: Mapping[str, Any] | None = None) -> str:
        """The template with its components, and what they leave to be filled in."""
        prompts = folder / "prompts"
        text = (prompts / self.template).read_text(encoding="utf-8")

        def component(match: re.Match[str]) -> str:
            return (prompts / "components" / f"{match[1]}.md").read_text(encoding="utf-8")

        # A function is needed, because backslashes in a replacement text would be interpreted.
        text = _COMPONENT.sub(component, text)
        for name, value in self._values(folder, task or {}).items():
            text = text.replace(f"{{{{{name}}}}}", value)
        return text

    def require_ready(self) -> None:
        """Refuse a simulation that could not search, or whose tools cannot be described."""
        try:
            if Terminal in self.searches:
                require_sandbox()
            if self.search.embedding:
                resolve_embedder(self.search.embedding.model_id)
            if self.search.reranker:
                resolve_model(RERANKER)
        except MASEvalError as error:
            raise NotReadyError(
                f"the variant {self.name} cannot search here: {error}. Variants that need nothing "
                f"but the files: {', '.join(OFFLINE)}, such as {NAME}@bm25_grep"
            ) from error
        try:
            # The tools' descriptions are answers, so without them no conversation is the
            # original's.
            descriptions()
        except DataError as error:
            raise NotReadyError(
                f"{NAME} needs the original's texts, which describe its tools: {error}"
            ) from error

    def _values(self, folder: Path, task: Mapping[str, Any]) -> dict[str, str]:
        match self.name:
            case "full_kb":
                return {"full_knowledge_base": _sections(knowledge_base(folder).documents)}
            case "golden_retrieval":
                documents = knowledge_base(folder).find(task.get("required_documents") or ())
                return {"required_documents": _sections(documents) or "(No documents provided)"}
            case "alltools" | "alltools-qwen":
                return {"all_tools_dense_instructions": self._dense_instructions()}
        return {}

    def _dense_instructions(self) -> str:
        said, model = load_texts("1.0.1", verbose=0).prompts["banking"], self.search.embedding
        assert model is not None
        values = {"provider": model.provider, "model": model.name}
        return fill_parts(said["dense_instructions"], values)


def _sections(documents: Iterable[Document]) -> str:
    return _SEPARATOR.join(f"## {each.title}\n\n{each.content}" for each in documents)


def _searching(name: str, template: str, search: SearchOptions = _PLAIN) -> list[KnowledgeVariant]:
    return [
        KnowledgeVariant(
            f"{name}{'_reranker' if rated else ''}{'_grep' if grep else ''}",
            f"classic_rag_{template}{'' if grep else '_no_grep'}.md",
            (KnowledgeSearch, Grep) if grep else (KnowledgeSearch,),
            replace(search, reranker=rated),
        )
        for rated in (False, True)
        for grep in (False, True)
    ]


_ALL = (BothSearches, Terminal)

VARIANTS: Mapping[str, KnowledgeVariant] = MappingProxyType(
    {
        variant.name: variant
        for variant in (
            KnowledgeVariant("no_knowledge", "no_knowledge.md"),
            KnowledgeVariant("full_kb", "full_kb.md"),
            KnowledgeVariant("golden_retrieval", "required_docs.md"),
            KnowledgeVariant("grep_only", "grep_only.md", (Grep,)),
            *_searching("bm25", "bm25"),
            *_searching("openai_embeddings", "openai", SearchOptions(embedding=OPENAI)),
            *_searching("qwen_embeddings", "qwen", SearchOptions(embedding=QWEN)),
            KnowledgeVariant("terminal_use", "agentic_search.md", (Terminal,)),
            KnowledgeVariant(
                "terminal_use_write",
                "agentic_search_write.md",
                (Terminal,),
                SearchOptions(writable=True),
            ),
            KnowledgeVariant("alltools", "all_tools.md", _ALL, SearchOptions(embedding=OPENAI)),
            KnowledgeVariant("alltools-qwen", "all_tools.md", _ALL, SearchOptions(embedding=QWEN)),
        )
    }
)


def variant_named(name: str) -> KnowledgeVariant:
    """The variant of that name, in the original's spelling."""
    try:
        return VARIANTS["alltools" if name == "AllTools" else name]
    except KeyError:
        known = sorted(VARIANTS)
        raise ConfigurationError(
            f"Unknown retrieval variant: '{name}'. Available: {known}"
        ) from None


CHOICES = (
    OpenChoice("reason for closing", "reason", ("close_bank_account_7392",)),
    OpenChoice(
        "expedited shipping",
        "expedited_shipping",
        ("order_replacement_credit_card_7291",),
        settled_by=re.compile(r"expedit|rush|fast|quick|as soon as", re.IGNORECASE),
    ),
)


# Values that no tool can undo.
PERMANENCE = (
    *(
        PermanenceRule(table, ("status",), ends_with("CLOSED"), "what was closed stays closed")
        for table in ("accounts", "credit_card_accounts", "debit_cards")
    ),
    *(
        PermanenceRule(table, (), stays, "a booking cannot be removed")
        for table in ("credit_card_transaction_history", "bank_account_transaction_history")
    ),
)


def _holdings(account: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    # Money in the account belongs to the customer, so a rise counts as money received.
    yield "holdings", -balance(dict(account))


def _owed(card: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    yield "owed", amount_in(card.get("current_balance", 0))


def _credited(booking: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    # It changes no balance.
    if booking.get("category") == "Statement Credit":
        yield "credit", amount_in(booking.get("transaction_amount", 0))


MONEY = (
    MoneyField("accounts", _holdings),
    MoneyField("credit_card_accounts", _owed),
    MoneyField("credit_card_transaction_history", _credited),
)


def banking(variant: str = DEFAULT, *, name: str | None = None, **options: object) -> Domain:
    """The domain with one way to get at its knowledge base.

    ``options`` are the original's: ``top_k``, ``grep_top_k``, ``case_sensitive`` and
    ``reranker_min_score``; None leaves one as it is.
    """
    chosen = variant_named(variant)
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise ConfigurationError(
            f"banking_knowledge has no search option {unknown[0]!r}; it has {', '.join(_OPTIONS)}"
        )
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    chosen = chosen._replace(search=replace(chosen.search, **given))
    return Domain(
        name=name or f"{NAME}{VARIANT_MARK}{chosen.name}",
        folder_name=NAME,
        version="1.0.1",
        db=BankingDB,
        toolkit=chosen.toolkit(),
        user_toolkit=KnowledgeUserTools,
        policy_text=chosen.policy,
        # Only in this variant does the policy hold documents that a task names.
        task_policy=chosen.policy if chosen.name == "golden_retrieval" else None,
        task_files={"base": "tasks"},
        require_ready=chosen.require_ready,
        retrieval=chosen.name,
        retrieval_options=given,
        documents=lambda folder: knowledge_base(folder).documents,
        rules=LateRules("banking_knowledge.rules"),
        choices=CHOICES,
        permanence=PERMANENCE,
        money=MONEY,
        customers=Customers("users", "user_id"),
        solo_refusal="banking_knowledge domain does not support solo mode",
    )
