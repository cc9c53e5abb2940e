"""A domain: which database, which tools, which files, and what couples its two sides.

It also says which values, once wrong, stay wrong. A rule of permanence looks at one field of one
kind of record. Given what the field is now and what it should be in the end, it says whether no
sequence of further calls can lead from the one to the other. A domain's rules are read off its
tools; nothing is claimed about a domain without rules.

After tau2-bench v0.2.0, src/tau2/domains/*/environment.py (MIT, Sierra Research).
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType
from maseval.benchmark.tau2.texts.original import template
from maseval.core.exceptions import ConfigurationError

if TYPE_CHECKING:  # verdicts need no rules
    from maseval.benchmark.tau2.review.policy.rules import Rule


class Absent(Enum):
    """Stands where there is no value at all; None is a value."""

    ABSENT = "(absent)"

    def __repr__(self) -> str:
        return self.value


ABSENT = Absent.ABSENT

Unreachable = Callable[[object, object], bool]


class PermanenceRule(NamedTuple):
    """A field (``*`` stands for any step of its path), and when its value can no longer be right.

    ``unreachable(now, wanted)`` must only be true if no tool can ever make the value right. An
    empty path means the whole record.
    """

    table: str
    path: tuple[str | int, ...]
    unreachable: Unreachable
    reason: str


class MoneyField(NamedTuple):
    """The amounts of money that a record of a table shows, each under the account it is about.

    What a customer pays is positive, what a customer gets is negative. ``amounts`` is given the
    record as JSON values.
    """

    table: str
    amounts: Callable[[Mapping[str, Any]], Iterable[tuple[str, float]]]
    currency: str = "USD"


class Customers(NamedTuple):
    """The table of customers, and the field by which records of any table name one.

    ``lists`` names the field of a customer that lists the records of a table that names none.
    """

    table: str
    field: str
    lists: Mapping[str, str] = {}


def append_only(now: object, wanted: object) -> bool:
    """Entries are added at the end and never changed, so what is there must be a beginning."""
    if not isinstance(now, list) or not isinstance(wanted, list):
        return False
    return now != wanted[: len(now)]


def once_set(now: object, wanted: object) -> bool:
    """Nothing changes it when it has a value."""
    return now not in (None, ABSENT) and now != wanted


def only_falls(now: object, wanted: object) -> bool:
    """No tool raises the number."""
    return isinstance(now, int | float) and isinstance(wanted, int | float) and now < wanted


def only_rises(now: object, wanted: object) -> bool:
    """No tool lowers the number."""
    return isinstance(now, int | float) and isinstance(wanted, int | float) and now > wanted


def stays(now: object, wanted: object) -> bool:
    """A rule: what is there is never taken away."""
    return now is not ABSENT and wanted is ABSENT


def ends_with(*last: str) -> Unreachable:
    """Return a rule: none of these values is ever left."""
    return lambda now, wanted: now in last and now != wanted


def moves_along(steps: Mapping[str, Collection[str]]) -> Unreachable:
    """Only the given steps from one value to the next exist."""

    def unreachable(now: object, wanted: object) -> bool:
        # A value can be reached over any number of others.
        reached, ahead = {str(now)}, [str(now)]
        while ahead:
            fresh = {*steps.get(ahead.pop(), ())} - reached
            reached |= fresh
            ahead += fresh
        return str(wanted) not in reached

    return unreachable


def gone_for_good(reissued: Collection[str]) -> Unreachable:
    """A part that is missing comes back only under the ids that a tool gives out."""

    def unreachable(now: object, wanted: object) -> bool:
        if not isinstance(now, dict) or not isinstance(wanted, dict):
            return False
        return any(key not in now and key not in reissued for key in wanted)

    return unreachable


Policy = Callable[[Path, bool], str]
TaskPolicy = Callable[[Path, bool, Mapping[str, Any]], str]
Sync = Callable[[Any, Any], None]


class DomainDocument(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def content(self) -> str: ...


def policy_file(name: str, solo: str | None = None) -> Policy:
    """A policy that is one file, verbatim; ``solo`` names the one for an agent without a user."""
    return partial(_read_policy, name, solo)


# Functions with names, as a domain may be sent to other processes.
def _read_policy(name: str, solo: str | None, folder: Path, solo_mode: bool) -> str:
    file = solo if solo_mode and solo else name
    return (folder / file).read_text(encoding="utf-8")


def _need_nothing() -> None:
    """Be ready at once."""


def _have_no_documents(folder: Path) -> Sequence["DomainDocument"]:
    return ()


# Any mention of paying counts as settling the question: it is better to miss an open choice than to
# call open what the user has decided.
_PAYMENT = re.compile(
    r"gift ?card|\bGC\b|certificate|voucher|credit|debit|visa|master ?card|amex|american express"
    r"|paypal|\bcards?\b|payment|original|refund(?:ed)? (?:to|on|via|through|in)\b",
    re.IGNORECASE,
)


class OpenChoice(NamedTuple):
    """An argument that a policy leaves to the user, and a scenario often too.

    Where nobody says which card to use, two agents that do all else alike reach two end states, and
    both are right: several values do, unless the scenario settles it.

    ``settled_by`` finds the words that settle it; without it nothing does, as with a remark in
    free text. A list that is ``unordered`` means the same in any order, settled or not, as long as
    the lists ``beside`` it are in the same.
    """

    noun: str
    argument: str
    tools: Collection[str]
    settled_by: re.Pattern[str] | None = None
    unordered: bool = False
    beside: tuple[str, ...] = ()

    def allows(self, tool: str, argument: str, scenario: str) -> bool:
        """Return True if the argument of a tool is left open by what the user is told."""
        # In an unordered list only the order is free, and never the elements.
        if argument != self.argument or tool not in self.tools or self.unordered:
            return False
        return self.settled_by is None or not self.settled_by.search(scenario)


def payment_choice(argument: str, *tools: str) -> OpenChoice:
    return OpenChoice("payment method", argument, tools, _PAYMENT)


_HOME = "maseval.benchmark.tau2.review.policy"


class LateRules(Sequence["Rule"]):
    """The rules that a module of ours lists under a name; hundreds of patterns are compiled."""

    def __init__(self, module: str, name: str = "RULES") -> None:
        self._module, self._name = module, name

    @cached_property
    def _rules(self) -> Sequence["Rule"]:
        return tuple(getattr(import_module(f"{_HOME}.{self._module}"), self._name))

    def __len__(self) -> int:
        return len(self._rules)

    def __getitem__(self, index: Any) -> Any:
        return self._rules[index]


# Facts about a domain are cached by its identity, so two domains never compare equal.
@dataclass(frozen=True, eq=False)
class Domain:
    """One world that an agent can be put to work in.

    A ``user_toolkit`` without a ``user_db`` works on the company's database.
    ``sync`` is called with both toolkits after every change, for domains whose customer has tools;
    ``sync_after`` are the tools that make changes it must see, by their types or by their names.
    ``data_dir`` is for domains that bring their own files; the others' are fetched, those of the
    release of the benchmark that ``version`` names. Each set of tasks has a file of its own, or
    ``splits_file`` says which tasks of the ``base`` file belong to which set; a folder holds one
    task a file. ``task_policy`` is for policies that differ from task to task. ``require_ready``
    raises where a simulation would lack what its tools need beside the files.
    ``lenient_toolkit`` forgives what the rules do not, for those who ask for it.
    ``retrieval`` is the original's name for how the agent gets at a knowledge base, and
    ``retrieval_options`` are those that differ from the original's.

    Some things are known for those who ask whether a number is right, and may be left out:
    ``rules`` are those of the policy (``comply``, ``audit``, ``labels``), ``permanence`` what no
    tool can undo, ``money`` which fields are amounts, ``customers`` whose records are (both for the
    harm that ``reliability`` counts), ``choices`` what users may be free to choose (``errata``),
    and ``documents`` what its knowledge base holds (``audit``).
    """

    name: str
    db: type[DB]
    toolkit: type[ToolKitBase[Any]]
    policy_text: Policy = field(default_factory=lambda: policy_file("policy.md"))
    user_db: type[DB] | None = None
    user_toolkit: type[ToolKitBase[Any]] | None = None
    sync: Sync | None = None
    sync_after: Collection[ToolType | str] = frozenset(ToolType)
    folder_name: str = ""
    db_file: str = "db.json"
    user_db_file: str | None = None
    task_files: Mapping[str, str] = field(default_factory=lambda: {"base": "tasks.json"})
    splits_file: str | None = None
    task_policy: TaskPolicy | None = None
    require_ready: Callable[[], None] = _need_nothing
    version: str = "0.2.0"
    solo_refusal: str | None = None
    data_dir: Path | None = None
    lenient_toolkit: type[ToolKitBase[Any]] | None = None
    retrieval: str | None = None
    retrieval_options: Mapping[str, object] = field(default_factory=dict)
    rules: Sequence["Rule"] = ()
    permanence: Sequence[PermanenceRule] = ()
    money: Sequence[MoneyField] = ()
    customers: Customers | None = None
    choices: Sequence[OpenChoice] = ()
    documents: Callable[[Path], Sequence[DomainDocument]] = _have_no_documents

    def __post_init__(self) -> None:
        # The class is frozen: its fields are filled in this way or not at all.
        if not self.folder_name:
            object.__setattr__(self, "folder_name", self.name)
        if self.data_dir is not None:
            # Tasks keep the paths of their databases, and a run may change its working folder.
            object.__setattr__(self, "data_dir", Path(self.data_dir).absolute())

    def policy(self, folder: Path, *, solo: bool = False) -> str:
        """Compose the agent's policy from the files in ``folder``."""
        self.check_solo(solo)
        return self.policy_text(folder, solo)

    @cached_property
    def lenient(self) -> "Domain":
        return replace(self, toolkit=self.lenient_toolkit) if self.lenient_toolkit else self

    def has_tool(self, tool_name: str) -> bool:
        kits = filter(None, (self.toolkit, self.user_toolkit))
        return any(kit.has_tool(tool_name) for kit in kits)

    def mutates(self, tool_name: str) -> bool:
        """Return True if a tool of that name, on whichever side, may change a database."""
        # The agent's tool comes first, as in a replay of a recorded conversation.
        kit = self.toolkit if self.toolkit.has_tool(tool_name) else self.user_toolkit
        return kit is not None and kit.mutates(tool_name)

    @cached_property
    def unseen_tools(self) -> frozenset[str]:
        """The tools of either side after which the two need not be synchronised."""
        kits = [kit for kit in (self.toolkit, self.user_toolkit) if kit is not None]
        tools = [tool for kit in kits for tool in kit.all_tools().items()]
        seen = {name for name, kind in tools if not {name, kind}.isdisjoint(self.sync_after)}
        return frozenset(name for name, _ in tools if name not in seen)

    @cached_property
    def is_predictable(self) -> bool:
        """True if all of its tools are, and what synchronises them belongs to a domain here."""
        kits = filter(None, (self.toolkit, self.user_toolkit))
        # Nobody knows what somebody else's function looks at or remembers.
        synced_here = self.sync is None or self.sync.__module__.startswith(f"{__package__}.")
        return synced_here and all(kit.is_predictable for kit in kits)

    def check_solo(self, solo: bool) -> None:
        """Refuse solo mode where the domain has none, in the original's words."""
        if solo and self.solo_refusal:
            raise ValueError(self.solo_refusal)

    def guidelines(self, with_tools: bool) -> str | None:
        """Return the guidelines of a simulated customer; None where the original's data has them.

        A domain that brings its own files may have a ``user_guidelines.md``, and a
        ``user_guidelines_tools.md`` for a customer with tools; without them it gets our own.
        """
        if self.data_dir is None:
            return None
        name = f"user_guidelines{'_tools' if with_tools else ''}"
        own = self.data_dir / f"{name}.md"
        return own.read_text(encoding="utf-8") if own.is_file() else template(name)


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(@[a-z0-9][a-z0-9_-]*)?")


def faults(domain: Domain) -> list[str]:
    """Return a sentence for each fault that would keep a domain from working."""
    return [*_of_form(domain), *_of_files(domain), *_of_tools(domain), *_of_rules(domain)]


def _of_form(domain: Domain) -> Iterator[str]:
    if not _NAME.fullmatch(domain.name):
        yield (
            f"the name {domain.name!r} must be lower-case letters, digits, '-' and '_', as it is "
            "typed on command lines and becomes part of file names"
        )
    customer = {
        "user_db": domain.user_db,
        "user_db_file": domain.user_db_file,
        "user_toolkit": domain.user_toolkit,
    }
    missing = [name for name, value in customer.items() if value is None]
    # A customer's tools may work on the company's database and then need no files of their own.
    shares = domain.user_toolkit is not None and len(missing) == 2
    if 0 < len(missing) < len(customer) and not shares:
        yield f"a customer with tools needs {' and '.join(missing)} too"
    elif domain.sync and domain.user_toolkit is None:
        yield "sync couples two sides, but the customer has no tools"
    if "base" not in domain.task_files:
        yield "task_files names no 'base', the set that is run unless another is asked for"


def _of_files(domain: Domain) -> Iterator[str]:
    folder = domain.data_dir
    if folder is None:
        return
    for name in filter(None, (domain.db_file, domain.user_db_file, *domain.task_files.values())):
        if not (folder / name).exists():
            yield f"{folder} has no {name}"
    # A domain that refuses solo mode need not have a policy for it.
    for solo in (False, True) if domain.solo_refusal is None else (False,):
        try:
            domain.policy(folder, solo=solo)
        except OSError as error:
            yield f"the {'solo ' if solo else ''}policy cannot be read: {error}"


def _of_tools(domain: Domain) -> Iterator[str]:
    names: list[set[str]] = []
    for toolkit in filter(None, (domain.toolkit, domain.user_toolkit)):
        try:
            functions = [definition["function"] for definition in toolkit.definitions()]
        except ConfigurationError as error:
            yield f"{toolkit.__name__}: {error}"
            continue
        names.append({function["name"] for function in functions})
        for function in functions:
            yield from _find_missing_descriptions(toolkit, function)
    both = set.intersection(*names) if len(names) == 2 else set()
    if both and domain.solo_refusal is None:
        yield (
            f"both sides have a tool named {', '.join(sorted(both))}, which solo mode could not "
            "tell apart; rename one, or give the domain a solo_refusal"
        )


def _of_rules(domain: Domain) -> Iterator[str]:
    ids = [rule.id for rule in domain.rules]
    for name in dict.fromkeys(each for each in ids if ids.count(each) > 1):
        yield f"two rules have the id {name!r}"
    # An agent that works alone has the customer's tools as well.
    kits = [kit for kit in (domain.toolkit, domain.user_toolkit) if kit is not None]
    for rule in domain.rules:
        for name in rule.tools:
            if not any(kit.has_tool(name) for kit in kits):
                yield f"rule {rule.id!r} names a tool {name!r} that the agent does not have"
    databases = [db for db in (domain.db, domain.user_db) if db is not None]
    tables = {name for db in databases for name in db.model_fields}
    named = {
        "permanence": [rule.table for rule in domain.permanence],
        "money": [each.table for each in domain.money],
        "customers": [domain.customers.table, *domain.customers.lists] if domain.customers else [],
    }
    for part, names in named.items():
        for name in dict.fromkeys(names):
            if name not in tables:
                yield f"{part} names {name!r}, which neither database has"


def _find_missing_descriptions(
    toolkit: type[ToolKitBase[Any]], function: Mapping[str, Any]
) -> Iterator[str]:
    title = f"{toolkit.__name__}.{function['name']}"
    if not function["description"]:
        yield f"{title} has no docstring, from which a model learns what it is for"
    for name, schema in function["parameters"]["properties"].items():
        if not schema.get("description"):
            yield f"{title} does not describe {name!r}; add it under Args: in the docstring"
