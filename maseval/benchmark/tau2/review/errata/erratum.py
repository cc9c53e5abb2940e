"""Errata: tasks of published releases that are wrong, how that is known, and what would be right.

``errata.json`` beside this file has those of the benchmark's own domains; a domain that brings its
own files may have one beside its tasks. An erratum changes no official verdict. It says what a
sound one would be: by a corrected reference solution, with other end states that are as right, or
none, so that the task is left out.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from maseval.benchmark.tau2.data import VERSIONS
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.releases import AnyVersion, release_of
from maseval.benchmark.tau2.formats.message import Requestor
from maseval.benchmark.tau2.scoring.case import words_told
from maseval.benchmark.tau2.world.tasks import Action, TaskSpec
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.words import count_of

ERRATA_FILE = "errata.json"
PUBLISHED = Path(__file__).with_name(ERRATA_FILE)

ErratumKind = Literal[
    "gold against the policy",
    "gold against the scenario",
    "gold impossible",
    "several right end states",
    "information missing",
    "free text compared",
    "tool defect",
    "scenario against the database",
    "text to be told is wrong",
    "documents in conflict",
    "stored twice with different gold",
]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GoldStep(_Entry):
    """A call of a corrected reference solution, or of another that is as right."""

    name: str
    arguments: dict[str, Any]
    requestor: Requestor = "assistant"


class Correction(_Entry):
    """A task's sound verdict; one that is left out has none.

    ``gold`` replaces the reference solution and ``tell`` what the agent must say. Each of
    ``accept`` is a whole solution that leads to another right end state. The official verdict
    ``stands`` where the gold is right all the same, and the error is one to know when reading.
    """

    leave_out: bool = False
    stands: bool = False
    gold: tuple[GoldStep, ...] | None = None
    tell: tuple[str, ...] | None = None
    accept: tuple[tuple[GoldStep, ...], ...] = ()

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        corrects = self.gold is not None or self.tell is not None or bool(self.accept)
        if [self.leave_out, self.stands, corrects].count(True) != 1:
            raise ValueError(
                "give either leave_out: true, or stands: true, or some of gold, tell and accept"
            )
        return self

    def __str__(self) -> str:
        if self.leave_out:
            return "none, the task is left out"
        if self.stands:
            return "the official one stands"
        corrected = [
            *(["a corrected gold"] * (self.gold is not None)),
            *(["another text that the agent must say"] * (self.tell is not None)),
            *([count_of(len(self.accept), "other right end state")] * bool(self.accept)),
        ]
        return f"by {' and '.join(corrected)}"


class Erratum(_Entry):
    """An error in a task of some releases; without ``releases``, of every one that has the task.

    One that changes no verdict is a remark. ``says`` are words of the task on which it rests, and
    ``silent_on`` is a pattern: if the user were told something that it finds, it would be wrong.
    Tests hold both against the data of each release.
    """

    domain: str
    task: str
    kind: ErratumKind
    what: str = Field(min_length=1)
    known: tuple[str, ...] = Field(min_length=1)
    sound_verdict: Correction
    releases: tuple[str, ...] = VERSIONS
    says: tuple[str, ...] = ()
    silent_on: str | None = None

    @property
    def is_remark(self) -> bool:
        return self.sound_verdict.stands

    @field_validator("releases")
    @classmethod
    def _known_releases(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [each for each in value if each not in VERSIONS]:
            raise ValueError(f"no release {unknown[0]!r}; there are {', '.join(VERSIONS)}")
        return value

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


ErrataByTask = Mapping[tuple[str, str], Sequence[Erratum]]

_ERRATA = TypeAdapter(tuple[Erratum, ...])


def load_errata(file: Path = PUBLISHED) -> Sequence[Erratum]:
    """Read a file of errata; one that is not there has none."""
    return [each for errata in _by_task(file).values() for each in errata]


def errata_for(
    domain: str | Domain, task_id: str, release: AnyVersion = None, task: object = None
) -> tuple[Erratum, ...]:
    """Return the errata of a task, as ``release`` has it; by default that of the domain.

    ``task`` is one that a results file brings: if it is not as the release has it, in its words
    and in what counts, it has none of the release's errata.
    """
    named = domain_named(domain)
    found = _known(named, task_id)
    # Most tasks have none, and comparing a task with the published one reads files.
    if not found or (
        isinstance(task, Mapping) and not _is_published(task, named, task_id, release)
    ):
        return ()
    return tuple(_in_release(found, named, release))


def has_errata(domain: str | Domain, task_id: str) -> bool:
    """Return False for a task that is right in every release."""
    return bool(_known(domain_named(domain), task_id))


def _known(domain: Domain, task_id: str) -> list[Erratum]:
    by_task = _by_task(_file_of(domain))
    # Domains with one folder have the same tasks, as telecom and telecom-workflow do.
    names = dict.fromkeys((domain.name, domain.folder_name))
    return [each for name in names for each in by_task.get((name, task_id), ())]


def _is_published(
    task: Mapping[str, Any], domain: Domain, task_id: str, release: AnyVersion
) -> bool:
    try:
        published = load_raw_task(domain, task_id, version=release)
    except MASEvalError:  # there is no such task, or its files are not here
        return False
    # An edited task may no longer have the fault of the published one.
    return words_told(published) == words_told(task) and TaskSpec.of(published) == TaskSpec.of(task)


def errata_of(domain: str | Domain, release: AnyVersion = None) -> tuple[Erratum, ...]:
    named = domain_named(domain)
    return tuple(_in_release(load_errata(_file_of(named)), named, release))


def _file_of(domain: Domain) -> Path:
    return PUBLISHED if domain.data_dir is None else domain.data_dir / ERRATA_FILE


def _in_release(
    errata: Sequence[Erratum], domain: Domain, release: AnyVersion
) -> Iterator[Erratum]:
    tasks, names = release_of(domain, release).tasks.version, (domain.name, domain.folder_name)
    return (each for each in errata if each.domain in names and tasks in each.releases)


# An own domain's errata may be edited while a program runs: a changed file is read again.
def _by_task(file: Path) -> ErrataByTask:
    try:
        state = os.stat(file)
    except FileNotFoundError:
        return {}
    return _load(file, state.st_mtime_ns, state.st_size)


def gold_actions(steps: Sequence[GoldStep]) -> tuple[Action, ...]:
    return tuple(
        Action(
            action_id=f"corrected_{number}",
            name=each.name,
            arguments=each.arguments,
            requestor=each.requestor,
        )
        for number, each in enumerate(steps)
    )


@lru_cache(maxsize=8)
def _load(file: Path, mtime_ns: int, size: int) -> ErrataByTask:
    by_task: dict[tuple[str, str], list[Erratum]] = {}
    try:
        for each in _ERRATA.validate_python(json.loads(file.read_bytes())):
            by_task.setdefault((each.domain, each.task), []).append(each)
        return by_task
    except ValidationError as error:
        first = error.errors()[0]
        number, *field = first["loc"] or ("",)
        where = f"entry {number}" if isinstance(number, int) else "the whole"
        raise ConfigurationError(
            f"{file}, {where}, {'.'.join(map(str, field)) or 'all of it'}: {first['msg']} "
            f"(it is {first['input']!r})"
        ) from error
    except (ValueError, OSError) as error:
        raise ConfigurationError(f"{file} cannot be read as JSON: {error}") from error
