"""Import paths and names of MASEval that are arranged differently here.

The API document of MASEval promises these paths, so that importing one warns of nothing. They end
with version ``EXPIRES``, and from the minor version before it they warn. Each is another name for
the module that has its content. The finder of modules comes last, so that it is asked only for
those that no file has; ``docs/migrating.md`` lists the same.
"""

import sys
from collections.abc import Sequence
from functools import reduce
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from operator import or_
from types import ModuleType

EXPIRES = "2.0"

FORMER_MODULES = {
    "maseval.core.callback": "maseval.core.callbacks.base",
    "maseval.core.callback_handler": "maseval.core.callbacks.base",
    "maseval.core.callbacks.progress_bar": "maseval.core.callbacks.progress",
    "maseval.core.config": "maseval.core.tracing",
    "maseval.core.embedding": "maseval.core.providers",
    "maseval.core.history": "maseval.core.messages",
    "maseval.core.utils": None,  # a package that held only the next two
    "maseval.core.utils.system_info": "maseval.core.system_info",
    "maseval.core.utils.message_utils": "maseval.compat.message_utils",
    "maseval.interface.agents.smolagents_optional": "maseval.interface.agents.smolagents",
    "maseval.interface.logging": "maseval.interface.trackers",
    "maseval.benchmark.macs.macs": "maseval.benchmark.macs",
    "maseval.benchmark.tau2.metrics": "maseval.benchmark.tau2.evaluator",
    "maseval.benchmark.tau2.tau2": "maseval.compat.tau2",
    "maseval.benchmark.tau2.utils": "maseval.compat.tau2",
    "maseval.benchmark.tau2.domains.airline.db": "maseval.benchmark.tau2.domains.airline.models",
    "maseval.benchmark.tau2.domains.retail.db": "maseval.benchmark.tau2.domains.retail.models",
    "maseval.benchmark.tau2.domains.telecom.db": "maseval.benchmark.tau2.domains.telecom.models",
    "maseval.benchmark.tau2.domains.telecom.user_models": (
        "maseval.benchmark.tau2.domains.telecom.models"
    ),
}


class _FormerModules:
    """Lets a former path import the module that is its home.

    It has no base class, as loading ``importlib.abc`` would take most of the time of ``import
    maseval``.
    """

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make the module."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in FORMER_MODULES:
            return None
        is_package = FORMER_MODULES[name] is None
        return ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]  # by its methods

    def exec_module(self, module: ModuleType) -> None:
        home = FORMER_MODULES[module.__name__]
        if home is not None:
            # The import system hands out what stands here afterwards.
            sys.modules[module.__name__] = import_module(home)


FORMER_NAMES = {
    "maseval.benchmark.tau2.domains.airline.models": {
        "FlightBase": "Flight DirectFlight ReservedFlight",
        "FlightDateStatus": "FlightDate",
        "FlightDateStatusAvailable": "AvailableFlight",
        "FlightDateStatusCancelled": "CancelledFlight",
        "FlightDateStatusDelayed": "DelayedFlight",
        "FlightDateStatusFlying": "FlyingFlight",
        "FlightDateStatusLanded": "LandedFlight",
        "FlightDateStatusOnTime": "OnTimeFlight",
        "ReservationFlight": "ReservedFlight",
    },
    "maseval.benchmark.tau2.domains.telecom.models": {"UserSurroundings": "Surroundings"},
}
"""What a module is asked for by a former name: a class, or the union of several."""


class _FormerNames:
    """Adds its former names to a module as soon as it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in FORMER_NAMES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            for former, names in FORMER_NAMES[name].items():
                setattr(module, former, reduce(or_, map(vars(module).get, names.split())))

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _FormerNames())
sys.meta_path.append(_FormerModules())
