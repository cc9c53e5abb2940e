"""A domain and its tasks as the audit looks at them."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from maseval.benchmark.tau2.data_loader import load_domain_config
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase
from maseval.benchmark.tau2.domains.domain import DomainDocument
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.review.audit.records import flat_texts, owner_of, parts_of, texts_in
from maseval.benchmark.tau2.versions import RULES_0_2_0, RuleSet
from maseval.benchmark.tau2.world.reference import GoldState, gold_state
from maseval.benchmark.tau2.world.setting import Setting
from maseval.benchmark.tau2.world.state.records import Table, canonical_json
from maseval.benchmark.tau2.world.tasks import Action, Criteria, RewardType, TaskSpec
from maseval.benchmark.tau2.world.world import World, WorldState
from maseval.data.store import AnyPath

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""An error makes a right answer fail or a wrong one pass; a warning may; info is background."""

KINDS: Mapping[str, str] = {
    "gold raises": "an action of the reference solution fails, and scoring passes over it",
    "gold is refused": "an action of the reference solution is declined in an ordinary answer",
    "initial data is ignored": "values for the databases stand where nobody looks for them",
    "gold changes nothing": "the reference solution leaves the database unchanged",
    "gold misses its own checks": "the reference solution, carried out, does not pass",
    "gold breaks the policy": "the reference solution does what the policy forbids",
    "doing nothing passes": "an agent that does and says nothing gets the full reward",
    "criteria can only pass": "no scored check can fail",
    "check can only pass": "a check is scored, but the task has no criteria for it",
    "text can never match": "something the agent must say can never be matched",
    "text matches by chance": "something the agent must say is likely to be said anyway",
    "assertions not counted": "there are natural-language assertions that are not scored",
    "id nobody can know": "an id of the reference solution is in no text and in no tool's answer",
    "details nobody gives": "a name, a date of birth or an address is in no text and no answer",
    "several right end states": "another choice is as right as the gold's, and fails",
    "another way is left open": "a change that the policy allows makes the refused request allowed",
    "gold changes what nobody asked for": "what is replaced differs in more than the user wants",
    "free text is compared": "the same in other words fails",
    "order of writes is compared": "the same calls in another order fail",
    "order in a list is compared": "the same list in another order fails",
    "text to be told is not answered": "something the agent must say is not what the tools answer",
    "persona contradicts the database": "the user is told something that the database denies",
    "policy names an unknown tool": "the policy names a tool that the agent does not have",
    "document names an unknown tool": "a document names a tool that neither side has",
    "documents in conflict": "documents say two things of one, or what no tool takes",
    "documents against the gold": "the reference solution is not what the documents say",
    "gold is not what was asked for": "the user asks for something else that could be had",
    "gold lacks a call of the user": "the user fails the task by using a tool as they are told to",
    "user is not told to call": "the user must use a tool that nobody tells them to use",
    "answer nobody gives": "the agent is to ask something about which the user is told nothing",
    "record after the clock": "records lie after the time at which the task plays",
    "reading counts": "an agent that does not read what the gold reads fails",
    "tool defect": "a tool does not do what it says, in the benchmark's own world",
    "stored twice with different gold": "two tasks have nearly one request and different solutions",
    "tasks with equal content": "several tasks differ only in their ids",
    "tasks with equal solution": "several tasks have the same start and the same criteria",
    "task cannot be read": "a task is not in the form that scoring needs",
}


@dataclass(frozen=True)
class Finding:
    """One finding; ``task_id`` is None if it is about the domain as a whole."""

    domain: str
    task_id: str | None
    kind: str
    severity: Severity
    text: str
    evidence: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class AuditedDomain:
    """A domain with its data at hand."""

    domain: Domain
    folder: Path
    rules: RuleSet = RULES_0_2_0
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
                    tables[name] = _by_id(json.loads(canonical_json(records)))
        return tables

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """The id of the record to which each record belongs, by its own id."""
        return {
            key: owner
            for table in self.tables.values()
            for key, record in table.items()
            if (owner := owner_of(record, self.tables))
        }

    @cached_property
    def belongings(self) -> Mapping[str, Sequence[object]]:
        """The records that belong to a record of another table, by its id."""
        found: dict[str, list[object]] = defaultdict(list)
        for table in self.tables.values():
            for key, record in table.items():
                if key in self.owners:
                    found[self.owners[key]].append(record)
        return found

    @cached_property
    def catalogue(self) -> Mapping[str, Mapping[str, Any]]:
        """The records that lie in others under their own ids, as variants of products do."""
        return {
            key: each
            for table in self.tables.values()
            for record in table.values()
            for part in parts_of(record)
            for holder in part.values()
            if isinstance(holder, dict) and holder
            for key, each in holder.items()
            if isinstance(each, dict) and key in each.values()
        }

    def records_with(self, names: frozenset[str]) -> Iterator[tuple[str | None, dict[str, str]]]:
        """Yield the texts of records that have fields of these names.

        With each comes its id if it is a record of a table, which an answer should name.
        """
        for table in self.tables.values():
            for key, record in table.items():
                if not isinstance(record, dict):
                    continue
                texts = flat_texts(record)
                if names <= texts.keys():
                    yield key, texts
                    continue
                for part in parts_of(record):
                    if names <= part.keys() and all(isinstance(part[n], str) for n in names):
                        yield None, part

    def table_of(self, key: str) -> Mapping[str, object]:
        """Return the table that has a record; an empty one if none has it."""
        return next((table for table in self.tables.values() if key in table), {})

    def names_another(self, key: str, answer: str) -> bool:
        """Tell whether an answer names another record of the table in which a record is."""
        table = self.table_of(key)
        return any(word in table and word != key for word in words_of(answer))

    @cached_property
    def first_names(self) -> frozenset[str]:
        """The first names of all people in the databases."""
        records = (record for table in self.tables.values() for record in table.values())
        return frozenset(
            str(part["first_name"])
            for record in records
            for part in parts_of(record)
            if "first_name" in part
        )

    @cached_property
    def text(self) -> str:
        return "\n".join(str(part) for db in self.databases for part in db.state().values())


def _by_id(records: Sequence[Mapping[str, object]]) -> dict[str, object]:
    if not records:
        return {}
    key = next((name for name in records[0] if name.endswith("_id")), None)
    return {str(each[key]): each for each in records} if key else {}


def audited_domain(
    domain: Domain, data_dir: AnyPath | None = None, rules: RuleSet = RULES_0_2_0
) -> AuditedDomain:
    """Return a domain over its files, which are fetched if they are missing."""
    folder = load_domain_config(domain, data_dir)["db_path"].parent
    return AuditedDomain(domain, folder, rules)


class AuditedTask:
    """A task with what follows from it."""

    def __init__(self, audited: AuditedDomain, raw: RawTask, spec: TaskSpec) -> None:
        self.audited = audited
        self.raw = raw
        self.spec = spec
        self.id = str(raw.get("id"))
        self.setting = Setting(audited.domain, audited.folder, spec, rules=audited.rules)

    @classmethod
    def of(cls, audited: AuditedDomain, raw: RawTask) -> "AuditedTask":
        """Read a task; one that scoring could not read is a ``TaskFormatError``."""
        return cls(audited, raw, TaskSpec.of(raw))

    @property
    def criteria(self) -> Criteria | None:
        return self.spec.evaluation_criteria

    @cached_property
    def gold(self) -> GoldState:
        return gold_state(self.setting)

    def begun(self) -> World:
        """Return a world of its own in which the task begins."""
        return self.setting.world(self.spec.start.history)

    @cached_property
    def start(self) -> WorldState:
        return self.begun().state()

    def is_in_the_world(self, value: str) -> bool:
        """Tell whether the databases hold a text, before the task or at its start."""
        sought = value.lower()
        return sought in self.audited.text.lower() or sought in self._text_at_start

    @cached_property
    def _text_at_start(self) -> str:
        parts = [*self.start.company.values(), *(self.start.customer or {}).values()]
        return "\n".join(map(str, parts)).lower()

    def counts(self, kind: RewardType) -> bool:
        return self.criteria is not None and kind in self.criteria.reward_basis

    @property
    def looks_at_the_world(self) -> bool:
        """True if the end state is compared at all."""
        return self.criteria is not None and self.criteria.look_at_the_world

    def assertions_hold(self, world: World) -> bool:
        """Tell whether a world meets the task's assertions about it."""
        assertions = (self.criteria and self.criteria.env_assertions) or ()
        try:
            return all(world.check(each.model_dump()) for each in assertions)
        except Exception:  # a task's function in a world it did not foresee
            return False

    @cached_property
    def told(self) -> str:
        """All that the user, or the ticket, says of the task."""
        parts = [self.raw.get("user_scenario"), self.raw.get("ticket")]
        return "\n".join(text for _, text in texts_in(parts))


def toolkit_with(domain: Domain, action: Action) -> type[ToolKitBase[Any]] | None:
    """Return the tools of whoever takes an action; None if the action's tool is not among them."""
    kit = domain.user_toolkit if action.requestor == "user" else domain.toolkit
    return kit if kit is not None and kit.has_tool(action.name) else None


def missing_tool_text(action: Action) -> str:
    return f"the {action.requestor} has no tool {action.name!r}"


def words_of(text: str) -> set[str]:
    """Return the words of a text, ids with their signs."""
    return {*re.findall(r"#?[\w@.+-]*\w", text)}
