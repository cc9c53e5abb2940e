"""Findings about choices that nothing decides: another record would do as well as the gold's.

Each id, and each word from a short list, in a writing call of the reference solution is replaced by
those that stand beside it. Where the tools take the call, no rule of the policy is against it, and
nothing that the user knows tells the two apart, several end states are right and one counts.
"""

import inspect
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from maseval.benchmark.tau2.domains.base import ToolType
from maseval.benchmark.tau2.review.audit.criteria import finding_about
from maseval.benchmark.tau2.review.audit.experiments import Laboratory, render_apart
from maseval.benchmark.tau2.review.audit.records import (
    Path,
    RecordHolder,
    Values,
    Words,
    holders_of,
    owner_of,
    parts_of,
    replace_part,
    texts_in,
    values_of,
)
from maseval.benchmark.tau2.review.audit.subject import (
    AuditedDomain,
    AuditedTask,
    Finding,
    Severity,
)
from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.benchmark.tau2.world.world import to_json_str

_LEAST = (r"cheap", r"lowest", r"least expensive", r"less expensive", r"minimi[sz]e", r"smallest")
_MOST = (r"most expensive", r"more expensive", r"highest", r"upgrade", r"max", r"larger one")
_EXTREMES = (r"(?:larg|bigg|small|easi|few|long|short|high|low)est", r"max", r"min(?:i|\b)")
# What only times of day decide, which are not compared here.
_TIMES = (r"earl", r"late", r"fast", r"before", r"after \d", r"hours?", r"morning", r"second")
_COMPARES = r"\w+er\b|less|more|lower|higher|slightly|fewe"
_SCALES = (
    ("low", "medium", "high"),
    ("small", "medium", "large"),
    ("s", "m", "l", "xl", "xxl"),
    ("beginner", "intermediate", "expert"),
)
_MONEY = frozenset({"price", "amount", "balance"})
_MOST_SHOWN = 3
_LONGEST_LIST = 6
_LEAST_USES = 6


class Choice(NamedTuple):
    """A value of one of the reference solution's calls, and what stands beside it."""

    number: int
    path: Path
    value: str
    others: Mapping[str, object]
    record: object
    severity: Severity = "warning"


class ChoicesOfDomain:
    """The places of all records that reference solutions of a domain name, and its short lists."""

    def __init__(self, audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> None:
        self._audited = audited
        self._tasks = tasks

    @cached_property
    def holders(self) -> Mapping[str, Sequence[RecordHolder]]:
        actions = [action for task in self._tasks for action in task.spec.actions]
        wanted = frozenset(text for action in actions for _, text in texts_in(action.arguments))
        return holders_of(self._audited.tables, wanted)

    def products(self, key: str) -> Sequence[str]:
        """Return the records that hold another under its own id and belong to nobody."""
        return [
            holder.root
            for holder in self.holders.get(key, ())
            if holder.root not in self._audited.owners
        ]

    @cached_property
    def coded(self) -> Mapping[tuple[str, Values], Sequence[str]]:
        """The records of a table by the codes in them, as flights by the places they connect."""
        found: dict[tuple[str, Values], list[str]] = defaultdict(list)
        for name, table in self._audited.tables.items():
            for key, record in table.items():
                if codes := _codes(record):
                    found[name, codes].append(key)
        return found

    @cached_property
    def other_names(self) -> Mapping[str, Sequence[str]]:
        """The other names of a value, by tools that list pairs, as of codes and cities."""
        found: dict[str, list[str]] = defaultdict(list)
        kit = self._audited.world.tools
        for name, method in kit.tools.items():
            if kit.tool_type(name) is ToolType.READ and not inspect.signature(method).parameters:
                for first, second in _pairs(to_json_str(method())):
                    found[first].append(second)
                    found[second].append(first)
        return found

    @cached_property
    def short_lists(self) -> Mapping[tuple[str, Path], frozenset[str]]:
        """The values of arguments that take only a few words, by tool and argument."""
        used: dict[tuple[str, Path], Counter[str]] = defaultdict(Counter)
        for task in self._tasks:
            for action in task.spec.actions:
                for path, text in texts_in(action.arguments):
                    used[action.name, _without_numbers(path)][text] += 1
        lists = {
            place: frozenset(values)
            for place, values in used.items()
            if 1 < len(values) <= _LONGEST_LIST
            and values.total() >= max(_LEAST_USES, 2 * len(values))
            and not any(re.search(r"\d", value) or value.isupper() for value in values)
        }
        return lists | dict(self._enumerations())

    def _enumerations(self) -> Iterator[tuple[tuple[str, Path], frozenset[str]]]:
        for kit in (self._audited.domain.toolkit, self._audited.domain.user_toolkit):
            for definition in kit.definitions() if kit else ():
                function = definition["function"]
                for name, schema in function["parameters"].get("properties", {}).items():
                    if "enum" in schema:
                        yield (function["name"], (name,)), frozenset(map(str, schema["enum"]))


def _pairs(answer: str) -> Iterator[tuple[str, str]]:
    try:
        listed = json.loads(answer)
    except ValueError:
        return
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and len(each) == 2:
            first, second = each.values()
            yield str(first), str(second)


def _without_numbers(path: Path) -> Path:
    return tuple(part for part in path if not isinstance(part, int))


def undecided_choices(task: AuditedTask, domain: ChoicesOfDomain) -> Iterator[Finding]:
    """Find values for which another stands that the user's words do not rule out.

    Where assertions alone decide, another way that does not meet them has not done the task.
    """
    if not task.counts(RewardType.DB):
        return
    laboratory = Laboratory(task)
    chooser = _Chooser(laboratory, domain)
    for choice in (*chooser.of_records(), *chooser.of_words()):
        rivals = []
        for other in choice.others:
            varied = chooser.vary(choice, other)
            if laboratory.is_another_way(varied):
                rivals.append((other, varied[choice.number].arguments))
        if rivals:
            yield _finding(task, choice, rivals)


def unasked_changes(task: AuditedTask, domain: ChoicesOfDomain) -> Iterator[Finding]:
    """Find options that the gold changes along with those that the user wants changed."""
    words = Words(task.told)
    if words.say(*_LEAST, *_MOST, "any", "do(?:n't| not) care"):
        return
    for number in Laboratory(task).writes:
        action = task.spec.actions[number]
        for old, new in _exchanges(action.arguments):
            before, after = (
                next((h.members[key] for h in domain.holders.get(key, ()) if h.root in named), None)
                for key, named in ((old, [*action.arguments.values()]), (new, domain.products(new)))
            )
            changed = [
                (field, was, becomes)
                for field, was in sorted(values_of(before))
                for name, becomes in values_of(after)
                if name == field and was != becomes and field not in _MONEY
                if not words.name(becomes, field) and not words.name(field)
                if _degree(was) is None or _degree(becomes) is None
            ]
            if changed and new not in task.told and old != new:
                listed = ", ".join(f"{field} from {a} to {b}" for field, a, b in changed)
                yield finding_about(
                    task,
                    "gold changes what nobody asked for",
                    "info",
                    f"{action.name} replaces {old} by {new}, which changes {listed}; the user does "
                    "not speak of it",
                    action_id=action.action_id,
                    gold=render_call(action.call()),
                    changed=[field for field, _, _ in changed],
                )


def _exchanges(arguments: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what a call replaces and by what: lists of one length, one named as the other's new."""
    for name, value in arguments.items():
        new = arguments.get(f"new_{name}")
        if isinstance(value, list) and isinstance(new, list) and len(value) == len(new):
            yield from zip(map(str, value), map(str, new), strict=True)


def _finding(
    task: AuditedTask, choice: Choice, rivals: Sequence[tuple[str, dict[str, Any]]]
) -> Finding:
    action = task.spec.actions[choice.number]
    shown = [_describe(other, choice.others[other], choice.record) for other, _ in rivals]
    more = f" and {len(shown) - _MOST_SHOWN} more" if len(shown) > _MOST_SHOWN else ""
    argument = _without_numbers(choice.path)[-1]
    own = _describe(choice.value, choice.record, choice.others[rivals[0][0]])
    text = (
        f"nothing that the user knows decides {argument} of {action.name}: the gold has {own}, but "
        f"{'; '.join(shown[:_MOST_SHOWN])}{more} would do as well, and then the task fails"
    )
    varied = [action.model_copy(update={"arguments": arguments}) for _, arguments in rivals]
    tried = [render_apart(each, action) for each in varied]
    return finding_about(
        task,
        "several right end states",
        choice.severity,
        text,
        action_id=action.action_id,
        gold=render_apart(action, varied[0]),
        tried=tried[:_MOST_SHOWN],
        happened="taken by the tools, against no rule of the policy; the end state does not count",
        others=[other for other, _ in rivals],
    )


def _describe(key: str, record: object, beside: object) -> str:
    own = sorted(values_of(record) - values_of(beside)) if record is not None else []
    telling = [f"{field} {value}" for field, value in own if value != key][:4]
    return f"{key} ({', '.join(telling)})" if telling else key


class _Chooser:
    """The choices that a task's reference solution makes and the user's words leave open."""

    def __init__(self, laboratory: Laboratory, domain: ChoicesOfDomain) -> None:
        self._laboratory = laboratory
        self._domain = domain
        self._tables = laboratory.task.audited.tables
        self._words = Words(laboratory.task.told)
        self._used = {
            text for action in laboratory.actions for _, text in texts_in(action.arguments)
        }

    def of_records(self) -> Iterator[Choice]:
        """Yield ids with the records beside theirs that would do as well."""
        for number in self._laboratory.writes:
            arguments = self._laboratory.actions[number].arguments
            named = [text for _, text in texts_in(arguments)]
            owners = self._owners(named)
            for path, value in texts_in(arguments):
                if named.count(value) > 1 or value.lower() in self._words.text:
                    continue  # the same again, or in the user's own words
                holders = self._domain.holders.get(value, ())
                if not self._words.say(*_LEAST) and self._is_elsewhere(
                    value, holders, named, owners
                ):
                    continue
                replaced = self._parts_to_replace(named, value, owners)
                for holder in (*holders, *self._beside_in_table(value, named)):
                    if holder.root in named or holder.root in owners or not self._owner(holder):
                        record = holder.members[value]
                        others = {
                            key: other
                            for key, other in holder.members.items()
                            if not (key in self._used and self._is_root(key))
                            and key not in named
                            and self._fits(record, other, replaced, named)
                        }
                        yield Choice(number, path, value, others, record)

    def _beside_in_table(self, value: str, named: Sequence[str]) -> Iterator[RecordHolder]:
        """Yield the records of a table that have the same codes, as flights of one route do."""
        others = [each for each in named if each != value]
        roots = [table[each] for table in self._tables.values() for each in others if each in table]
        kept = any(value in [text for _, text in texts_in(root)] for root in roots)
        if kept or self._words.say(*_TIMES):
            return
        for name, table in self._tables.items():
            if value in table and (codes := _codes(table[value])):
                keys = self._domain.coded[name, codes]
                yield RecordHolder(
                    name, value, name, {key: _narrow(table[key], named) for key in keys}
                )

    def of_words(self) -> Iterator[Choice]:
        """Yield words from a short list, with the others of the list, that nobody says."""
        for number in self._laboratory.writes:
            action = self._laboratory.actions[number]
            named = {text for _, text in texts_in(action.arguments)}
            kept = {value for each in named for value in self._values_of_root(each)}
            for path, value in texts_in(action.arguments):
                beside = self._domain.short_lists.get((action.name, _without_numbers(path)))
                field = str(_without_numbers(path)[-1])
                if beside is None or (field, value) in kept:
                    continue
                if self._words.name_all(value, field):
                    wider = {each: None for each in sorted(beside) if self._may_mean(value, each)}
                    yield Choice(number, path, value, wider, None, "info")
                    continue
                yield Choice(number, path, value, dict.fromkeys(sorted(beside - {value})), None)

    def _may_mean(self, value: str, other: str) -> bool:
        """Tell whether who says a word may mean a cheaper thing whose name has the word in it."""
        own, longer = ({*re.findall(r"[a-z]+", text.lower())} for text in (value, other))
        return own < longer and self._words.say(*_LEAST) and not self._words.say(*(longer - own))

    def vary(self, choice: Choice, other: str) -> list[Action]:
        """Return the calls with another value; a record of its own is another one in all calls."""
        if not self._is_root(choice.value):
            arguments = self._laboratory.actions[choice.number].arguments
            return self._laboratory.vary(choice.number, replace_part(arguments, choice.path, other))
        varied = []
        for action in self._laboratory.actions:
            arguments = action.arguments
            for path, text in texts_in(arguments):
                if text == choice.value:
                    arguments = replace_part(arguments, path, other)
            varied.append(action.model_copy(update={"arguments": arguments}))
        return varied

    def _values_of_root(self, key: str) -> Iterator[tuple[str, str]]:
        for table in self._tables.values():
            if key in table:
                yield from values_of(table[key])

    def _owners(self, named: Sequence[str]) -> frozenset[str]:
        """Return whose records a call names."""
        roots = [table[key] for table in self._tables.values() for key in named if key in table]
        owners = (owner_of(root, self._tables) for root in roots)
        return frozenset({*(owner for owner in owners if owner), *named})

    def _owner(self, holder: RecordHolder) -> str | None:
        return owner_of(self._tables[holder.table][holder.root], self._tables)

    def _is_elsewhere(
        self,
        value: str,
        holders: Sequence[RecordHolder],
        named: Sequence[str],
        owners: frozenset[str],
    ) -> bool:
        """Tell whether the user has the same thing elsewhere, and may mean it by that."""
        return any(
            "name" in dict(values_of(holder.members[value]))
            and holder.root not in named
            and self._owner(holder) in owners
            for holder in holders
        ) and self._words.say("same", "other [^w]", "exact", "type", "already", "just", "one you")

    def _is_root(self, key: str) -> bool:
        return any(key in table for table in self._tables.values())

    def _parts_to_replace(
        self, named: Sequence[str], value: str, owners: frozenset[str]
    ) -> list[Mapping[str, str]]:
        """Return the values of the records that a call takes away, as an exchange does.

        If the user speaks of another one, all that the user has of the kind are among them.
        """
        taken = [
            holder.members[each]
            for each in named
            if each != value
            for holder in self._domain.holders.get(each, ())
            if holder.root in named
        ]
        if self._words.say("same", "other") and not self._words.say(*_LEAST):
            names = {each["name"] for each in taken if isinstance(each, dict) and "name" in each}
            taken += [
                part
                for owner in owners
                for root in self._laboratory.task.audited.belongings.get(owner, ())
                for part in parts_of(root)
                if part.get("name") in names
            ]
        return [dict(values_of(each)) for each in taken]

    def _fits(
        self,
        record: object,
        other: object,
        replaced: Sequence[Mapping[str, str]],
        named: Sequence[str],
    ) -> bool:
        """Tell whether the words fit another record as well as the gold's."""
        own, beside = values_of(record), values_of(other)
        theirs = dict(beside)
        for field, value in own - beside:
            if field == "name":
                return False
            if field in _MONEY:
                if not self._price_fits(value, theirs.get(field)):
                    return False
                continue
            if self._is_told(value, field):
                return False
            before = [each[field] for each in replaced if field in each]
            if value in before or not self._scale_fits(value, theirs.get(field), before):
                return False
        return not self._is_original(record, named)

    def _is_told(self, value: str, field: str) -> bool:
        names = (value, *self._domain.other_names.get(value, ()))
        return any(self._words.name(name, field) for name in names)

    def _price_fits(self, own: str, other: str | None) -> bool:
        if other is None:
            return True
        if self._words.say(*_LEAST) and float(other) > float(own):
            return False
        return not (self._words.say(*_MOST) and float(other) < float(own))

    def _scale_fits(self, own: str, other: str | None, before: Sequence[str]) -> bool:
        """Tell whether a value lies on the side to which the user wants to go."""
        if other is None or not self._words.say(_COMPARES):
            return True
        ours, theirs = _degree(own), _degree(other)
        degrees = [degree for each in before if (degree := _degree(each)) is not None]
        if ours is None or theirs is None or not degrees:
            return True
        if self._words.say(*_EXTREMES):
            return False
        if any(self._words.say(rf"{abs(ours - each):g}\b") for each in degrees):
            return False  # by how much it is to differ
        return any((ours - each) * (theirs - each) > 0 for each in degrees)

    def _is_original(self, record: object, named: Sequence[str]) -> bool:
        """Tell whether the user asks for the payment method that paid, or not that, and gets it."""
        key = record.get("id") if isinstance(record, dict) else None
        original = self._words.say("original", "same payment", "same card")
        another = self._words.say("other card", "other payment", "another card")
        if key is None or not (original or another):
            return False
        roots = [table[each] for table in self._tables.values() for each in named if each in table]
        paid = any(key in [text for _, text in texts_in(root)] for root in roots)
        return paid if original else not paid


def _codes(record: object) -> Values:
    """Return the fields of a record that are written in capitals, as codes of places are."""
    fields = record.items() if isinstance(record, dict) else ()
    return frozenset(
        (name, value)
        for name, value in fields
        if isinstance(value, str) and re.fullmatch(r"[A-Z]{2,4}", value)
    )


def _narrow(record: object, named: Sequence[str]) -> object:
    """Return a record with only those parts that a call means, where it holds them by name."""
    if not isinstance(record, dict):
        return record
    meant = next((each for each in named if each in record), None)
    if meant is not None:
        inner = _narrow(record[meant], named)
        return inner if isinstance(inner, dict) else {"price": inner}
    return {name: _narrow(value, named) for name, value in record.items()}


def _degree(value: str) -> float | None:
    """Return where a value stands on a scale; None if it is on none."""
    number = re.match(r"\d+(?:\.\d+)?", value)
    if number:
        return float(number[0])
    places = [scale.index(value.lower()) for scale in _SCALES if value.lower() in scale]
    return float(places[0]) if places else None
