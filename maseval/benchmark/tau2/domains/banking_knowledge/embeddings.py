"""Dense search: documents and questions as vectors, each made once and kept on disk.

For re-rating, a chat model says how well each document fits, and the rest is dropped.

After tau2-bench v1.0.1, src/tau2/knowledge/ (MIT, Sierra Research).
"""

import json
import math
import operator
import sqlite3
import threading
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.documents import Hit, KnowledgeBase
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.texts import fill_parts
from maseval.core.exceptions import MASEvalError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.providers import Vector, resolve_embedder
from maseval.data.cache import cache_dir


class EmbeddingModel(NamedTuple):
    """A model, how the policy names it, and whether questions carry an instruction."""

    model_id: str
    provider: str
    name: str
    instructed: bool = False

    def question(self, text: str) -> str:
        """A question as it is sent."""
        if not self.instructed:
            return text
        said = load_texts("1.0.1", verbose=0).prompts.banking
        assert said is not None
        values = {"self.query_instruction": said.qwen_query_instruction, "text": text}
        return fill_parts(said.qwen_query, values)


OPENAI = EmbeddingModel("openai/text-embedding-3-large", "OpenAI API", "text-embedding-3-large")
QWEN = EmbeddingModel(
    "openrouter/qwen/qwen3-embedding-8b", "OpenRouter", "qwen3-embedding-8b", instructed=True
)


class KeptVectors:
    """Vectors by model and text, in a file that many processes may use at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as file, file:
            file.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB)")

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=60)

    def of(self, model_id: str, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts; those that are not kept yet come in one request."""
        keys = [sha256(f"{model_id}\0{text}".encode()).hexdigest() for text in texts]
        with closing(self._open()) as file:
            known = {key: found for key in keys if (found := _read(file, key)) is not None}
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            if missing:
                made = resolve_embedder(model_id).embed(list(missing.values()))
                fresh = {key: _unit(vector) for key, vector in zip(missing, made, strict=True)}
                with file:
                    rows = [(key, array("d", vector).tobytes()) for key, vector in fresh.items()]
                    file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                known |= fresh
        return [known[key] for key in keys]


def _read(file: sqlite3.Connection, key: str) -> Vector | None:
    row = file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
    return None if row is None else array("d", row[0]).tolist()


def _unit(vector: Vector) -> Vector:
    length = math.sqrt(sum(map(operator.mul, vector, vector)))
    return [value / length for value in vector] if length else list(vector)


class DenseIndex:
    """The documents of a knowledge base as vectors of one model."""

    def __init__(self, knowledge: KnowledgeBase, model: EmbeddingModel) -> None:
        self._knowledge = knowledge
        self._model = model
        self._vectors: list[Vector] | None = None
        self._lock = threading.Lock()

    def best(self, query: str, top_k: int) -> list[Hit]:
        """The documents whose vectors are nearest to the question's."""
        if not query or not query.strip():
            raise ValueError(
                "Empty or missing input for key 'query': cannot generate embedding from blank text."
            )
        documents = self._knowledge.documents
        (wanted,) = _vector_cache().of(self._model.model_id, [self._model.question(query)])
        scores = [sum(map(operator.mul, wanted, vector)) for vector in self._documents()]
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        return [Hit(documents[index], scores[index]) for index in order[: min(top_k, len(order))]]

    def _documents(self) -> list[Vector]:
        with self._lock:
            if self._vectors is None:
                contents = [document.content for document in self._knowledge.documents]
                self._vectors = _vector_cache().of(self._model.model_id, contents)
        return self._vectors


@cache
def dense_index(knowledge: KnowledgeBase, model: EmbeddingModel) -> DenseIndex:
    """The index of a knowledge base, made once a process."""
    return DenseIndex(knowledge, model)


def _vector_cache() -> KeptVectors:
    return _kept_at(cache_dir() / "embeddings.sqlite")


@cache
def _kept_at(path: Path) -> KeptVectors:
    return KeptVectors(path)


RERANKER = "openai/gpt-5.2"
_AT_ONCE = 20
_ANSWER = {
    "type": "json_schema",
    "json_schema": {
        "name": "RelevanceScore",
        "strict": True,
        "schema": {
            "title": "RelevanceScore",
            "type": "object",
            "properties": {"relevance_score": {"title": "Relevance Score", "type": "integer"}},
            "required": ["relevance_score"],
            "additionalProperties": False,
        },
    },
}


def rerank(query: str, hits: Sequence[Hit], min_score: int) -> list[Hit]:
    """The hits that a model rates high enough, best first; one without a rating is dropped."""
    if not hits:
        return []
    model = resolve_model(RERANKER)
    with ThreadPoolExecutor(min(_AT_ONCE, len(hits))) as threads:
        ratings = list(threads.map(lambda hit: _rating(model, query, hit), hits))
    rated = [
        Hit(hit.document, float(rating))
        for hit, rating in zip(hits, ratings, strict=True)
        if rating is not None and rating >= min_score
    ]
    return sorted(rated, key=lambda hit: -hit.score)


def _rating(model: ModelAdapter, query: str, hit: Hit) -> int | None:
    """Return 0 to 10; 0 for an answer that cannot be read, None for a request that failed."""
    banking = load_texts("1.0.1", verbose=0).prompts.banking
    assert banking is not None
    question = banking.reranker_prompt.format(query, hit.document.content)
    options = {"reasoning_effort": "low", "response_format": _ANSWER}
    try:
        answer = model.generate(question, generation_params=options)
    except MASEvalError:
        return None
    try:
        return min(10, max(0, int(json.loads(answer)["relevance_score"])))
    except (ValueError, KeyError, TypeError):
        return 0
