"""The options of every command that can use another engine."""

from maseval.core.engine.engines import PROCESSES, AnyEngine, Engine, engine_of
from maseval.core.exceptions import ConfigurationError

RAY_ADDRESS = "For --engine ray: local (the default), auto or ray://HOST:PORT"
WORKER_PROCESSES = "Worker processes, for --engine processes and ray (default: one for each core)"
RAY = "ray"


def chosen_engine(engine: AnyEngine, ray_address: str | None, processes: int | None) -> Engine:
    """Return the engine; raise if there is none of that name, or it cannot be had."""
    check_engine_options(engine, ray_address, processes)
    given = {"address": ray_address, "processes": processes}
    return engine_of(engine, **{name: value for name, value in given.items() if value is not None})


def check_engine_options(engine: AnyEngine, ray_address: str | None, processes: int | None) -> None:
    """Raise if an option is given that is for another engine."""
    for name, value, engines in (
        ("ray_address", ray_address, (RAY,)),
        ("processes", processes, (PROCESSES, RAY)),
    ):
        if value is not None and engine not in engines:
            raise ConfigurationError(
                f"{name} is {value!r}, but engine is {engine!r}; it is for engine "
                f"{' or '.join(map(repr, engines))}"
            )
