"""The base of every domain: a database that can be hashed, and a kit of tools over it.

After tau2-bench v0.2.0, src/tau2/environment/toolkit.py (MIT, Sierra Research).
"""

import copy
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict

from maseval.benchmark.tau2.data.files import read_mapping
from maseval.benchmark.tau2.world.state.copying import (
    SHARED_ROWS,
    Memo,
    copy_value,
    once,
    own,
    with_fields,
)
from maseval.benchmark.tau2.world.state.hashing import DBState, same_fields, state_hash
from maseval.benchmark.tau2.world.state.records import (
    SharedTable,
    Table,
    canonical_json,
    canonical_rows,
    is_shared,
    share,
)
from maseval.core.tool import inline_references, tool_definition
from maseval.data.folder import content_hash

# Named once: a type that is written out in a ``cast`` is made anew by every call.
Method = Callable[..., Any]

ToolFunction = TypeVar("ToolFunction", bound=Callable[..., Any])


class ToolType(StrEnum):
    """The effect of a tool on the world."""

    READ = "read"
    WRITE = "write"
    THINK = "think"
    GENERIC = "generic"


def is_tool(
    tool_type: ToolType = ToolType.READ,
    *,
    after: str | None = None,
    mutates: bool | None = None,
    discoverable: bool = False,
) -> Callable[[ToolFunction], ToolFunction]:
    """Offer a toolkit's method to a model, as a tool of the given type.

    Tools are listed in order of definition, those of base classes first; ``after`` puts one right
    behind another. ``mutates`` says whether replay must make its calls again: by default those of
    tools that write. A ``discoverable`` tool can be called but is not offered.
    """

    def mark(function: ToolFunction) -> ToolFunction:
        # The function is marked and not wrapped, because its signature and docstring describe the
        # tool.
        vars(function).update(
            __tau2_tool__=True,
            __tau2_tool_type__=tool_type,
            __tau2_after__=after,
            __tau2_mutates__=tool_type is ToolType.WRITE if mutates is None else mutates,
            __tau2_discoverable__=discoverable,
        )
        return function

    return mark


def for_tasks(function: ToolFunction) -> ToolFunction:
    """Let task files call a toolkit's method, to set the stage or to check the outcome."""
    vars(function)["__tau2_for_tasks__"] = True
    return function


def for_checks(function: ToolFunction) -> ToolFunction:
    """Let task files call a method that looks at the outcome, and changes nothing."""
    vars(function)["__tau2_for_checks__"] = True
    return for_tasks(function)


class DB(BaseModel):
    """A domain's database. Its tables are shared until touched; its hash is v0.2.0's."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A database of its own over the file's content, which is parsed once per process."""
        return cls.model_validate(_start(cls, Path(path), content_hash(str(path)))())

    def get_hash(self) -> str:
        """SHA-256 over the sorted JSON of the whole database."""
        return state_hash(self.state())

    def state(self) -> DBState:
        """All that the hash depends on, by field; of large tables only what was touched."""
        rows, values = shared_rows(type(self)), self.__dict__
        parts: DBState = {name: canonical_rows(values[name]) for name in rows}
        parts |= {name: part.state() for name, part in values.items() if isinstance(part, Table)}
        rest = [name for name in type(self).model_fields if name not in parts]
        # Tools store some values unchecked; these enter the hash as they are, without a warning.
        dump = self.model_dump(include=set(rest), warnings=False) if rest else {}
        parts |= {name: canonical_json(dump[name]) for name in rest}
        return {name: parts[name] for name in type(self).model_fields}

    def share_rows(self) -> Self:
        """Share the records of its lists with all environments; none of them changes any more."""
        for name in shared_rows(type(self)):
            for record in getattr(self, name):
                if not is_shared(record):
                    share(record)
        return self

    def own_rows(self) -> Self:
        """Make the records of its lists its own: whoever holds one then sees what tools change."""
        for name in shared_rows(type(self)):
            rows = getattr(self, name)
            # The loop needs a copy, because ``own`` replaces records in the list.
            for record in list(rows):
                own(rows, record)
        return self

    def same_state(self, other: "DB") -> bool:
        """Return True if both would give the same hash; looks only at what was touched."""
        if type(self) is not type(other):
            return False
        same = same_fields(self.__dict__, other.__dict__)
        return self.state() == other.state() if same is None else same

    def get_statistics(self) -> dict[str, int]:
        """Count what is in it."""
        return {}

    def twin(self, memo: Memo) -> Self:
        """An independent database in the same state; what is shared stays so."""
        for name in shared_rows(type(self)):
            # A list that is shared as a whole is copied without its records.
            rows = getattr(self, name)  # one that was changed is this database's own
            whole = all(map(is_shared, rows))
            memo[id(rows)] = rows.copy() if whole else [copy_value(row, memo) for row in rows]
        return with_fields(self, copy_value, memo)

    def copy_deep(self) -> Self:
        return type(self).model_validate(self.model_dump(warnings=False))


del DB.model_config["defer_build"]  # as of Record


@once(maxsize=32)
def _start(cls: type[DB], path: Path, sha256: str) -> Callable[[], dict[str, Any]]:
    raw = read_mapping(path, sha256)
    shared = {
        name: SharedTable(get_args(field.annotation)[0], raw[name])
        for name, field in cls.model_fields.items()
        if getattr(field.annotation, "__origin__", None) is Table
        and isinstance(raw.get(name), dict)
    }
    if rows := shared_rows(cls):
        loaded = cls.model_validate(raw).share_rows()
        raw |= {name: getattr(loaded, name) for name in rows}
    return lambda: {**raw, **{name: Table(table) for name, table in shared.items()}}


@cache
def shared_rows(cls: type[DB]) -> frozenset[str]:
    """The names of the lists whose records are shared; see ``Rows``."""
    fields = cls.model_fields.items()
    return frozenset(name for name, field in fields if SHARED_ROWS in field.metadata)


def merge(base: object, update: object) -> object:
    """``base`` with ``update`` laid over it: mappings key by key, everything else replaced."""
    if not (isinstance(base, Mapping) and isinstance(update, Mapping)):
        return update
    return {**base, **{key: merge(base.get(key), value) for key, value in update.items()}}


# The order of the tools is part of every request to a model.
def _insert_tool(
    tools: Mapping[str, ToolType], tool: Mapping[str, ToolType], after: str | None
) -> dict[str, ToolType]:
    names = list(tools)
    behind = len(names) if after is None else names.index(after) + 1
    items = list(tools.items())
    return dict([*items[:behind], *tool.items(), *items[behind:]])


DBT = TypeVar("DBT", bound=DB)


class ToolKitBase(Generic[DBT]):
    """The tools over a database: methods marked with ``is_tool``, in order of definition."""

    db: DBT
    _tool_types: ClassVar[dict[str, ToolType]] = {}
    _discoverable: ClassVar[dict[str, ToolType]] = {}
    _mutating: ClassVar[frozenset[str]] = frozenset()
    _for_tasks: ClassVar[frozenset[str]] = frozenset()
    _called: ClassVar[str]
    is_predictable: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, called: str | None = None, predictable: bool = False, **kwargs: Any
    ) -> None:
        """Collect the tools; ``called`` is the class's name in errors, which a model reads.

        Of ``predictable`` tools, answer and effect of a call depend on nothing but the databases
        and the calls before it, and tools that do not mutate have no effect. No class inherits it.
        """
        super().__init_subclass__(**kwargs)
        cls._called = called or cls.__name__
        cls.is_predictable = predictable
        kits = [base for base in cls.__bases__ if issubclass(base, ToolKitBase)]
        cls._tool_types = {n: kind for kit in kits for n, kind in kit._tool_types.items()}
        cls._discoverable = {n: kind for kit in kits for n, kind in kit._discoverable.items()}
        cls._mutating = frozenset().union(*(kit._mutating for kit in kits))
        methods = {name: value for name, value in vars(cls).items() if callable(value)}
        for name, method in methods.items():
            if hasattr(method, "__tau2_tool__"):
                cls._add_tool(name, method)
                # Python puts the qualified name into errors about arguments, which a model reads.
                if called:
                    method.__qualname__ = f"{called}.{name}"
        for_tasks = {n for n, method in methods.items() if hasattr(method, "__tau2_for_tasks__")}
        cls._for_tasks = frozenset(for_tasks).union(*(kit._for_tasks for kit in kits))

    @classmethod
    def _add_tool(cls, name: str, method: Any) -> None:
        tool = {name: method.__tau2_tool_type__}
        if method.__tau2_discoverable__:
            cls._discoverable |= tool
        else:
            cls._tool_types = _insert_tool(cls._tool_types, tool, method.__tau2_after__)
        own = {name} if method.__tau2_mutates__ else set()
        # An overriding method decides anew, so the base's mark must go.
        cls._mutating = (cls._mutating - {name}) | own

    def __init__(self, db: DBT | None = None) -> None:
        if db is None:
            raise ValueError(
                f"Database has not been initialized: make it first, {type(self).__name__}(db)"
            )
        self.db = db

    @property
    def tools(self) -> dict[str, Callable[..., Any]]:
        return {name: getattr(self, name) for name in self._tool_types}

    @classmethod
    def has_tool(cls, tool_name: str) -> bool:
        """Return True if a model may call this name, be it offered or not."""
        return tool_name in cls._tool_types or tool_name in cls._discoverable

    @classmethod
    def all_tools(cls) -> dict[str, ToolType]:
        return cls._tool_types | cls._discoverable

    @classmethod
    def tool_type(cls, tool_name: str) -> ToolType:
        """Return the effect of a tool on the world."""
        return cls._tool_types.get(tool_name) or cls._discoverable[tool_name]

    @classmethod
    def mutates(cls, tool_name: str) -> bool:
        """Return True if the tool may change what later calls find."""
        return tool_name in cls._mutating

    @classmethod
    def discoverable_tools(cls) -> Mapping[str, ToolType]:
        return cls._discoverable

    def use_tool(self, tool_name: str, **kwargs: Any) -> Any:
        """Call a tool by name, with the arguments as they come."""
        return self.find_tool(tool_name)(**kwargs)

    def find_tool(self, tool_name: str) -> Callable[..., Any]:
        if tool_name not in self._tool_types and tool_name not in self._discoverable:
            raise ValueError(f"Tool '{tool_name}' not found.")
        tool: Method = getattr(self, tool_name)
        return tool

    def task_function(self, name: str) -> Callable[..., Any]:
        """A function that a task file may call: any tool, and those marked ``for_tasks``."""
        if not self.has_tool(name) and name not in self._for_tasks:
            # The original looks methods up by name, so its error is Python's own.
            raise AttributeError(f"{self._called!r} object has no attribute {name!r}")
        return cast(Method, getattr(self, name))

    @classmethod
    def is_for_checks(cls, name: str) -> bool:
        """Return True if a function for task files changes nothing."""
        return hasattr(getattr(cls, name), "__tau2_for_checks__")

    def update_db(self, update_data: Mapping[str, Any] | None = None) -> None:
        """Lay values over the database, and validate the result as a new one."""
        if update_data:
            # The values belong to the task, and must not change together with the database.
            updated = merge(self.db.model_dump(warnings=False), copy.deepcopy(update_data))
            self.db = type(self.db).model_validate(updated)

    def twin(self, memo: Memo) -> Self:
        """The same tools over an equal database of their own."""
        # The constructor is bypassed, because a twin keeps what its original has counted and
        # unlocked.
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        # The other side's database may point at this one and have been copied with it already.
        if id(self.db) not in memo:
            memo[id(self.db)] = self.db.twin(memo)
        vars(twin).update({name: copy_value(value, memo) for name, value in vars(self).items()})
        return twin

    def find_files(self, folder: Path) -> None:
        """Be told where the domain's files are, for tools that read more than the database."""

    def note_reads(self, tool_names: Collection[str]) -> None:
        """Be told which tools a task's reference solution finds and calls, though they only read.

        Whether they were called is part of the end state where a domain keeps a log of that.
        """

    def as_reference(self) -> bool:
        """Serve a reference solution: ids made up here must not equal those of a conversation.

        The original draws such ids at random, so that no two worlds ever agree on one. Returns
        False if it is too late: some were made up before.
        """
        return True

    def get_db_hash(self) -> str:
        return self.db.get_hash()

    @classmethod
    def get_statistics(cls) -> dict[str, int]:
        """Count the tools, by type."""
        types = list(cls.all_tools().values())
        by_type = {f"num_{kind}_tools": types.count(kind) for kind in ToolType}
        return {"num_tools": len(types), **by_type}

    @classmethod
    @cache
    def definitions(cls) -> tuple[dict[str, Any], ...]:
        """The tools as function schemas, in the order in which a model is shown them."""
        return tuple(tool_definition(getattr(cls, name)) for name in cls._tool_types)

    @classmethod
    def get_tool_descriptions(cls) -> dict[str, str]:
        """Return the purpose of each tool, by name."""
        functions = (definition["function"] for definition in cls.definitions())
        return {function["name"]: function["description"] for function in functions}

    @classmethod
    def get_tool_metadata(cls, tool_name: str) -> dict[str, Any]:
        """Return a tool's description, its type, and its inputs as JSON schemas.

        Each schema stands alone: without references, titles and defaults, and with ``nullable``
        where None may be given.
        """
        if tool_name not in cls._tool_types:
            raise ValueError(f"Tool '{tool_name}' not found.")
        function = next(
            definition["function"]
            for definition in cls.definitions()
            if definition["function"]["name"] == tool_name
        )
        return {
            "description": function["description"],
            "inputs": {
                name: _stand_alone(schema)
                for name, schema in inline_references(function["parameters"])["properties"].items()
            },
            "tool_type": cls.tool_type(tool_name).value,
        }


def _stand_alone(schema: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key not in _OF_A_WHOLE}
    forms = [each for each in kept.get("anyOf", ()) if each.get("type") != "null"]
    if len(forms) == 1 and len(kept["anyOf"]) > 1:
        kept = {**forms[0], **{k: v for k, v in kept.items() if k != "anyOf"}, "nullable": True}
    for key in ("items", "anyOf", "properties"):
        match kept.get(key):
            case list(several):
                kept[key] = [_stand_alone(each) for each in several]
            case dict(named) if key == "properties":
                kept[key] = {name: _stand_alone(each) for name, each in named.items()}
            case dict(one):
                kept[key] = _stand_alone(one)
    # A form taken out of ``anyOf`` brings its own title along.
    return {key: value for key, value in kept.items() if key not in _OF_A_WHOLE}


_OF_A_WHOLE = ("title", "default", "additionalProperties")
