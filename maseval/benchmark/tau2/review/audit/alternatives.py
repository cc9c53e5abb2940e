"""Findings about choices that nothing decides: another record would do as well as the gold's.

Each id in a writing call of the reference solution is replaced by those of the records that stand
beside it, such as the other cards of a customer. Where the tools take the call, no rule of the
policy is against it, and the user's words neither name nor compare what sets the two apart, several
end states are right and one counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from maseval.benchmark.tau2.review.audit.audited import AuditedDomain, AuditedTask, TaskFinding
from maseval.benchmark.tau2.review.audit.experiments import TAKEN, Laboratory, render_apart
from maseval.benchmark.tau2.review.audit.values import (
    RecordHolder,
    holders_of,
    owner_of,
    replace_part,
    texts_in,
    values_of,
)
from maseval.benchmark.tau2.review.explain.snapshot import FieldPath
from maseval.benchmark.tau2.world.tasks import Action, RewardType

_MONEY = frozenset({"price", "amount", "balance"})
# "The other card", "a brighter one", "the type you just ordered": the records decide.
_COMPARES = re.compile(
    r"\b(?:more|less|fewer|fewest|most|least|same|other|original|exact|type (?:that|you)|upgrade"
    r"|max\w*|minimi\w+|(?:bigg|small|larg|short|long|bright|dark|light|cheap|high|low|old|new"
    r"|fast|slow|eas[iy]|hard|earl[iy]|lat|strong|weak|wid|thick|thinn|soft|heav[iy])(?:er|est))\b"
)
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")
_NO_CONTENT = {"the", "and", "with", "for", "not", "you", "your", "all", "one"}
_ROOT = 4
_MOST_SHOWN = 3


Holders = Mapping[str, Sequence[RecordHolder]]


def holders_beside(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Holders:
    """Return the places that hold each record which a reference solution names."""
    actions = [action for task in tasks for action in task.spec.actions]
    wanted = frozenset(text for action in actions for _, text in texts_in(action.arguments))
    return holders_of(audited.tables, wanted)


class _Choice(NamedTuple):
    """A value of one of the reference solution's calls, and what stands beside it."""

    number: int
    path: FieldPath
    value: str
    others: Mapping[str, object]
    record: object


def undecided_choices(task: AuditedTask, beside: Holders) -> Iterator[TaskFinding]:
    """Find values for which another stands that the user's words do not rule out.

    Where assertions alone decide, another way that does not meet them has not done the task.
    """
    if not task.counts(RewardType.DB):
        return
    chooser = _Chooser(task, beside)
    for choice in chooser.of_records():
        rivals = [
            (other, varied[choice.number])
            for other in choice.others
            for varied in [chooser.vary(choice, other)]
            if chooser.laboratory.is_another_way(varied)
        ]
        if rivals:
            yield _finding(task, choice, rivals)


def _finding(
    task: AuditedTask, choice: _Choice, rivals: Sequence[tuple[str, Action]]
) -> TaskFinding:
    action = task.spec.actions[choice.number]
    listed = [_describe(other, choice.others[other], choice.record) for other, _ in rivals]
    more = f" and {len(listed) - _MOST_SHOWN} more" if len(listed) > _MOST_SHOWN else ""
    argument = [part for part in choice.path if isinstance(part, str)][-1]
    own = _describe(choice.value, choice.record, choice.others[rivals[0][0]])
    text = (
        f"nothing that the user knows decides {argument} of {action.name}: the gold has {own}, but "
        f"{'; '.join(listed[:_MOST_SHOWN])}{more} would do as well, and then the task fails"
    )
    tried = [f"tried: {render_apart(each, action)}" for _, each in rivals[:_MOST_SHOWN]]
    call = render_apart(action, rivals[0][1])
    return task.finding("several right end states", "warning", text, *tried, TAKEN, call=call)


def _describe(key: str, record: object, beside: object) -> str:
    own = sorted(values_of(record) - values_of(beside))
    differing = [f"{field} {value}" for field, value in own if value != key][:4]
    return f"{key} ({', '.join(differing)})" if differing else key


class _Chooser:
    """The choices that a task's reference solution makes and the user's words leave open."""

    def __init__(self, task: AuditedTask, beside: Holders) -> None:
        self.laboratory = Laboratory(task)
        self._beside = beside
        self._tables = task.audited.tables
        self._choices = task.audited.domain.choices
        self._words = _Words(task.scenario)
        self._used = {
            text for action in task.spec.actions for _, text in texts_in(action.arguments)
        }

    def of_records(self) -> Iterator[_Choice]:
        """Yield ids with the records beside theirs that would do as well."""
        for number in self.laboratory.writes:
            arguments = self.laboratory.actions[number].arguments
            named = [text for _, text in texts_in(arguments)]
            owners = self._owners(named)
            for path, value in texts_in(arguments):
                if named.count(value) > 1 or self._is_decided(number, path, value):
                    continue  # the same again, or in the user's own words
                before = self._values_before(named, value)
                for holder in self._beside.get(value, ()):
                    if holder.root in owners or not self._owner(holder):
                        record = holder.members[value]
                        others = {
                            key: other
                            for key, other in holder.members.items()
                            if key not in named
                            and not (key in self._used and self._is_root(key))
                            and self._fits(record, other, before)
                        }
                        yield _Choice(number, path, value, others, record)

    def _is_decided(self, number: int, path: FieldPath, value: str) -> bool:
        """Return True if the user's words decide a value, by naming it or by a comparison.

        Where the domain says which choices it leaves open, and by which words they are settled,
        that counts.
        """
        if value.lower() in self._words.text:
            return True
        tool, name = self.laboratory.actions[number].name, str(path[0])
        listed = [e for e in self._choices if e.argument == name and tool in e.tools]
        if any(not each.unordered for each in listed):
            return not any(each.allows(tool, name, self._words.text) for each in listed)
        return _COMPARES.search(self._words.text) is not None

    def vary(self, choice: _Choice, other: str) -> list[Action]:
        """Return the calls with another value; a record of its own is another one in all calls."""
        if not self._is_root(choice.value):
            arguments = self.laboratory.actions[choice.number].arguments
            return self.laboratory.vary(choice.number, replace_part(arguments, choice.path, other))
        varied = []
        for action in self.laboratory.actions:
            arguments = action.arguments
            for path, text in texts_in(arguments):
                if text == choice.value:
                    arguments = replace_part(arguments, path, other)
            varied.append(action.model_copy(update={"arguments": arguments}))
        return varied

    def _is_root(self, key: str) -> bool:
        return any(key in table for table in self._tables.values())

    def _owners(self, named: Sequence[str]) -> set[str]:
        """Return the records that a call names, and those to which they belong."""
        tables = self._tables.values()
        roots = [table[key] for key in named for table in tables if key in table]
        return {*filter(None, (owner_of(root, self._tables) for root in roots)), *named}

    def _owner(self, holder: RecordHolder) -> str | None:
        return owner_of(self._tables[holder.table][holder.root], self._tables)

    def _values_before(self, named: Sequence[str], value: str) -> set[tuple[str, str]]:
        """Return the values of the other records that a call names: an exchange takes them away.

        A user who does not speak of such a value wants to keep it.
        """
        return {
            pair
            for each in named
            if each != value
            for holder in self._beside.get(each, ())
            if holder.root in named
            for pair in values_of(holder.members[each])
        }

    def _fits(self, record: object, other: object, before: set[tuple[str, str]]) -> bool:
        """Return True if the words fit another record as well as the gold's."""
        for field, value in values_of(record) - values_of(other):
            if field in _MONEY:
                continue
            if field == "name" or (field, value) in before or self._words.name(value, field):
                return False
        return True


class _Words:
    """The words of a user's text, by their first letters."""

    def __init__(self, text: str) -> None:
        self.text = text.lower()
        self._roots = frozenset(word[:_ROOT] for word in _WORD.findall(self.text))

    def name(self, value: str, field: str = "") -> bool:
        """Return True if a value is named: its numbers, or else one of its words.

        Of a value that has several words joined, as in credit_card, all must be there, and of a
        yes or a no the field.
        """
        own = [word[:_ROOT] for word in _WORD.findall(value.lower())]
        if any(word[0].isdigit() for word in own):
            return all(word in self._roots for word in own if word[0].isdigit())
        if value.lower() in ("yes", "no", "none", "not"):
            return any(map(self.name, re.findall(r"[a-z]{3,}", field.lower())))
        content = [word for word in own if len(word) > 2 and word not in _NO_CONTENT] or own
        found = [word in self._roots for word in content]
        return bool(found) and (all(found) if "_" in value else any(found))
