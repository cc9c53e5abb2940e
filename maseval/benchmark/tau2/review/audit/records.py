"""Records that stand beside each other, and what a user's words say about them.

A record is known by its id. Beside it stand those from which it was chosen: the other payment
methods of a customer, the other variants of a product, the other items of an order, the customer's
other orders. Two of them can be told apart by a text if it names a value that only one of them has.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Values = frozenset[tuple[str, str]]
"""The values of a record, each with the name of its field."""

Path = tuple[str | int, ...]
"""The place of a part within a value: names and numbers, from the outside to the inside."""

_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")
_SHORT_FORMS = {
    r"\bgcs?\b": "gift card",
    r"\bccs?\b": "credit card",
    r"\bgiftcards?\b": "gift card",
    r"\bmaster card\b": "mastercard",
    r"\bamerican express\b": "amex",
    r"\bnyc\b": "new york",
    r"\bla\b": "los angeles",
    r"\b1l\b": "1000ml",
    r"\bt-?shirts?\b": "t-shirt",
}
_NO_CONTENT = {"the", "and", "with", "for", "not", "you", "your", "all", "one", "usa", "inch", "no"}
_ROOT = 4


class RecordHolder(NamedTuple):
    """A place that holds records: where it is, and the records by their ids."""

    table: str
    root: str
    field: str
    members: Mapping[str, object]


def holders_of(
    tables: Mapping[str, Mapping[str, object]], wanted: frozenset[str]
) -> Mapping[str, Sequence[RecordHolder]]:
    """Return the places that hold each of the wanted ids."""
    found: dict[str, list[RecordHolder]] = defaultdict(list)
    for table, records in tables.items():
        for root, record in records.items():
            for field, members in _holders(record, "", tables):
                for each in wanted & members.keys():
                    found[each].append(RecordHolder(table, root, field, members))
    return found


def _holders(
    value: object, field: str, tables: Mapping[str, Mapping[str, object]]
) -> Iterator[tuple[str, Mapping[str, object]]]:
    match value:
        case dict():
            if value and all(_is_named(key, each) for key, each in value.items()):
                yield field, value
            for name, each in value.items():
                if isinstance(each, dict | list):
                    yield from _holders(each, str(name), tables)
        case list() if value and isinstance(value[0], str):
            for records in tables.values():
                if all(each in records for each in value):
                    yield field, {each: records[each] for each in value}
        case list() if value and isinstance(value[0], dict):
            key = id_field(value[0])
            if key:
                yield field, {str(each.get(key)): each for each in value}
            for each in value:
                yield from _holders(each, field, tables)


def _is_named(key: object, value: object) -> bool:
    return isinstance(value, dict) and key in (each for each in value.values() if each == key)


def id_field(record: Mapping[str, object]) -> str | None:
    """Return the name of the field that tells a record from others of its kind."""
    names = [name for name in record if re.search(r"(?:^|_)(?:id|number)$", name)]
    own = [name for name in names if name in ("id", "item_id")]
    return next(iter((*own, *names)), None)


def values_of(record: object) -> Values:
    """Return what a record says of itself, its parts included, without ids and times."""
    return frozenset(_values(record, ""))


def _values(value: object, field: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, each in value.items():
                yield from _values(each, str(name))
        case list():
            for each in value:
                yield from _values(each, field)
        case bool() | None:
            return
        case str() | int() | float():
            if not re.search(r"(?:^|_)ids?$|_est$|_at$|^status$|^country$", field):
                yield field, str(value)


class Words:
    """The words of a user's text, by their first letters; abbreviations are written out."""

    def __init__(self, text: str) -> None:
        self.text = text.lower()
        for form, meaning in _SHORT_FORMS.items():
            self.text = re.sub(form, meaning, self.text)
        self._roots = frozenset(map(_root, _WORD.findall(self.text)))

    def name(self, value: str, field: str = "") -> bool:
        """Tell whether a value is named: its numbers, or else one of its words.

        Of a value that has several words joined, as in credit_card, all must be there, and of a
        yes or a no the field.
        """
        own = list(map(_root, _WORD.findall(value.lower())))
        if any(word[0].isdigit() for word in own):
            return all(word in self._roots for word in own if word[0].isdigit())
        if value.lower() in ("yes", "no", "none", "not"):
            return any(map(self.name, re.findall(r"[a-z]{3,}", field.lower())))
        telling = [word for word in own if len(word) > 2 and word not in _NO_CONTENT] or own
        found = [word in self._roots for word in telling]
        return bool(found) and (all(found) if "_" in value or "by" in own else any(found))

    def name_all(self, value: str, field: str = "") -> bool:
        """Tell whether all words of a value are named."""
        return all(self.name(word, field) for word in re.findall(r"\w{3,}", value))

    def say(self, *patterns: str) -> bool:
        """Tell whether one of these patterns is in the text."""
        return any(re.search(rf"\b(?:{pattern})", self.text) for pattern in patterns)


def _root(word: str) -> str:
    return word[:_ROOT]


def texts_in(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the texts among arguments, with their places."""
    match value:
        case str():
            yield path, value
        case dict():
            for name, each in value.items():
                yield from texts_in(each, (*path, name))
        case list():
            for number, each in enumerate(value):
                yield from texts_in(each, (*path, number))


def replace_part(value: Any, path: Path, new: object) -> Any:
    """Return a value with another part in one place."""
    if not path:
        return new
    key, *rest = path
    if isinstance(key, str):
        return {**value, key: replace_part(value[key], tuple(rest), new)}
    return [*value[:key], replace_part(value[key], tuple(rest), new), *value[key + 1 :]]


def owner_of(record: object, tables: Mapping[str, Mapping[str, object]]) -> str | None:
    """Return the id of the record of another table to which a record belongs."""
    if not isinstance(record, dict):
        return None
    for name, value in record.items():
        if name.endswith("_id") and isinstance(value, str):
            for table in tables.values():
                if value in table and table[value] is not record:
                    return value
    return None


def parts_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the records in a value, itself included."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from parts_of(each)


def flat_texts(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a record by their fields, with those of the records right in it."""
    inner = [each for each in record.values() if isinstance(each, dict)]
    return {
        name: value
        for each in (*inner, record)
        for name, value in each.items()
        if isinstance(value, str)
    }


def is_number(value: object) -> bool:
    """Tell whether a value is a number; truth is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
