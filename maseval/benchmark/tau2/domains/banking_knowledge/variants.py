"""Variants: how an agent gets at the knowledge base, and the policy that tells it so.

Numbers are comparable only within a variant, so a variant is part of the domain's name:
``banking_knowledge@bm25``.

After tau2-bench v1.0.1, src/tau2/domains/banking_knowledge/retrieval.py (MIT, Sierra Research).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.documents import knowledge_base
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB
from maseval.benchmark.tau2.domains.banking_knowledge.search_tools import (
    BM25Search,
    Grep,
    SearchTools,
)
from maseval.benchmark.tau2.domains.banking_knowledge.tools import KnowledgeTools
from maseval.benchmark.tau2.domains.banking_knowledge.user_tools import KnowledgeUserTools
from maseval.benchmark.tau2.domains.base import ToolKitBase
from maseval.benchmark.tau2.domains.domain import Domain

NAME = "banking_knowledge"
_COMPONENT = re.compile(r"\{\{component:(\w+)\}\}")
_SEPARATOR = "\n\n---\n\n"


class Variant(NamedTuple):
    """A template of the policy, and the search tools that go with it."""

    name: str
    template: str
    searches: tuple[type[SearchTools], ...] = ()

    def toolkit(self) -> type[ToolKitBase[Any]]:
        """The bank's tools with the search tools before them."""
        if not self.searches:
            return KnowledgeTools
        return type("KnowledgeTools", (*self.searches, KnowledgeTools), {"__doc__": _WITH_SEARCH})

    def policy(self, folder: Path, solo: bool, task: Mapping[str, Any] | None = None) -> str:
        """The template with its components, and the documents that it shows."""
        prompts = folder / "prompts"
        text = (prompts / self.template).read_text(encoding="utf-8")

        def component(match: re.Match[str]) -> str:
            return (prompts / "components" / f"{match[1]}.md").read_text(encoding="utf-8")

        text = _COMPONENT.sub(component, text)
        if "{{full_knowledge_base}}" in text:
            documents = knowledge_base(folder).documents
            return text.replace("{{full_knowledge_base}}", _sections(documents))
        if "{{required_documents}}" in text:
            required = (task or {}).get("required_documents") or ()
            documents = knowledge_base(folder).named(required)
            shown = _sections(documents) or "(No documents provided)"
            return text.replace("{{required_documents}}", shown)
        return text


_WITH_SEARCH = "What the bank's assistant may do, and how it searches the knowledge base."


def _sections(documents: Any) -> str:
    return _SEPARATOR.join(document.as_section() for document in documents)


VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        variant.name: variant
        for variant in (
            Variant("no_knowledge", "no_knowledge.md"),
            Variant("full_kb", "full_kb.md"),
            Variant("golden_retrieval", "required_docs.md"),
            Variant("grep_only", "grep_only.md", (Grep,)),
            Variant("bm25", "classic_rag_bm25_no_grep.md", (BM25Search,)),
            Variant("bm25_grep", "classic_rag_bm25.md", (BM25Search, Grep)),
        )
    }
)


def banking(variant: Variant, name: str) -> Domain:
    """The domain with one way to get at its knowledge base."""
    return Domain(
        name=name,
        folder_name=NAME,
        version="1.0.1",
        db=BankingDB,
        toolkit=variant.toolkit(),
        user_toolkit=KnowledgeUserTools,
        policy_text=variant.policy,
        task_policy=variant.policy if variant.name == "golden_retrieval" else None,
        task_files={"base": "tasks"},
        solo_refusal="banking_knowledge domain does not support solo mode",
    )
