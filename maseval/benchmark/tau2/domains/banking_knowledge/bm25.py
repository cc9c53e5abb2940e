"""Okapi BM25 as the library rank-bm25 0.2.2 computes it, to the last bit.

Written here because a score that differs in its last bit can change the order of two documents:
the sums are taken in that library's order. An inverted index makes it as fast without numpy.
"""

import math
from collections import Counter
from collections.abc import Iterable

_K1, _B, _EPSILON = 1.5, 0.75, 0.25


def tokens(text: str) -> list[str]:
    """Words in lower case, with their punctuation."""
    return text.lower().split()


class BM25:
    """Scores of all documents for a question."""

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
