"""Data that can be read but not changed."""

from typing import NoReturn, Self

from maseval.core.exceptions import TaskFrozenError


class FrozenDict(dict[str, object]):
    """A dict that can be read, compared and written as JSON, but not changed."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TaskFrozenError(
            "this data belongs to a frozen task; call task.unfreeze() to change it",
            component="Task",
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __repr__(self) -> str:
        return f"FrozenDict({super().__repr__()})"

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, object]]]:
        # Copying and unpickling would otherwise fill the new dict item by item.
        return type(self), (dict(self),)


def frozen(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return FrozenDict({key: frozen(inner) for key, inner in value.items()})


def thawed(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: thawed(inner) for key, inner in value.items()}
