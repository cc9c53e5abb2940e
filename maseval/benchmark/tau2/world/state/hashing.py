"""The hash of a database: SHA-256 over its sorted JSON, taken up before the first change.

A database has megabytes and a simulation changes a few records. So a table is kept as bytes, and
divided into pieces, with the state of the hash before each of them: what comes before the first
change is not read again, and of what comes after it only the changed pieces are written anew.

The text that enters a hash takes longer to make than many a conversation takes to replay. So two
values are compared as they enter a hash without writing either of them down where that can be.
"""

import datetime as dt
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any
from weakref import WeakKeyDictionary

from maseval.benchmark.tau2.world.state.records import (
    FrozenList,
    Record,
    SharedDict,
    SharedTable,
    Table,
    TableState,
    canonical_record,
    entry_text,
)

# What is shared enters a hash as what it was made of.
_MADE_OF: Mapping[type[Any], type[Any]] = {FrozenList: list, SharedDict: dict}


def same_text(one: Any, other: Any) -> bool | None:
    """Return True if two values enter a hash as the same text; None if only the texts can tell."""
    if one is other:
        return True
    kind, theirs = type(one), type(other)
    if kind is not theirs:
        kind = _MADE_OF.get(kind, kind)
        if kind is not _MADE_OF.get(theirs, theirs):
            return None
    return (_ways_to_compare.get(kind) or _way_to_compare(kind))(one, other)


def _way_to_compare(kind: type[Any]) -> "Comparison":
    way: Comparison = _cannot_tell
    if issubclass(kind, Enum):
        way = operator.is_  # members are one of a kind
    elif issubclass(kind, Record) and _writes_its_fields(kind):
        way = _same_records
    elif issubclass(kind, Table):
        way = _same_tables
    _ways_to_compare[kind] = way
    return way


def _cannot_tell(one: object, other: object) -> None:
    return None


def _same_digits(one: float, other: float) -> bool:
    return repr(one) == repr(other)  # which tells 0.0 from -0.0, and finds NaN equal


def _same_items(one: list[Any], other: list[Any]) -> bool | None:
    if len(one) != len(other):
        return False
    found: bool | None = True
    for mine, theirs in zip(one, other, strict=True):
        if mine is not theirs:  # most are one: copies share what cannot change
            same = same_text(mine, theirs)
            if same is False:
                return False
            found = found and same
    return found


def _same_records(one: Record, other: Record) -> bool | None:
    return same_fields(one.__dict__, other.__dict__)


def _same_tables(one: Table[Any], other: Table[Any]) -> bool:
    """Compare the records that either side has touched; texts are made only where they decide."""
    if type(one) is not Table or one.shared is not other.shared:
        return bool(one.state() == other.state())
    for key in one.touched | other.touched:
        mine, theirs = one.find(key), other.find(key)
        if mine is None or theirs is None:
            if mine is not theirs:
                return False
            continue
        same = same_text(mine, theirs)
        if same is None:
            same = canonical_record(mine) == canonical_record(theirs)
        if not same:
            return False
    return True


def same_fields(one: dict[Any, Any], other: dict[Any, Any]) -> bool | None:
    """Return True if two mappings enter a hash as the same text; None if only texts can tell."""
    if one.keys() != other.keys():
        return None
    found: bool | None = True
    for key, mine in one.items():
        theirs = other[key]
        if mine is not theirs:
            same = same_text(mine, theirs)
            if same is False:
                return False
            found = found and same
    return found


Comparison = Callable[[Any, Any], bool | None]

_ways_to_compare: dict[type[Any], Comparison] = {
    **dict.fromkeys((str, int, bool, dt.date), operator.eq),
    **dict.fromkeys((list, FrozenList), _same_items),
    **dict.fromkeys((dict, SharedDict), same_fields),
    float: _same_digits,
}


@cache
def _writes_its_fields(kind: type[Record]) -> bool:
    """Return True if a record is written field by field: nothing added, left out or changed."""
    decorators = kind.__pydantic_decorators__
    ways = (
        *(decorators.field_serializers, decorators.model_serializers),
        decorators.computed_fields,
    )
    fields = kind.model_fields.values()
    return not any(ways) and not any(field.exclude for field in fields)


DBState = dict[str, str | TableState]

_RECORDS_IN_A_PIECE = 32
_KEPT = 1024
_SEPARATOR = b", "


def state_hash(state: DBState) -> str:
    """Return the hash of the database that was in this state."""
    hasher, unchanged = sha256(b"{"), True
    for number, (name, part) in enumerate(sorted(state.items())):
        hasher.update(f'{", " if number else ""}"{name}": '.encode())
        if type(part) is TableState:
            pieces = _pieces_of(part.shared)
            hasher = pieces.take_in(hasher, part.changes, unchanged)
            unchanged = unchanged and not part.changes
        else:
            hasher.update(str(part).encode())
            unchanged = False
    hasher.update(b"}")
    return hasher.hexdigest()


class _Pieces:
    """A table as loaded, a few records a piece, in the order of the hash."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        keys = list(entries)
        starts = range(0, max(1, len(keys)), _RECORDS_IN_A_PIECE)
        self._entries = [
            {key: entries[key] for key in keys[start : start + _RECORDS_IN_A_PIECE]}
            for start in starts
        ]
        self._first_keys = [next(iter(each), "") for each in self._entries]
        pieces = [_join(each) for each in self._entries]
        # Views, as to copy megabytes takes longer than to hash them. A piece begins with what
        # separates it from the one before.
        self._text = memoryview(_SEPARATOR.join(pieces))
        lengths = (len(_SEPARATOR) + len(piece) for piece in pieces[1:])
        self._bounds = [0, *accumulate(lengths, initial=len(pieces[0]))]
        self._before: dict[bytes, list[Any]] = {}
        self._after: dict[tuple[object, ...], Any] = {}

    def take_in(self, hasher: Any, changes: Mapping[str, str | None], unchanged: bool) -> Any:
        """Return the hash after this table with ``changes``; nothing before it is ``unchanged``.

        Trials that do the same end in the same state, whose hash is found once.
        """
        key = hasher.digest(), *changes.items()
        known = self._after.get(key)
        if known is None:
            if len(self._after) >= _KEPT:
                self._after = {}
            known = self._after[key] = self._take_in(hasher, changes, unchanged)
        return known.copy()

    def _take_in(self, hasher: Any, changes: Mapping[str, str | None], unchanged: bool) -> Any:
        renewed = self._renew(changes)
        first = min(renewed, default=len(self._entries)) if unchanged else 0
        if unchanged:
            hasher = self._states(hasher)[first].copy()
        else:
            hasher.update(b"{")
        for part in self._parts_from(first, renewed):
            hasher.update(part)
        hasher.update(b"}")
        return hasher

    def _parts_from(self, first: int, renewed: Mapping[int, bytes]) -> Iterator[bytes | memoryview]:
        """Yield the text from a piece on, in few parts, with the renewed pieces in it."""
        place, begun = self._bounds[first], first > 0
        for at in (*sorted(renewed), len(self._entries)):
            if place < (end := self._bounds[at]):
                # What would separate it is left out if all before it was removed.
                yield self._text[place if begun or not place else place + len(_SEPARATOR) : end]
                begun = True
            if piece := renewed.get(at):
                yield _SEPARATOR + piece if begun else piece
                begun = True
            place = self._bounds[min(at + 1, len(self._entries))]

    def _renew(self, changes: Mapping[str, str | None]) -> dict[int, bytes]:
        """Return the pieces that ``changes`` fall into as they are then, by number."""
        changed: dict[int, dict[str, str]] = {}
        for key, fragment in changes.items():
            at = max(0, bisect_right(self._first_keys, key) - 1)
            entries = changed.setdefault(at, dict(self._entries[at]))
            if fragment is None:
                del entries[key]
            else:
                entries[key] = entry_text(key, fragment)
        return {at: _join(dict(sorted(entries.items()))) for at, entries in changed.items()}

    def _states(self, hasher: Any) -> list[Any]:
        """Return the hash before each piece and after the last, for what was hashed before it."""
        known = self._before.get(hasher.digest())
        if known is None:
            state = hasher.copy()
            state.update(b"{")
            known = [state]
            for start, end in pairwise(self._bounds):
                state = state.copy()
                state.update(self._text[start:end])
                known.append(state)
            self._before[hasher.digest()] = known
        return known


def _join(entries: Mapping[str, str]) -> bytes:
    return ", ".join(entries.values()).encode()


_known_pieces: WeakKeyDictionary[SharedTable[Any], _Pieces] = WeakKeyDictionary()


def _pieces_of(table: SharedTable[Any]) -> _Pieces:
    pieces = _known_pieces.get(table)
    if pieces is None:
        pieces = _known_pieces[table] = _Pieces(table.entries())
    return pieces
