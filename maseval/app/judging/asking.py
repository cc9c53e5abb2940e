"""Many questions to one judge: several at a time, within a budget, and nothing asked twice.

Every answer is on disk before the next request of its thread, so that whatever ends this, asking
again goes on where it was. Each thread has a model of its own.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.benchmarks import JudgeRequest
from maseval.app.running.folder_run import Budget
from maseval.app.running.own_code import OwnCode, load_named
from maseval.app.running.prices import ModelPrice, Prices
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge import Judge, Question
from maseval.core.judge_record import Judgement, JudgeRecord
from maseval.core.messages import text_of
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.provider_errors import ProviderError
from maseval.core.usage import TokenUsage

OnProgress = Callable[[int, int], object]
JudgeModel = str | ModelAdapter | Callable[[], ModelAdapter]

_OWN = OwnCode("judge", "function or model", "judges.py:make_judge, or a model like openai/gpt-4.1")
_CHARACTERS_PER_TOKEN = 4
# An answer has a few claims, each with two quotes and a sentence.
_ANSWER_TOKENS = 300


class Asked(NamedTuple):
    """One question about one conversation; the request is made when it is needed.

    A request that is None says that there is nothing to ask about.
    """

    key: Mapping[str, Any]
    request: Callable[[], JudgeRequest | None]


class Price(NamedTuple):
    """The price of asking; ``cost`` is None if the model's price is not known."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass
class Answers:
    """The judgements by the place of their question, and what they took.

    ``stopped`` says why some questions were not asked; ``sent`` counts requests. Of ``skipped``
    conversations there was nothing to ask.
    """

    judgements: dict[int, Judgement] = field(default_factory=dict)
    skipped: int = 0
    sent: int = 0
    cost: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    stopped: str | None = None


@dataclass(frozen=True)
class JudgeSettings:
    """A judge, and how it is asked.

    ``model`` is a model's id, ``FILE.py:NAME``, a model, or a function that makes one. ``args`` are
    its generation parameters. A model that is given itself is asked one question at a time.
    """

    model: JudgeModel
    args: Mapping[str, Any] = field(default_factory=dict)
    base_url: str | None = None
    prices: str | Path | None = None
    concurrency: int = 4
    budget: str | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigurationError(f"concurrency is {self.concurrency}; give at least 1")

    def open(self, record: JudgeRecord | None = None) -> Judge:
        """Return the judge with a model that nobody else asks."""
        model = self._own
        if isinstance(model, str):
            address: dict[str, Any] = {"base_url": self.base_url} if self.base_url else {}
            model = resolve_model(model, **address)
            if self.price is not None:
                model.use_prices(self.price)
        elif not isinstance(model, ModelAdapter):
            model = model()
        return Judge(model, record=record, params=self.args)

    def open_for_price(self) -> Judge:
        """Return a judge that is not asked; its model may be without a key."""
        try:
            return self.open()
        except ProviderError:
            return Judge(str(self._own), params=self.args)

    @cached_property
    def _own(self) -> JudgeModel:
        if not isinstance(self.model, str) or ".py:" not in self.model:
            return self.model
        found: Any = load_named(self.model, _OWN)
        if not callable(found) and not isinstance(found, ModelAdapter):
            raise ConfigurationError(f"judge {self.model} is {found!r}; name a model or a function")
        return found  # type: ignore[no-any-return]

    @cached_property
    def price(self) -> ModelPrice | None:
        if not isinstance(self._own, str):
            return None
        prices = Prices() if self.prices is None else Prices.of(self.prices)
        return prices.at(self._own, self.base_url)

    @cached_property
    def limit(self) -> Budget | None:
        limit = None if self.budget is None else Budget.of(self.budget)
        if limit is not None and isinstance(self._own, str) and self.price is None:
            limit.check_watchable([self._own])
        return limit

    @property
    def threads(self) -> int:
        return 1 if isinstance(self._own, ModelAdapter) else self.concurrency

    def estimate(self, question: Question[Any], requests: Sequence[JudgeRequest]) -> Price:
        """Estimate what asking would cost, a token for every four characters."""
        letters = 0
        for each in requests:
            letters += sum(len(text_of(message)) for message in question.messages(each.parts))
        given = letters // _CHARACTERS_PER_TOKEN
        answers = _ANSWER_TOKENS * len(requests)
        cost = None
        if self.price is not None:
            usage = TokenUsage(input_tokens=given, output_tokens=answers)
            cost = self.price.calculate_cost(usage, str(self._own))
        return Price(len(requests), given, answers, cost)


def ask_all(
    asked: Sequence[Asked],
    question: Question[Any],
    settings: JudgeSettings,
    record: JudgeRecord,
    on_progress: OnProgress | None = None,
) -> Answers:
    """Ask every question; stop at the budget, and at what would make every request fail."""
    found, lock, stop = Answers(), threading.Lock(), threading.Event()
    tell = on_progress or (lambda done, total: None)
    limit, own = settings.limit, threading.local()
    started = time.monotonic()
    first = settings.open(record)  # what is wrong with the model is told before any thread begins

    def ask(number: int) -> None:
        if stop.is_set():
            return
        # What a request used is the difference of two counts of its model, so no other thread may
        # ask the same model in between.
        if not hasattr(own, "judge"):
            own.judge = settings.open(record) if settings.threads > 1 else first
        judge: Judge = own.judge
        model, sent = judge.model, judge.asked
        assert isinstance(model, ModelAdapter)
        before = model.usage_count
        try:
            request = asked[number].request()
            if request is None:
                with lock:
                    found.skipped += 1
                return
            judgement = judge.ask(question, asked[number].key, request.subject, **request.parts)
        # The other threads must not go on paying for answers that nobody will see.
        except BaseException:
            stop.set()
            raise
        usage = model.usage_since(before)
        with lock:
            found.judgements[number] = judgement
            found.sent += judge.asked - sent
            found.cost += usage.cost
            found.tokens += usage.total_tokens or usage.input_tokens + usage.output_tokens
            if limit is not None and found.stopped is None:
                # After each answer, as nobody knows the price of one before.
                found.stopped = limit.objection(found.cost, found.tokens, priced=True)
                if found.stopped:
                    stop.set()
            # While the lock is held, so that the count that is shown never goes back.
            tell(len(found.judgements), len(asked))

    with ThreadPoolExecutor(settings.threads) as pool:
        waiting = [pool.submit(ask, number) for number in range(len(asked))]
        try:
            done, _ = wait(waiting, return_when=FIRST_EXCEPTION)
            for each in done:
                # Raises here what a thread raised there.
                each.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
            record.close()
    # The last answer reached the budget: there was nothing left to stop.
    if len(found.judgements) + found.skipped == len(asked):
        found.stopped = None
    found.seconds = time.monotonic() - started
    return found
