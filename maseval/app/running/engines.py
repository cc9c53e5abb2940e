"""The engine that the options of a command ask for."""

from maseval.core.engine.engines import AnyEngine, Engine, engine_of
from maseval.core.exceptions import ConfigurationError

RAY = "ray"


def chosen_engine(engine: AnyEngine, ray_address: str | None, processes: int | None) -> Engine:
    """The engine itself; raises if there is none of that name, or it cannot be had."""
    check_engine_options(engine, ray_address, processes)
    given = {"address": ray_address, "processes": processes}
    return engine_of(engine, **{name: value for name, value in given.items() if value is not None})


def check_engine_options(engine: AnyEngine, ray_address: str | None, processes: int | None) -> None:
    """Raise if an option is given that is for another engine."""
    for name, value in (("ray_address", ray_address), ("processes", processes)):
        if value is not None and engine != RAY:
            raise ConfigurationError(
                f"{name} is {value!r}, but engine is {engine!r}; it is for engine {RAY!r}"
            )
