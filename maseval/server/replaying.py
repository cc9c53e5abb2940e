"""ReplayServer: answers from a tape and, with a provider behind it, records new ones."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage.redaction import Secrets, redact
from maseval.server.completion import Completion, Refusal, RequestBody
from maseval.server.http import LOCAL, ChatServer
from maseval.server.matching import Canonical, canonical, digest
from maseval.server.nearest import Nearest, Neighbour
from maseval.server.tape import Exchange, Tape, TapeError, TapePlace
from maseval.server.upstream import Upstream, exchange_secrets

TAPE_MISS = "tape_miss"
# Not one of those after which clients retry: 408, 409, 429, and all from 500 on.
MISS_STATUS = 422


RequestOutcome = Literal["played", "recorded", "missed", "refused"]


class Served(NamedTuple):
    """The outcome of one request; ``line`` is the tape's, ``words`` are those of a refusal."""

    outcome: RequestOutcome
    model: str
    messages: int
    line: int | None = None
    words: str = ""


OnRequest = Callable[[Served], object]


class ReplayServer(ChatServer):
    """Plays a tape by content: the same question gets the answer that was recorded for it.

    A question that was recorded several times gets its answers in turn, and then the first one
    again; equal questions asked at the same time share this order. One that is not on the tape is
    refused, and the refusal says how the nearest one differs.

    Args:
        tape_path: The tape; with ``record`` it is created if it does not exist.
        record: Ask ``upstream`` what the tape does not answer, and add it to the tape. A question
            is then played as often as the tape has answers, and asked anew after that.
        upstream: The base URL of the provider to record.
        upstream_key: The key for it, for clients that send none.
        host: Where to listen.
        port: On which port; 0 is any that is free.
        on_request: Called for every request, by the thread that answers it.
    """

    # Answers in progress have been paid for: they are still recorded.
    patience = 120.0

    def __init__(
        self,
        tape_path: str | os.PathLike[str],
        *,
        record: bool = False,
        upstream: str | None = None,
        upstream_key: str | None = None,
        host: str = LOCAL,
        port: int = 0,
        on_request: OnRequest | None = None,
    ) -> None:
        if record is not (upstream is not None):
            raise ConfigurationError(
                "an upstream is only used for recording; give both or neither of "
                "record (--record) and upstream (--upstream https://api.openai.com/v1)"
            )
        self._upstream = Upstream(upstream, upstream_key) if upstream is not None else None
        self._on_request = on_request
        self._counting = threading.Lock()
        self._asked: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._forwarded = 0
        super().__init__(self._answer, lambda: self._nearest.models(), host=host, port=port)
        try:
            self._check_upstream_is_another(host)
            self.tape = Tape(tape_path, growing=record)
        except BaseException:
            self._http.server_close()
            raise
        self._nearest = Nearest(self.tape)

    @property
    def played(self) -> int:
        """The number of answers that came from the tape."""
        return self._outcomes["played"]

    @property
    def recorded(self) -> int:
        """The number of answers that were added to the tape."""
        return self._outcomes["recorded"]

    @property
    def misses(self) -> int:
        """The number of questions that were not on the tape."""
        return self._outcomes["missed"]

    @property
    def unused(self) -> list[int]:
        """The lines of the tape that were not requested."""
        with self._counting:
            return sorted(
                place.line
                for key, places in self.tape.places.items()
                for place in places[self._asked[key] :]
            )

    @property
    def under_way(self) -> int:
        """The number of questions that the upstream has not answered yet."""
        return self._forwarded

    def _answer(self, request: RequestBody, headers: Mapping[str, str]) -> Completion:
        try:
            outcome, line, answer = self._play_or_record(request, headers)
        except Refusal as refusal:
            outcome = "missed" if refusal.code == TAPE_MISS else "refused"
            self._report(Served(outcome, *about(request), words=refusal.text))
            raise
        except TapeError as error:
            self._report(Served("refused", *about(request), words=str(error)))
            raise Refusal(str(error), status=MISS_STATUS, code="tape_error") from error
        self._report(Served(outcome, *about(request), line))
        return answer

    def _play_or_record(
        self, request: RequestBody, headers: Mapping[str, str]
    ) -> tuple[RequestOutcome, int | None, Completion]:
        content = canonical(request)
        key = digest(content)
        place = self._next_place(key)
        if place is not None:
            return "played", place.line, self.tape.at(place, key).answer
        if self._upstream is None:
            raise self._miss(content, request, headers)
        with self._forwarding(key) as keep:
            answer = self._upstream.ask(request, headers)
            if not answer.get("choices"):
                # As good as an error: clients retry, and the next answer is worth keeping.
                return "refused", None, answer
            if not self._client_waits():
                # It has retried by now: that answer is the one it continues with.
                raise Refusal("the client did not wait for the answer", status=MISS_STATUS)
            secrets = exchange_secrets(
                self._upstream.key, headers=headers, request=request, answer=answer
            )
            # The client gets what the tape has, so that playing it leads to the same questions.
            answer = dict(secrets.removed_from(answer))
            place = self._append(Exchange(key, _clean(content, secrets), answer))
            keep()
            return "recorded", place.line, answer

    def _next_place(self, key: str) -> TapePlace | None:
        with self._counting:
            places = self.tape.places.get(key, [])
            number = self._asked[key]
            if number >= len(places) and (self._upstream is not None or not places):
                return None
            self._asked[key] += 1
            return places[number % len(places)]

    @contextmanager
    def _forwarding(self, key: str) -> Iterator[Callable[[], None]]:
        """Count a question as asked from the start, and in the end only if its answer was kept."""
        kept = False

        def keep() -> None:
            nonlocal kept
            kept = True

        with self._counting:
            self._asked[key] += 1
            self._forwarded += 1
        try:
            yield keep
        finally:
            with self._counting:
                self._asked[key] -= not kept
                self._forwarded -= 1

    def _append(self, exchange: Exchange) -> TapePlace:
        try:
            return self.tape.append(exchange)
        except OSError as error:
            # Not 500: a retry would be paid for again.
            raise Refusal(
                f"the answer cannot be added to the tape: {error}",
                status=MISS_STATUS,
                code="tape_error",
            ) from error

    def _miss(
        self, content: Canonical, request: RequestBody, headers: Mapping[str, str]
    ) -> Refusal:
        secrets = exchange_secrets(headers=headers, request=request)
        near = self._nearest.find(content, lambda request: _clean(request, secrets))
        way_out = f"maseval replay-server {self.tape.path.name} --record --upstream URL"
        return Refusal(
            f"the tape has no answer to this request; {_describe(near)}. Record it: {way_out}",
            status=MISS_STATUS,
            code=TAPE_MISS,
        )

    def _report(self, served: Served) -> None:
        with self._counting:
            self._outcomes[served.outcome] += 1
        if self._on_request is not None:
            self._on_request(served)

    def _check_upstream_is_another(self, host: str) -> None:
        if self._upstream is not None and self._upstream.is_at(self.port, host):
            raise ConfigurationError(
                f"the upstream is this server itself ({self.url}); give the provider's address, "
                "such as https://api.openai.com/v1"
            )

    def _finish(self) -> None:
        self.tape.close()


def about(request: RequestBody) -> tuple[str, int]:
    return str(request.get("model")), len(request["messages"])


def _clean(request: Canonical, secrets: Secrets) -> Canonical:
    """Return a request for the tape; it is only compared, so values under secret names go too."""
    return dict(secrets.removed_from(redact(request)))


def _describe(near: Neighbour | None) -> str:
    if near is None:
        return "it is empty"
    if near.difference is None:
        return f"line {near.place.line} differs only in a secret, which tapes do not store"
    return f"the nearest, line {near.place.line}, differs first at {near.difference}"
