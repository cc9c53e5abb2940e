"""The documents of the knowledge base, and the searches: by words, patterns, vectors, or a shell.

The vector of a document or a question is made once and kept on disk. For re-rating, a chat model
says how well each document fits, and the rest is dropped.

Commands of the shell are what a model wrote, so they run in a sandbox or not at all: bubblewrap
gives them a file system in which there is nothing but the system's programs and the documents, and
no network.

After tau2-bench v1.0.1, src/tau2/knowledge/ (MIT, Sierra Research).
"""

import json
import math
import operator
import re
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import warnings
import weakref
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.texts import fill_parts
from maseval.benchmark.tau2.world.state.copying import once
from maseval.core.exceptions import MASEvalError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.providers import Vector, resolve_embedder
from maseval.data.files import cache_dir
from maseval.data.folder import content_hash, read_content

# These are the defaults of rank-bm25; others would give other scores and another order.
_K1, _B, _EPSILON = 1.5, 0.75, 0.25


def tokens(text: str) -> list[str]:
    """Words in lower case, with their punctuation."""
    return text.lower().split()


class BM25:
    """Scores of all documents for a question, to the last bit those of rank-bm25 0.2.2 (Okapi).

    Written here because a score that differs in its last bit can change the order of two documents:
    the sums are taken in that library's order. An inverted index makes it as fast without numpy.
    """

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

    # As in rank-bm25, words so common that they would count against a document get a share of the
    # mean.
    def _inverse_document_frequencies(self) -> dict[str, float]:
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


class Document(NamedTuple):
    id: str
    title: str
    content: str


class Hit(NamedTuple):
    """A document that was found, and how well it fits."""

    document: Document
    score: float

    def render(self, number: int) -> str:
        document, score = self
        return (
            f"{number}. {document.title}\n   ID: {document.id}\n   Score: {score:.4f}\n"
            f"   Content: {document.content}\n"
        )


def render_hits(hits: Iterable[Hit]) -> str:
    return "\n".join(hit.render(number) for number, hit in enumerate(hits, 1))


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """All documents, and the ways to search them that need nothing but the documents."""

    documents: Sequence[Document] = field(repr=False)

    @cached_property
    def _bm25(self) -> BM25:
        return BM25(document.content for document in self.documents)

    def best(self, query: str, top_k: int) -> list[Hit]:
        """The documents that fit a question best by BM25; there are always as many as asked for."""
        # Only a blank question finds nothing: unknown words still return the first documents.
        if not query or not query.strip():
            return []
        scores = self._bm25.scores(query)
        # Sorting is stable, so that equal scores keep the order of the documents.
        order = sorted(range(len(scores)), key=lambda index: -scores[index])
        cut = min(top_k, len(order))
        return [Hit(self.documents[index], scores[index]) for index in order[:cut]]

    def matching(self, pattern: str, top_k: int, *, case_sensitive: bool = False) -> list[Hit]:
        """The documents in which a regular expression matches, most matches first."""
        if not pattern.strip():
            return []
        flags = 0 if case_sensitive else re.IGNORECASE
        expression = _compile(pattern, flags)
        counts = ((d, len(expression.findall(d.content))) for d in self.documents)
        hits = [Hit(document, float(count)) for document, count in counts if count]
        hits.sort(key=lambda hit: -hit.score)
        return hits[:top_k]

    def find(self, names: Iterable[str]) -> list[Document]:
        """Documents by title or id; of equal titles the last counts, unknown names are left out."""
        by_title = {document.title: document for document in self.documents}
        by_id = {document.id: document for document in self.documents}
        found = (by_title.get(name) or by_id.get(name) for name in names)
        return [document for document in found if document is not None]


# What an agent writes need not be a regular expression: then it means itself.
def _compile(pattern: str, flags: int) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about what agents write, not about us
        try:
            return re.compile(pattern, flags)
        except re.error:
            return re.compile(re.escape(pattern), flags)


def knowledge_base(folder: Path | str) -> KnowledgeBase:
    """The documents below a domain's folder; read once, for all simulations."""
    documents = Path(folder) / "documents"
    # The modification time is part of the key, so that a folder with new files is read again.
    return _read(documents, documents.stat().st_mtime_ns)


@once(maxsize=4)
def _read(folder: Path, modified: int) -> KnowledgeBase:
    # Files are sorted by name: their order differs between machines, and decides between equal
    # scores.
    paths = sorted(folder.glob("*.json"), key=lambda path: path.name)
    forms = (json.loads(read_content(path, content_hash(str(path)))) for path in paths)
    return KnowledgeBase([Document(form["id"], form["title"], form["content"]) for form in forms])


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
        said = load_texts("1.0.1", verbose=0).prompts["banking"]
        values = {"self.query_instruction": said["qwen_query_instruction"], "text": text}
        return fill_parts(said["qwen_query"], values)


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
        # Another process may be writing, and waiting is better than failing.
        return sqlite3.connect(self._path, timeout=60)

    def of(self, model_id: str, texts: Sequence[str]) -> list[Vector]:
        """The vectors of texts; those that are not kept yet come in one request."""
        # The zero byte separates model and text, so that no two pairs join to the same key.
        keys = [sha256(f"{model_id}\0{text}".encode()).hexdigest() for text in texts]
        with closing(self._open()) as file:
            known = {key: found for key in keys if (found := _read_vectors(file, key)) is not None}
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            if missing:
                made = resolve_embedder(model_id).embed(list(missing.values()))
                # The vectors have length one, so that a plain product of two is their cosine.
                fresh = {key: _unit(vector) for key, vector in zip(missing, made, strict=True)}
                with file:
                    rows = [(key, array("d", vector).tobytes()) for key, vector in fresh.items()]
                    file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
                known |= fresh
        return [known[key] for key in keys]


def _read_vectors(file: sqlite3.Connection, key: str) -> Vector | None:
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
        # Many simulations may ask at once, and every document costs a request.
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
    return KeptVectors(cache_dir() / "embeddings.sqlite")


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


# A request that failed has no rating (None), an answer that cannot be read the worst (0).
def _rating(model: ModelAdapter, query: str, hit: Hit) -> int | None:
    banking = load_texts("1.0.1", verbose=0).prompts["banking"]
    question = banking["reranker_prompt"].format(query, hit.document.content)
    options = {"reasoning_effort": "low", "response_format": _ANSWER}
    try:
        answer = model.generate(question, generation_params=options)
    except MASEvalError:
        return None
    try:
        return min(10, max(0, int(json.loads(answer)["relevance_score"])))
    except (ValueError, KeyError, TypeError):
        return 0


_SECONDS = 30
_INSIDE = "/kb"
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc/alternatives")
_QUOTED = (re.compile(r"'[^']*'"), re.compile(r'"[^"]*"'))
_ABSOLUTE = re.compile(r"(?:^|[\s;|&])(/[a-zA-Z]\S*)")
_LISTED = re.compile(
    r"^([bcdlps-][rwxsStT-]{9}[.+@]?\s+\d+\s+)\S+\s+\S+\s+(\d+)\s+"
    r"\w{3}\s+\d{1,2}\s+(?:\d{2}:\d{2}|\d{4})\s+(.*)$",
    re.MULTILINE,
)


class NotReadyError(MASEvalError, RuntimeError):
    """A variant needs a sandbox, or a model's key, that is not there."""


class CommandResult(NamedTuple):
    code: int
    output: str
    errors: str


def require_sandbox() -> str:
    """The program that makes sandboxes."""
    program = shutil.which("bwrap")
    if program is None:
        raise NotReadyError(
            "the shell tool runs what a model writes, so it needs a sandbox: on Linux install "
            "bubblewrap (Debian and Ubuntu: apt install bubblewrap); elsewhere choose a variant "
            "without a shell, such as banking_knowledge@bm25_grep"
        )
    return program


def safe_name(document_id: str) -> str:
    plain = document_id.replace("/", "_").replace("\\", "_").replace("..", "_")
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in plain)[:255]


def export(documents: Sequence[Document], folder: Path) -> None:
    """Write the documents, and an index of them, into a folder."""
    for document in documents:
        # An id may contain anything, but must not name a file elsewhere.
        (folder / f"{safe_name(document.id)}.md").write_text(
            f"# {document.title}\n\n{document.content}", encoding="utf-8"
        )
    by_id = sorted(documents, key=lambda document: document.id)
    entries = "".join(f"- **{safe_name(each.id)}.md** - {each.title}\n" for each in by_id)
    head = f"# Knowledge Base Index\n\n**Total documents:** {len(documents)}\n\n## Documents\n\n"
    (folder / "INDEX.md").write_text(head + entries, encoding="utf-8")


class Shell:
    """A folder of one simulation, and commands in it; ``writable`` lets them change it."""

    def __init__(self, documents: Sequence[Document], *, writable: bool) -> None:
        self._bwrap = require_sandbox()
        self._writable = writable
        self._folder = tempfile.mkdtemp(prefix="maseval-kb-")
        # A simulation may end anywhere: the folder goes once nobody holds the shell.
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        export(documents, Path(self._folder))

    def run(self, command: str) -> str:
        """Return the text that an agent reads when it runs a command."""
        return _answer(command, self._run_in_sandbox(command))

    def _run_in_sandbox(self, command: str) -> CommandResult:
        if what := _find_escape(command):
            return CommandResult(
                1, "", f"Error: Command blocked - contains '{what}' which could escape the sandbox"
            )
        try:
            done = subprocess.run(
                self._bwrap_command(command),
                capture_output=True,
                timeout=_SECONDS,
                # A command that asks for input would otherwise wait until its time is up.
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return CommandResult(124, "", f"Command timed out after {_SECONDS} seconds")
        texts = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
        return CommandResult(done.returncode, *map(_normalise_listing, texts))

    def _bwrap_command(self, command: str) -> list[str]:
        system = [
            part for name in _SYSTEM if Path(name).exists() for part in ("--ro-bind", name, name)
        ]
        kept = "--bind" if self._writable else "--ro-bind"
        return [
            self._bwrap,
            *system,
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            kept,
            self._folder,
            _INSIDE,
            "--chdir",
            _INSIDE,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--setenv",
            "PATH",
            "/usr/bin:/bin",
            "--setenv",
            "LC_ALL",
            "C.UTF-8",
            "bash",
            "-c",
            command,
        ]


def _find_escape(command: str) -> str | None:
    bare = command
    # Quoted text is ignored, so that a search for dots or slashes is not blocked.
    for quoted in _QUOTED:
        bare = quoted.sub('""', bare)
    if ".." in bare:
        return ".."
    if absolute := _ABSOLUTE.search(bare):
        return f"absolute path: {absolute[1]}"
    if bare.startswith("/"):
        return "absolute path at start"
    if "~" in bare:
        return "~"
    return "$HOME" if "$HOME" in bare or "${HOME}" in bare else None


# Owners and times differ from machine to machine, and answers must not.
def _normalise_listing(text: str) -> str:
    return _LISTED.sub(r"\1kb_user  kb_group  \2 Jan  1 00:00 \3", text)


def _answer(command: str, done: CommandResult) -> str:
    if done.code == 0:
        return done.output or "(no output)"
    # No hit is an ordinary answer: grep exits with 1 when it finds nothing.
    if done.code == 1 and "grep" in command and not done.errors:
        return "No matches found."
    if done.errors:
        return f"Error (exit code {done.code}): {done.errors}"
    return f"Command failed with exit code {done.code}"
