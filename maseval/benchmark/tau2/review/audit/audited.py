"""A domain and its tasks as the audit looks at them, and the kinds of findings about a task."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from maseval.benchmark.tau2.data_loader import load_domain_config
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType
from maseval.benchmark.tau2.domains.domain import DomainDocument
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.review.explain.snapshot import by_id
from maseval.benchmark.tau2.versions import RULES_0_2_0, RuleSet
from maseval.benchmark.tau2.world.setting import GoldState, Setting, gold_state
from maseval.benchmark.tau2.world.state.records import Table, canonical_json
from maseval.benchmark.tau2.world.tasks import Action, Criteria, RewardType, TaskSpec
from maseval.benchmark.tau2.world.world import World, WorldState
from maseval.core.finding import Finding, Grade, Weight
from maseval.data.folder import AnyPath

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""An error makes a right answer fail or a wrong one pass; a warning may; info is background."""

KINDS: Mapping[str, str] = {
    "gold raises": "an action of the reference solution fails, and scoring skips it",
    "gold is refused": "an action of the reference solution is declined in an ordinary answer",
    "initial data is ignored": "database values are given in a field that is never read",
    "gold changes nothing": "the reference solution leaves the database unchanged",
    "gold misses its own checks": "the reference solution, carried out, does not pass",
    "gold breaks the policy": "the reference solution does what the policy forbids",
    "doing nothing passes": "an agent that does and says nothing gets the full reward",
    "criteria can only pass": "no scored check can fail",
    "text can never match": "something the agent must say can never be matched",
    "text matches by chance": "something the agent must say is likely to be said anyway",
    "text is in no answer": "something the agent must say is not what the tools answer",
    "id nobody can know": "an id of the reference solution appears in no text and no tool answer",
    "persona contradicts the database": "the user's instructions contradict the database",
    "unknown tool is named": "the policy or a document names a tool that neither side has",
    "stored twice with different gold": "two tasks have the same request but different solutions",
    "task is malformed": "a field of a task is missing, twice or where nobody reads it",
    "task cannot be read": "a task is not in the form that scoring needs",
}

FORMS: Mapping[Severity, tuple[Grade, Weight]] = {
    "error": ("proven", "state"),
    "warning": ("undecided", "state"),
    "info": ("proven", "remark"),
}
"""The grade and weight that a severity is."""


@dataclass(frozen=True)
class TaskFinding(Finding):
    """A finding about a task of a domain; ``task_id`` is None if it is about the whole domain."""

    domain: str = ""
    task_id: str | None = None

    @property
    def severity(self) -> Severity:
        form = self.grade, self.weight
        return next(severity for severity, each in FORMS.items() if each == form)

    @property
    def place(self) -> str:
        """The task, as ``retail/12``, or the domain."""
        return self.domain if self.task_id is None else f"{self.domain}/{self.task_id}"

    @property
    def meaning(self) -> str:
        return KINDS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "severity": self.severity, "meaning": self.meaning}


@dataclass(frozen=True)
class AuditedDomain:
    domain: Domain
    folder: Path
    rules: RuleSet = RULES_0_2_0
    # Most tasks begin alike, and reading everything for each would take minutes.
    answers: dict[object, str | None] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def policy(self) -> str:
        return self.domain.policy(self.folder)

    @property
    def documents(self) -> Sequence[DomainDocument]:
        return self.domain.documents(self.folder)

    @cached_property
    def world(self) -> World:
        """The world before any task; only to be read."""
        return World(self.domain, self.folder, rules=self.rules.replay)

    @cached_property
    def databases(self) -> Sequence[DB]:
        kits = (self.world.tools, self.world.user_tools)
        return [kit.db for kit in kits if kit is not None]

    @cached_property
    def tables(self) -> Mapping[str, Mapping[str, object]]:
        """Each table's records by id, as values; short lists of records too."""
        tables: dict[str, Mapping[str, object]] = {}
        for db in self.databases:
            for name, value in db:
                if isinstance(value, Table):
                    tables[name] = value.shared.raw
                elif isinstance(value, list):
                    records = [each.model_dump(warnings=False) for each in value]
                    found = by_id(canonical_json(records), name)
                    tables[name] = found if isinstance(found, dict) else {}
        return tables

    @cached_property
    def text(self) -> str:
        return "\n".join(str(part) for db in self.databases for part in db.state().values())

    def finding(
        self,
        kind: str,
        severity: Severity,
        text: str,
        *evidence: str,
        rule: str | None = None,
        call: str | None = None,
        task_id: str | None = None,
    ) -> TaskFinding:
        """Return a finding about a task, or the domain as a whole; its rule is by default its kind.

        A rule has a name of its own where one of the policy is broken.
        """
        grade, weight = FORMS[severity]
        return TaskFinding(
            "audit",
            "task",
            kind,
            rule or kind,
            text,
            grade=grade,
            call=call,
            evidence=evidence,
            weight=weight,
            domain=self.domain.name,
            task_id=task_id,
        )


def audited_domain(
    domain: Domain, data_dir: AnyPath | None = None, rules: RuleSet = RULES_0_2_0
) -> AuditedDomain:
    """Return a domain over its files, which are fetched if they are missing."""
    folder = load_domain_config(domain, data_dir)["db_path"].parent
    return AuditedDomain(domain, folder, rules)


class AuditedTask:
    """A task with what follows from it."""

    def __init__(self, audited: AuditedDomain, raw: RawTask) -> None:
        """Read a task; one that scoring could not read is a ``TaskFormatError``."""
        self.audited, self.raw = audited, raw
        self.spec, self.id = TaskSpec.of(raw), str(raw.get("id"))
        self.setting = Setting(audited.domain, audited.folder, self.spec, rules=audited.rules)

    @property
    def criteria(self) -> Criteria | None:
        return self.spec.evaluation_criteria

    @cached_property
    def gold(self) -> GoldState:
        return gold_state(self.setting)

    def new_world(self) -> World:
        """Return a world of its own in which the task begins."""
        return self.setting.world(self.spec.start.history)

    @cached_property
    def start(self) -> WorldState:
        return self.new_world().state()

    def is_in_the_world(self, value: str) -> bool:
        """Return True if the databases hold a text, before the task or at its start."""
        sought = value.lower()
        return sought in self.audited.text.lower() or sought in self._text_at_start

    @cached_property
    def _text_at_start(self) -> str:
        parts = [*self.start.company.values(), *(self.start.customer or {}).values()]
        return "\n".join(map(str, parts)).lower()

    def counts(self, kind: RewardType) -> bool:
        return self.criteria is not None and kind in self.criteria.reward_basis

    @property
    def texts_to_say(self) -> Sequence[str]:
        """The texts that the agent must say, if that counts."""
        listed = self.criteria.communicate_info if self.criteria else None
        return listed or () if self.counts(RewardType.COMMUNICATE) else ()

    @property
    def looks_at_the_world(self) -> bool:
        return self.criteria is not None and self.criteria.look_at_the_world

    def assertions_hold(self, world: World) -> bool:
        assertions = (self.criteria and self.criteria.env_assertions) or ()
        try:
            return all(world.check(each.model_dump()) for each in assertions)
        except Exception:  # a task's function in a world it did not foresee
            return False

    @cached_property
    def scenario(self) -> str:
        """All that the user, or the ticket, says of the task."""
        parts = [self.raw.get("user_scenario"), self.raw.get("ticket")]
        return "\n".join(texts_in(parts))

    @property
    def finding(self) -> Callable[..., TaskFinding]:
        """The function that makes a finding about the task; it takes what the domain's takes."""
        return partial(self.audited.finding, task_id=self.id)


def texts_in(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from texts_in(each)
        case list():
            for each in value:
                yield from texts_in(each)


class ReadingTool(NamedTuple):
    """A reading tool of one side, and the parameters that a call of it has to give."""

    name: str
    parameters: Sequence[str]
    ask: Callable[..., object]


def reading_tools(world: World) -> Iterator[ReadingTool]:
    for kit in filter(None, (world.tools, world.user_tools)):
        for name, method in kit.tools.items():
            if kit.tool_type(name) is ToolType.READ:
                parameters = inspect.signature(method).parameters.values()
                required = [each.name for each in parameters if each.default is each.empty]
                yield ReadingTool(name, required, method)


def toolkit_with(domain: Domain, action: Action) -> type[ToolKitBase[Any]] | None:
    """Return the tools of whoever takes an action; None if the action's tool is not among them."""
    kit = domain.user_toolkit if action.requestor == "user" else domain.toolkit
    return kit if kit is not None and kit.has_tool(action.name) else None
