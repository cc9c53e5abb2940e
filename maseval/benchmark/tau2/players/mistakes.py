"""The believable mistakes of a hurried agent: an action left out, or made with a wrong argument."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.domains.base import DB, ToolKitBase
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.world.tasks import Action

Arguments = dict[str, Any]


class Mistakes:
    """Decides what goes wrong; the same for equal random numbers.

    Each action goes wrong with probability ``rate``: it is left out, or made with a wrong argument.
    """

    def __init__(self, environment: Tau2Environment, rate: float, random: Random) -> None:
        self._environment = environment
        self._rate = rate
        self._random = random

    def goes_wrong(self) -> bool:
        """Return True if the next action, or the next thing to say, goes wrong."""
        return self._random.random() < self._rate

    def apply_to(self, actions: Sequence[Action]) -> list[Action]:
        """Return the actions as they are really taken."""
        taken = []
        for action in actions:
            wrong = self._alter(action) if self.goes_wrong() else action
            if wrong is not None:
                taken.append(wrong)
        return taken

    def _alter(self, action: Action) -> Action | None:
        """Return the action with one argument wrong; None, to leave it out, half of the time."""
        alternatives = list(self._alternatives(action))
        if not alternatives or self._random.random() < 0.5:
            return None
        return action.model_copy(update={"arguments": self._random.choice(alternatives)()})

    def _alternatives(self, action: Action) -> Iterator[Callable[[], Arguments]]:
        environment = self._environment
        toolkit = environment.user_toolkit if action.requestor == "user" else environment.toolkit
        parameters = _parameters(toolkit, action.name)
        for name, value in action.arguments.items():
            if name not in parameters.get("required", parameters.get("properties", {})):
                kept = {key: each for key, each in action.arguments.items() if key != name}
                yield lambda kept=kept: kept  # type: ignore[misc]
            choices = self._choices(toolkit, parameters, name, value)
            if choices or _alterable(value):
                yield lambda name=name, value=value, choices=choices: {  # type: ignore[misc]
                    **action.arguments,
                    name: self._random.choice(choices) if choices else self._wrong(value),
                }

    def _choices(
        self,
        toolkit: ToolKitBase[Any] | None,
        parameters: Mapping[str, object],
        name: str,
        value: object,
    ) -> list[object]:
        """Return other values: another of the tool's options, another known id."""
        options = _options(parameters, name)
        if not options and toolkit is not None and isinstance(value, str):
            options = _ids_like(toolkit.db, value)
        return [option for option in options if option != value]

    def _wrong(self, value: object) -> object:
        match value:
            case bool():
                return not value
            case int() | float():
                return value + self._random.choice((1, 2, 5))
            case str():
                return self._mistype(value)
            case list() if len(value) > 1:
                left_out = self._random.randrange(len(value))
                return value[:left_out] + value[left_out + 1 :]
            case list():
                return [self._wrong(item) for item in value]
            case dict():
                key = self._random.choice([key for key in value if _alterable(value[key])])
                return {**value, key: self._wrong(value[key])}
            case _:
                return value

    def _mistype(self, text: str) -> str:
        place = self._random.choice([i for i, letter in enumerate(text) if letter.isdecimal()])
        digit = (int(text[place]) + self._random.randint(1, 9)) % 10
        return f"{text[:place]}{digit}{text[place + 1 :]}"


def _alterable(value: object) -> bool:
    match value:
        case str():
            return any(letter.isdecimal() for letter in value)
        case list():
            return len(value) > 1 or any(map(_alterable, value))
        case dict():
            return any(map(_alterable, value.values()))
        case _:
            return isinstance(value, bool | int | float)


def _parameters(toolkit: ToolKitBase[Any] | None, tool_name: str) -> dict[str, Any]:
    for definition in toolkit.definitions() if toolkit else ():
        if definition["function"]["name"] == tool_name:
            parameters: dict[str, object] = definition["function"]["parameters"]
            return parameters
    return {}


def _options(parameters: Mapping[str, Any], name: str) -> list[Any]:
    """Return the values that a tool's schema allows for a parameter, if it lists them."""
    schema = parameters.get("properties", {}).get(name, {})
    if "$ref" in schema:
        schema = parameters.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    options: list[object] = schema.get("enum", [])
    return options


def _ids_like(db: DB, value: str) -> list[str]:
    """Return the ids in the table, or in the list of records, in which ``value`` is one."""
    for _, collection in db:
        for ids in _columns(collection):
            if value in ids:
                return [each for each in ids if isinstance(each, str)]
    return []


def _columns(collection: object) -> Iterator[Collection[object]]:
    """Yield the keys of a table, or each field of a list of records."""
    if isinstance(collection, Mapping):
        yield collection
    elif isinstance(collection, list) and collection and isinstance(collection[0], BaseModel):
        for field in type(collection[0]).model_fields:
            yield [getattr(record, field) for record in collection]
