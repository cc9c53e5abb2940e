"""Where recorded simulations are assessed: in this process, or by an engine."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from maseval.benchmark.tau2.recount.elsewhere import assessed_by
from maseval.benchmark.tau2.recount.recount import Assess
from maseval.core.engine.engines import Engine, MappingEngine, ThreadEngine
from maseval.core.exceptions import ConfigurationError
from maseval.interface.ray.facts import check_data


@contextmanager
def assessing(engine: Engine) -> Iterator[Assess | None]:
    """How an engine assesses the simulations of a record; None for this process itself.

    An engine that can stay connected from one record to the next does.
    """
    if isinstance(engine, ThreadEngine):  # judging needs the processor alone: threads gain nothing
        yield None
        return
    if not isinstance(engine, MappingEngine):
        raise ConfigurationError(
            f"the engine {type(engine).__name__} can run simulations, but not score recorded "
            "ones: it lacks mapped(); leave it out, or use 'ray'"
        )
    with engine if isinstance(engine, AbstractContextManager) else nullcontext():
        yield assessed_by(engine, check_data)
