"""Records and tables: one shared copy of a database, private copies of what a simulation touches.

Airline's database has 2,800 records and takes as long to parse as a hundred tool calls. So it is
loaded once, and an environment holds only the records it took into its hands. What is shared
refuses every write, loudly: a wrongly written tool fails in its test instead of leaking into
another simulation.

After tau2-bench v0.2.0, src/tau2/environment/db.py (MIT, Sierra Research).
"""

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema

from maseval.core.exceptions import MASEvalError

RawRecord = dict[str, Any]


class SharedRecordError(MASEvalError, TypeError):
    """A tool tried to change a record that all environments share."""


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise SharedRecordError(
        "this record is shared by all environments; take a private one with table[key] to change it"
    )


class FrozenList(list[Any]):
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(item, memo) for item in self]


class SharedDict(dict[Any, Any]):
    clear = pop = popitem = setdefault = update = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}


class _SharedFields(set[str]):
    """The names of a shared record's fields that were given; marks it as shared.

    Every record has such a set, so it can be looked at without asking for what is not there.
    """

    def __copy__(self) -> set[str]:
        return set(self)


# Names the fields of a record that were given. The set itself is never changed: copies share it.
_give = vars(BaseModel)["__pydantic_fields_set__"].__set__


class Record(BaseModel):
    """Base of all records of a database. Assignment is not validated, as in the original."""

    model_config = ConfigDict(defer_build=True)
    # A slot and not a private attribute: pydantic would make a dict for those in every record.
    __slots__ = ("_canonical", "_text")
    _canonical: ClassVar[str]
    _text: ClassVar[str]

    def __setattr__(self, name: str, value: object) -> None:
        given, values = self.__pydantic_fields_set__, self.__dict__
        if type(given) is _SharedFields:
            _refuse(self)
        if name in values:  # what pydantic does in the end, in a third of its time
            values[name] = value
            if name not in given:
                _give(self, given | {name})
        else:
            _give(self, set(given))  # to which pydantic may add
            super().__setattr__(name, value)

    def put(self, **values: object) -> None:
        """Set several fields at once, in the time that one takes."""
        given = self.__pydantic_fields_set__
        if type(given) is _SharedFields:
            _refuse(self)
        self.__dict__.update(values)
        if not given.issuperset(values):
            _give(self, given.union(values))

    def __delattr__(self, name: str) -> None:
        if is_shared(self):
            _refuse(self)
        super().__delattr__(name)


# Nothing is a mere record, so that nothing validates one; its kinds are built when they are made.
del Record.model_config["defer_build"]

# The slots' own getters: asked in the usual way for one that is not set, pydantic takes long to
# find out that there is no such attribute.
_text_of = vars(Record)["_text"].__get__
_canonical_of = vars(Record)["_canonical"].__get__


def is_shared(record: Record) -> bool:
    """Return True if a record belongs to all environments and so refuses to be changed."""
    return type(record.__pydantic_fields_set__) is _SharedFields


def record_text(record: Record) -> str:
    """A record as a model reads it; that of a shared one is made only once."""
    if type(record.__pydantic_fields_set__) is not _SharedFields:
        return _record_text(record)
    try:
        known: str = _text_of(record)
        return known
    except AttributeError:
        text = _record_text(record)
        object.__setattr__(record, "_text", text)
        return text


def _record_text(record: Record) -> str:
    # Tools may store values of any type, so a mismatch with the declared one is no news.
    return _encode(record.model_dump(warnings=False))


_encode = json.JSONEncoder(default=str).encode

RecordT = TypeVar("RecordT", bound=Record)


def share(record: RecordT) -> RecordT:
    """Make a record, and all that is in it, refuse writes."""
    values = record.__dict__
    for name, value in values.items():
        values[name] = freeze(value)
    given = _SharedFields(record.__pydantic_fields_set__)
    object.__setattr__(record, "__pydantic_fields_set__", given)
    return record


def freeze(value: Any) -> Any:
    """The same value, made so that it refuses writes."""
    match value:
        case Record():
            return share(value)
        case list():
            return FrozenList(freeze(item) for item in value)
        case dict():
            return SharedDict((key, freeze(item)) for key, item in value.items())
        case _:
            return value


def canonical_json(value: object) -> str:
    """The text that enters a database hash: a dump with sorted keys, Python's JSON defaults."""
    return _canonical(value)


_canonical = json.JSONEncoder(sort_keys=True, default=str).encode


def hash_json(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def canonical_record(record: Record) -> str:
    """A record as it enters a hash; that of a shared one is made only once."""
    if not is_shared(record):
        return canonical_json(record.model_dump(warnings=False))
    try:
        return str(_canonical_of(record))
    except AttributeError:
        text = canonical_json(record.model_dump(warnings=False))
        object.__setattr__(record, "_canonical", text)
        return text


def canonical_rows(records: list[RecordT]) -> str:
    """A list of records as it enters a hash."""
    try:
        texts = list(map(_canonical_of, records))  # all known already, for most lists
    except AttributeError:
        texts = list(map(canonical_record, records))
    return f"[{', '.join(texts)}]"


class SharedTable(Generic[RecordT]):
    """The records of one table as loaded, and what is made of each at most once."""

    def __init__(self, record_type: type[RecordT], raw: Mapping[str, RawRecord]) -> None:
        self.record_type = record_type
        self.raw = raw
        self._records: dict[str, RecordT] = {}
        self._all: dict[str, RecordT] | None = None
        self._fragments: dict[str, str] = {}
        self._entries: dict[str, str] | None = None
        self._text: str | None = None

    def private(self, key: str) -> RecordT:
        """A fresh copy; validating the raw form is five times faster than copying a model."""
        return self.record_type.model_validate(self.raw[key])

    def record(self, key: str) -> RecordT:
        """The one shared, unchangeable copy."""
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = share(self.private(key))
        return record

    def records(self) -> Mapping[str, RecordT]:
        """All shared copies, in the order of the file."""
        if self._all is None:
            self._all = {key: self.record(key) for key in self.raw}
        return self._all

    def canonical(self, record: RecordT) -> str:
        """A record of this table as it enters a hash."""
        return canonical_record(record)

    def fragment(self, key: str) -> str:
        fragment = self._fragments.get(key)
        if fragment is None:
            record = self._records.get(key) or self.private(key)
            fragment = self._fragments[key] = self.canonical(record)
        return fragment

    def entries(self) -> dict[str, str]:
        """``"key": record`` for every record, in the order of the hash."""
        if self._entries is None:
            self._entries = {key: entry_text(key, self.fragment(key)) for key in sorted(self.raw)}
        return self._entries

    def text(self) -> str:
        if self._text is None:
            self._text = _join_braced(self.entries().values())
        return self._text


class Table(MutableMapping[str, RecordT]):
    """One environment's table: its records are private to it, ``view`` and ``views`` are shared.

    Like any mapping it always hands out the same object for a key, which sees all changes. To read
    records without a copy, as those who look through a whole table do, there are ``view(key)``,
    ``views`` and ``entries``: what they return may be replaced as soon as a record is changed.
    """

    __slots__ = ("_own", "_removed", "_shared")

    def __init__(self, shared: SharedTable[RecordT]) -> None:
        self._shared = shared
        self._own: dict[str, RecordT] = {}
        self._removed: set[str] = set()

    @property
    def shared(self) -> SharedTable[RecordT]:
        """The table as loaded, below this environment's changes."""
        return self._shared

    @property
    def own(self) -> dict[str, RecordT]:
        """The records that are this environment's alone, by key."""
        return self._own

    @property
    def touched(self) -> set[str]:
        """The keys of the records that may differ from the shared ones."""
        return self._own.keys() | self._removed

    def with_own(self, own: dict[str, RecordT]) -> "Table[RecordT]":
        """The same table for another environment, which has these records of its own."""
        table = Table(self._shared)
        table._own, table._removed = own, set(self._removed)
        return table

    def _is_shared(self, key: object) -> bool:
        return key in self._shared.raw and key not in self._removed

    def __getitem__(self, key: str) -> RecordT:
        own = self._own.get(key)
        if own is None:
            if not self._is_shared(key):
                raise KeyError(key)
            own = self._own[key] = self._shared.private(key)
        return own

    def view(self, key: str) -> RecordT:
        """The record for reading only."""
        record = self.find(key)
        if record is None:
            raise KeyError(key)
        return record

    def find(self, key: str) -> RecordT | None:
        """The record for reading only; None if there is none."""
        own = self._own.get(key)
        return self._shared.record(key) if own is None and self._is_shared(key) else own

    def __setitem__(self, key: str, record: RecordT) -> None:
        self._own[key] = record

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._own.pop(key, None)
        if key in self._shared.raw:
            self._removed.add(key)

    def __contains__(self, key: object) -> bool:
        return key in self._own or self._is_shared(key)

    def __iter__(self) -> Iterator[str]:
        raw, gone = self._shared.raw, self._removed - self._own.keys()
        yield from (key for key in raw if key not in gone) if gone else raw
        yield from self.added_keys()

    def __len__(self) -> int:
        removed = sum(key not in self._own for key in self._removed)
        return len(self._shared.raw) + len(self.added_keys()) - removed

    def added_keys(self) -> list[str]:
        """The keys that the loaded table does not have."""
        return [key for key in self._own if key not in self._shared.raw]

    def views(self) -> Iterator[RecordT]:
        """Every record, for reading only."""
        if not self._own and not self._removed:
            return iter(self._shared.records().values())
        return (record for _, record in self.entries())

    def entries(self) -> Iterator[tuple[str, RecordT]]:
        """Every key and record, for reading only."""
        shared, own, removed = self._shared.records(), self._own, self._removed
        for key, record in shared.items():
            if key in own:
                yield key, own[key]
            elif key not in removed:
                yield key, record
        for key, record in own.items():
            if key not in shared:
                yield key, record

    def count_in(self, field: str) -> int:
        """Add up how much a field of every record holds; no shared record is made for it."""
        raw, own = self._shared.raw, self._own
        return sum(len(getattr(own[key], field) if key in own else raw[key][field]) for key in self)

    def changes(self) -> dict[str, str | None]:
        """The records that differ from the shared ones, in hashed form; None where removed."""
        changed: dict[str, str | None] = {
            key: None for key in self._removed if key not in self._own
        }
        for key, record in self._own.items():
            fragment = self._shared.canonical(record)
            if key not in self._shared.raw or fragment != self._shared.fragment(key):
                changed[key] = fragment
        return changed

    def state(self) -> "TableState":
        """Return its present content, to be kept and compared."""
        return TableState(self._shared, self.changes())

    @classmethod
    def of(cls, record_type: type[RecordT], records: Mapping[str, RecordT]) -> Self:
        """A table of its own, with these records in it."""
        table = cls(SharedTable(record_type, {}))
        table.update(records)
        return table

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        (record_type,) = get_args(source)

        def to_table(value: object, validate: ValidatorFunctionWrapHandler) -> Table[Any]:
            return value if isinstance(value, Table) else cls.of(record_type, validate(value))

        return core_schema.no_info_wrap_validator_function(
            to_table,
            handler(dict[str, record_type]),  # type: ignore[valid-type]
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda table: {
                    key: record.model_dump(warnings=False) for key, record in table.entries()
                }
            ),
        )


class TableState:
    """A table at one moment: equal to another if both would enter a hash as the same text."""

    __slots__ = ("changes", "shared")

    def __init__(self, shared: SharedTable[Any], changes: Mapping[str, str | None]) -> None:
        self.shared = shared
        self.changes = changes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableState):
            return NotImplemented
        if self.shared is other.shared:
            return self.changes == other.changes
        return str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # it is compared, not looked up

    def __str__(self) -> str:
        """The whole table as it enters the hash."""
        if not self.changes:
            return self.shared.text()
        entries = dict(self.shared.entries())
        for key, fragment in self.changes.items():
            if fragment is None:
                del entries[key]
            else:
                entries[key] = entry_text(key, fragment)
        if self.changes.keys() - self.shared.raw.keys():
            entries = dict(sorted(entries.items()))
        return _join_braced(entries.values())


def entry_text(key: str, fragment: str) -> str:
    """Return a record as it stands in its table's text."""
    return f"{json.dumps(key)}: {fragment}"


def _join_braced(entries: Any) -> str:
    return "{" + ", ".join(entries) + "}"
