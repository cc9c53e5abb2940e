"""A reference solution of the bank, taken apart and varied.

The bank's tools are found by reading, and are called through another tool: what counts are the
inner calls. They decline in an ordinary answer, so that an answer is read to know what was taken.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.banking_knowledge.models import BankingDB, Row
from maseval.benchmark.tau2.domains.banking_knowledge.values import hex_id
from maseval.benchmark.tau2.domains.domain import DomainDocument
from maseval.benchmark.tau2.review.audit.criteria import finding_about
from maseval.benchmark.tau2.review.audit.subject import AuditedTask, Finding, Severity
from maseval.benchmark.tau2.review.policy.banking_knowledge.inner_calls import inner_call, rows_with
from maseval.benchmark.tau2.world.tasks import Action, RewardType

OPEN = "open_bank_account_4821"
# Kinds of findings; KINDS says what they mean.
AGAINST = "documents against the gold"
CONFLICT = "documents in conflict"
SEVERAL = "several right end states"
FREE_TEXT = "free text is compared"
UNANSWERED = "answer nobody gives"
_INNER = "arguments"
_REFUSALS = ("Error", "Failed")


def is_of_the_bank(domain: Domain) -> bool:
    """Tell whether a domain is the bank, whose documents these experiments know."""
    return domain.toolkit.has_tool(OPEN)


class BankStep(NamedTuple):
    """A call of the reference solution, by the tool that does the work."""

    number: int
    tool: str
    arguments: Mapping[str, Any]


class BankGold:
    """The reference solution of one of the bank's tasks."""

    def __init__(self, task: AuditedTask) -> None:
        self.task = task
        self.actions: Sequence[Action] = task.spec.actions

    @cached_property
    def steps(self) -> Sequence[BankStep]:
        calls = (inner_call(action.call()) for action in self.actions)
        return [BankStep(number, *call) for number, call in enumerate(calls)]

    def calls_of(self, tool: str) -> Iterator[BankStep]:
        """Yield the calls of a tool, by its name or the beginning of it."""
        return (step for step in self.steps if step.tool.startswith(tool) and step.arguments)

    @property
    def told(self) -> str:
        return self.task.told

    @cached_property
    def db(self) -> BankingDB:
        """The database at the beginning of the task; only to be read."""
        db: BankingDB = self.task.begun().tools.db
        return db

    @cached_property
    def user_id(self) -> str | None:
        """The customer, as the reference solution names them."""
        named = (step.arguments.get("user_id") for step in self.steps)
        return next((each for each in named if isinstance(each, str)), None)

    @cached_property
    def accounts(self) -> Sequence[Row]:
        """The customer's bank accounts."""
        return rows_with(self.db, "accounts", "user_id", self.user_id)

    @cached_property
    def required(self) -> Sequence[DomainDocument]:
        """The documents that the task says it needs."""
        wanted = frozenset(self.task.raw.get("required_documents") or ())
        return [each for each in self.task.audited.documents if each.id in wanted]

    def family(self, product: str, kind: str) -> Sequence[DomainDocument]:
        """Return the documents about an account, by its name: those of its folder."""
        start = f"doc_{kind}_accounts_{product.lower().replace(' ', '_')}_"
        return [
            each
            for each in self.task.audited.documents
            if re.fullmatch(r"(?:\(\w+\)_)?\d+", each.id.removeprefix(start))
        ]

    def vary(self, step: BankStep, **changes: object) -> list[Action]:
        """Return the solution with other arguments of one inner call; None takes one away."""
        action = self.actions[step.number]
        merged = {**step.arguments, **changes}
        inner = {name: value for name, value in merged.items() if value is not None}
        outer = dict(action.arguments)
        if _INNER in outer:
            outer[_INNER] = json.dumps(inner)
        else:
            outer = inner
        changed = action.model_copy(update={"arguments": outer})
        later = self.actions[step.number + 1 :]
        if step.tool == OPEN:  # the new account's id depends on what it is
            later = [
                _with_text(each, _id_of_account(step.arguments), _id_of_account(inner))
                for each in later
            ]
        return [*self.actions[: step.number], changed, *later]

    def insert(self, number: int, *actions: Action) -> list[Action]:
        """Return the solution with calls before one of its own."""
        return [*self.actions[:number], *actions, *self.actions[number:]]

    def flips(self, actions: Sequence[Action]) -> bool:
        """Tell whether the tools take other calls as they take the gold's, and they fail."""
        if not self.task.counts(RewardType.DB):
            return False
        taken, same = self._play(actions)
        return taken >= self._gold_taken + len(actions) - len(self.actions) and not same

    def answer(self, actions: Sequence[Action], number: int) -> str:
        """Return what a tool answers to one of several calls."""
        world = self.task.begun()
        answers = [world.respond(action.call())["content"] or "" for action in actions]
        return answers[number]

    @cached_property
    def _gold_taken(self) -> int:
        return self._play(self.actions)[0]

    def _play(self, actions: Sequence[Action]) -> tuple[int, bool]:
        """Return how many calls the tools took, and whether the end state is the gold's."""
        world = self.task.begun()
        answers = [world.respond(action.call())["content"] or "" for action in actions]
        taken = sum(not answer.startswith(_REFUSALS) for answer in answers)
        return taken, world.same_state(self.task.gold.world)

    def report(
        self,
        kind: str,
        severity: Severity,
        text: str,
        step: BankStep | None = None,
        tried: Sequence[Action] | str = (),
        happened: str = "the tools take it, and the end state differs: the verdict is failed",
        **evidence: object,
    ) -> Finding:
        """Return a finding with the gold's call, what was tried instead, and what happened."""
        if step is not None:
            evidence["gold"] = _describe(self.actions[step.number])
        if isinstance(tried, str):
            evidence["tried"] = [tried]
        else:
            evidence["tried"] = [_describe(each) for each in tried if each not in self.actions]
        return finding_about(self.task, kind, severity, text, happened=happened, **evidence)


def _describe(action: Action) -> str:
    """Return a call in full, by the tool that does the work."""
    tool, arguments = inner_call(action.call())
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def user_action(tool: str, **arguments: object) -> Action:
    """Return a call that the customer makes of a tool that was given to them."""
    outer = {"discoverable_tool_name": tool, _INNER: json.dumps(arguments)}
    name = "call_discoverable_user_tool"
    return Action(action_id="tried", name=name, arguments=outer, requestor="user")


def _id_of_account(arguments: Mapping[str, Any]) -> str:
    """Return the id of an account that is opened."""
    names = ("user_id", "account_type", "account_class")
    return hex_id(":".join(["account", *(str(arguments.get(name)) for name in names)]))


def _with_text(action: Action, old: str, new: str) -> Action:
    arguments = json.loads(json.dumps(action.arguments).replace(old, new))
    return action.model_copy(update={"arguments": arguments})
