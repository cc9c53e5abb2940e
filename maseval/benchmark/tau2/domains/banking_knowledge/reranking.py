"""Re-rating: a chat model says how well each document fits, and the rest is dropped.

After tau2-bench v1.0.1, src/tau2/knowledge/postprocessors/ (MIT, Sierra Research).
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from maseval.benchmark.tau2.domains.banking_knowledge.documents import Hit
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.core.exceptions import MASEvalError
from maseval.core.model import ModelAdapter, resolve_model

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
