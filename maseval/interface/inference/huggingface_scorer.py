"""Likelihoods of texts from a causal language model in this process, with ``transformers``."""

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from maseval.core.exceptions import ConfigurationError
from maseval.core.provider_errors import ModelNotFoundError
from maseval.core.scorer import ModelScorer, TextPair
from maseval.interface import extras

# Loading a model twice takes twice the memory.
_alone = threading.Lock()

Loaded: TypeAlias = tuple[Any, Any]
"""A model and its tokenizer."""

Tokens: TypeAlias = list[int]


class HuggingFaceModelScorer(ModelScorer):
    """Scores with a model of the hub, or in a folder; it is loaded at the first question.

    Args:
        model_id: Its name on the hub, or its folder.
        device: Where it runs, such as ``cuda:0`` or ``cpu``.
        trust_remote_code: Whether code that comes with the model may be executed.
        seed: For the record: a likelihood is no matter of chance.
        batch_size: At most how many texts are computed together.
    """

    def __init__(
        self,
        model_id: str,
        device: str = "cuda:0",
        trust_remote_code: bool = False,
        seed: int | None = None,
        batch_size: int = 16,
    ) -> None:
        super().__init__(seed)
        if batch_size < 1:
            raise ConfigurationError(f"batch_size is {batch_size}; give at least 1")
        self._model_id = model_id
        self.device = device
        self.trust_remote_code = trust_remote_code
        self.batch_size = batch_size
        self._model: Any = None
        self._tokenizer: Any = None

    @property
    def model_id(self) -> str:
        return self._model_id

    def _loglikelihood_impl(self, context: str, continuation: str) -> float:
        return self._loglikelihood_batch_impl([(context, continuation)])[0]

    def _loglikelihood_batch_impl(self, pairs: Sequence[TextPair]) -> list[float]:
        encoded = [self._encode_pair(*pair) for pair in pairs]
        size = self.batch_size
        batches = [encoded[start : start + size] for start in range(0, len(encoded), size)]
        return [score for batch in batches for score in self._scores(batch)]

    def loglikelihood_choices(
        self, context: str, choices: Sequence[str], delimiter: str = " "
    ) -> list[float]:
        """Return the likelihood of each choice; if each is one token, in a single pass."""
        pairs = [(context, delimiter + choice) for choice in choices]
        encoded = [self._encode_pair(*pair) for pair in pairs]
        before = {tuple(head) for head, _ in encoded}
        if len(before) != 1 or any(len(tail) != 1 for _, tail in encoded):
            return self.loglikelihood_batch(pairs)
        with self._log_call({"type": "loglikelihood_batch", "batch_size": len(pairs)}):
            [likely] = self._log_probabilities([encoded[0][0]])
            return [float(likely[-1, tail[0]]) for _, tail in encoded]

    def _encode_pair(self, context: str, continuation: str) -> tuple[Tokens, Tokens]:
        """Encode both. Blanks between them belong to the continuation, as tokenizers have it."""
        _, tokenizer = self._load_model()
        stripped = context.rstrip(" ")
        continuation = context[len(stripped) :] + continuation
        head: Tokens = tokenizer.encode(stripped) if stripped else self._beginning(tokenizer)
        if not stripped:
            return head, tokenizer.encode(continuation, add_special_tokens=False)
        whole: Tokens = tokenizer.encode(stripped + continuation)
        return head, whole[len(head) :]

    def _beginning(self, tokenizer: Any) -> Tokens:
        """Return what precedes a text without context: its first token must follow something."""
        first = tokenizer.bos_token_id
        return [tokenizer.eos_token_id if first is None else first]

    def _scores(self, batch: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        likely = self._log_probabilities([[*head, *tail] for head, tail in batch])
        return [
            sum(float(each[len(head) - 1 + place, token]) for place, token in enumerate(tail))
            for each, (head, tail) in zip(likely, batch, strict=True)
        ]

    def _log_probabilities(self, sequences: Sequence[Tokens]) -> list[Any]:
        """Return, for each sequence and position, the log-probability of every next token."""
        model, _ = self._load_model()
        torch = extras.load("torch", extra="transformers")
        longest = max(map(len, sequences))
        # Filled up on the right, where a causal model cannot see it.
        padded = [[*each, *[0] * (longest - len(each))] for each in sequences]
        seen = [[int(place < len(each)) for place in range(longest)] for each in sequences]
        with torch.no_grad():
            logits = model(
                torch.tensor(padded, device=self.device),
                attention_mask=torch.tensor(seen, device=self.device),
            ).logits
            # In full precision, whatever the weights have: many small logarithms are added up.
            found = torch.log_softmax(logits.float(), dim=-1).cpu()
        return list(found)

    def _load_model(self) -> Loaded:
        if self._model is None:
            with _alone:
                # A thread that had to wait finds the model in the cache of _load.
                self._model, self._tokenizer = _load(
                    self._model_id, self.device, self.trust_remote_code
                )
        return self._model, self._tokenizer

    def gather_config(self) -> dict[str, Any]:
        return {
            **super().gather_config(),
            "device": self.device,
            "trust_remote_code": self.trust_remote_code,
        }


@cache
def _load(name: str, device: str, trusted: bool) -> Loaded:
    """Load the model and its tokenizer, once for all scorers."""
    library = extras.load("transformers", extra="transformers")
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name, trust_remote_code=trusted)
        model = library.AutoModelForCausalLM.from_pretrained(name, trust_remote_code=trusted)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(str(error), provider="huggingface", model_id=name) from error
    return model.to(device).eval(), tokenizer
