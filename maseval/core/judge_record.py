"""JudgeRecord: what a judge was asked and answered, one synced line for each request.

A request that failed has its line, too. A question is asked about one conversation in at most two
requests: ``prompt`` is the hash of the first, and ``attempt`` tells them apart. What a file says of
a question is therefore its last attempt; a failed one is asked again. Who asks a question that has
been answered takes the answer from the file, so that nothing is paid twice.

The file stands in the run's folder, or beside a results file. Threads share one record. A worker
process that must not write gets a copy (``for_worker``) and hands its new lines over.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from maseval.core.exceptions import ConfigurationError, ResultFileError, UndecidedError
from maseval.core.storage import strict_json
from maseval.core.storage.files import JUDGEMENTS, path_about
from maseval.core.storage.records import RecordWriter, iter_records, mend

FORMER_NAME = "judged.jsonl"


def record_path(run: str | os.PathLike[str]) -> Path:
    """Return the path of a run's judgements: in its folder, or beside its results file."""
    return path_about(run, JUDGEMENTS)


class Judgement(BaseModel):
    """One answer of a judge, or one request that failed, and all that it depends on."""

    model_config = ConfigDict(extra="ignore")

    question: str = ""
    """The name of the question: "policy", "cause", "assertions", or one of your own."""
    key: dict[str, Any] = {}
    """The simulation it is about: domain, task_id, trial."""
    judge: dict[str, Any] = {}
    """The ``model`` and its ``params``."""
    prompt: str
    """The SHA-256 of the first request for this judgement."""
    attempt: int = 1
    reply: str | None = None
    """The text of the answer."""
    answer: dict[str, Any] | None = None
    """The answer in the question's form, with all claims whose evidence is true."""
    undecided: str | None = None
    """The reason why there is no answer."""
    unanswered: bool = False
    """True if the request failed; it is sent again when the run is resumed."""
    dropped: list[str] = []
    """The claims whose evidence is not true."""
    usage: dict[str, Any] = {}
    """The tokens and the ``cost`` of this request; nothing for an answer out of a cache."""
    seconds: float = 0.0
    at: str = ""
    reused: bool = False
    """True if another simulation with the same request had been judged before."""

    def require(self) -> dict[str, Any]:
        """Return the answer; an ``UndecidedError``, which is nobody's failure, if there is none."""
        if self.answer is not None:
            return self.answer
        what = "did not answer" if self.unanswered else "gave no answer that can be used"
        error = UndecidedError(f"the judge {self.judge.get('model')} {what}: {self.undecided}")
        error.unanswered = self.unanswered
        raise error


class JudgeRecord:
    """The judgements in a file, which is made when the first is to be kept."""

    def __init__(
        self, path: str | os.PathLike[str], sent: Mapping[str, list[Judgement]] | None = None
    ) -> None:
        self.path = Path(path)
        self._sent = sent
        self._fresh: list[Judgement] = []
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._waiting: list[bytes] = []
        self._asking: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._writer: RecordWriter | None = None

    @cached_property
    def _by_prompt(self) -> dict[str, list[Judgement]]:
        found: dict[str, list[Judgement]] = defaultdict(list)
        for prompt, lines in (self._sent or {}).items():
            found[prompt] = list(lines)
        for line in self._lines() if self._sent is None else ():
            found[line.prompt].append(line)
        return found

    def _lines(self) -> Iterator[Judgement]:
        former = self.path.with_name(self.path.name.replace(JUDGEMENTS, FORMER_NAME))
        for path in dict.fromkeys([former, self.path]):
            if path.is_file():
                yield from self._lines_in(path)

    def _lines_in(self, path: Path) -> Iterator[Judgement]:
        for record in iter_records(path, on_torn=lambda line: None):
            if "request" in record:  # as versions before 0.8 kept replies
                who = {"model": record.get("model")}
                record = {"prompt": record["request"], "reply": record.get("reply"), "judge": who}
            try:
                yield Judgement.model_validate(record)
            except ValueError as error:
                raise ResultFileError(
                    f"{path} has a line that is no judgement ({error}); restore the file "
                    "from a copy or remove that line"
                ) from error

    def lines(self) -> list[Judgement]:
        """Return every line, also of attempts that were followed by another."""
        with self._lock:
            return [line for lines in self._by_prompt.values() for line in lines]

    def judgements(self) -> Iterator[Judgement]:
        """Yield what stands in the end for each question about each simulation."""
        last: dict[tuple[str, str], Judgement] = {}
        for line in self.lines():
            last[line.prompt, str(line.key)] = line
        yield from last.values()

    def last(self, prompt: str, key: Mapping[str, Any]) -> Judgement | None:
        """Return the last answer to a request: about this simulation, or else about any."""
        with self._lock:
            lines = self._by_prompt.get(prompt, ())
            answered = [line for line in reversed(lines) if not line.unanswered]
            own = next((line for line in answered if line.key == key), None)
            return own or next(iter(answered), None)

    @contextmanager
    def asking(self, prompt: str) -> Iterator[None]:
        """Let one thread at a time ask the same question."""
        with self._lock:
            lock = self._asking[prompt]
        with lock:
            yield

    def prepare(self) -> None:
        """Make sure that an answer can be kept, before somebody pays for it."""
        with self._lock:
            self._open()

    def _open(self) -> None:
        if self._sent is not None or self._writer is not None:
            return
        try:
            if self.path.exists():
                mend(self.path)
            self._writer = RecordWriter(self.path, resume=True)
        except OSError as error:
            raise ConfigurationError(
                f"a judge's answers are kept in {self.path}, which cannot be written "
                f"({error.strerror}); copy the files to a folder of your own"
            ) from error

    def add(self, judgement: Judgement) -> None:
        """Keep a line; it is on disk when this returns.

        Whoever comes first writes for all that wait, so that the disk is waited for once.
        """
        line = strict_json.dumps(judgement.model_dump(exclude_defaults=True)).encode("ascii")
        with self._lock:
            self._by_prompt[judgement.prompt].append(judgement)
            if self._sent is not None:
                self._fresh.append(judgement)
                return
            self._open()
            self._waiting.append(line)
        # Another lock, so that lines can be added while the disk is waited for.
        with self._writing:
            with self._lock:
                lines, self._waiting, writer = self._waiting, [], self._writer
            if not lines or writer is None:
                return
            try:
                writer.append_lines(lines)
            except BaseException:
                with self._lock:
                    self._waiting = [*lines, *self._waiting]
                raise

    def for_worker(self) -> "JudgeRecord":
        """Return the same judgements, for another process."""
        with self._lock:
            return JudgeRecord(self.path, {key: [*lines] for key, lines in self._by_prompt.items()})

    def take_new(self) -> list[Judgement]:
        """Return the lines to hand over since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, []
            return fresh

    def close(self) -> None:
        with self._lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def __reduce__(self) -> tuple[type["JudgeRecord"], tuple[Path, object]]:
        return JudgeRecord, (self.path, self._sent)
