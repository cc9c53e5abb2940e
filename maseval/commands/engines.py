"""The engine that the options of a command ask for."""

from maseval.core.engine.engines import AnyEngine, Engine, engine_of
from maseval.core.exceptions import ConfigurationError

RAY = "ray"


def chosen_engine(engine: AnyEngine, ray_address: str | None, processes: int | None) -> Engine:
    """The engine itself; raises if there is none, or if options are for another one."""
    given = {"ray_address": ray_address, "processes": processes}
    for name, value in given.items():
        if value is not None and engine != RAY:
            raise ConfigurationError(
                f"{name} is {value!r}, but engine is {engine!r}; it is for engine {RAY!r}"
            )
    options = {"address": ray_address, "processes": processes}
    return engine_of(engine, **{name: value for name, value in options.items() if value})
