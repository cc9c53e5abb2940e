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


ABSENT = {
    *(f"maseval.benchmark.{name}" for name in ("gaia2", "converse", "multiagentbench", "mmlu")),
    "maseval.interface.environments",
}
"""Packages of MASEval that are not here: importing one says where it is."""


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
        if name in ABSENT:
            raise ModuleNotFoundError(  # without its name, which Python would take for its own find
                f"{name} of MASEval is not here. Install MASEval in an environment of its own to "
                "use it; the manual's page on migrating lists all that is different"
            )
        if name not in FORMER_MODULES:
            return None
        is_package = FORMER_MODULES[name] is None
        return ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]  # by its methods

    def exec_module(self, module: ModuleType) -> None:
        home = FORMER_MODULES[module.__name__]
        if home is not None:
            # The import system hands out what stands here afterwards.
            sys.modules[module.__name__] = import_module(home)


_CLOCK = {"get_now": "maseval.compat.names:get_now", "get_today": "maseval.compat.names:get_today"}
_PAYMENT = {"OrderPaymentType": "maseval.compat.names:OrderPaymentType"}
_DOMAIN_CLASSES = ("DOMAIN_DB_CLASSES", "DOMAIN_TOOLKIT_CLASSES", "DOMAIN_USER_TOOLKIT_CLASSES")

FORMER_NAMES = {
    "maseval.core.messages": {
        "ContentType": "maseval.compat.names:ContentType",
        "RoleType": "maseval.compat.names:RoleType",
    },
    "maseval.benchmark.macs": {"SCOREABLE_STATUSES": "maseval.benchmark.macs.metrics:SCORED"},
    "maseval.benchmark.macs.evaluator": {
        "MACSEvaluator.DEFAULT_TEMPLATES_DIR": "maseval.compat.names:DEFAULT_TEMPLATES_DIR",
    },
    "maseval.benchmark.tau2": {
        "Tau2ReferenceAgent": "maseval.benchmark.tau2.agent:DefaultTau2Agent",
        "Tau2TaskLoader": "maseval.compat.names:Tau2TaskLoader",
    },
    "maseval.benchmark.tau2.agent": {"Tau2ReferenceAgent": "DefaultTau2Agent"},
    "maseval.benchmark.tau2.data_loader": {"Tau2TaskLoader": "maseval.compat.names:Tau2TaskLoader"},
    "maseval.benchmark.tau2.domains": {
        "VALID_DOMAINS": "maseval.benchmark.tau2.data_loader:VALID_DOMAINS",
    },
    "maseval.benchmark.tau2.domains.airline.models": {
        "CabinClass": "Cabin",
        "FlightBase": "Flight DirectFlight ReservedFlight",
        "FlightDateStatus": "FlightDate",
        "FlightDateStatusAvailable": "AvailableFlight",
        "FlightDateStatusCancelled": "CancelledFlight",
        "FlightDateStatusDelayed": "DelayedFlight",
        "FlightDateStatusFlying": "FlyingFlight",
        "FlightDateStatusLanded": "LandedFlight",
        "FlightDateStatusOnTime": "OnTimeFlight",
        "FlightType": "TripType",
        "MembershipLevel": "Membership",
        "ReservationFlight": "ReservedFlight",
    },
    "maseval.benchmark.tau2.domains.retail": _PAYMENT,
    "maseval.benchmark.tau2.domains.retail.models": {
        "OrderFullfilment": "OrderFulfillment",
        **_PAYMENT,
    },
    "maseval.benchmark.tau2.domains.telecom": _CLOCK,
    "maseval.benchmark.tau2.domains.telecom.models": {"UserSurroundings": "Surroundings", **_CLOCK},
    "maseval.benchmark.tau2.domains.telecom.tools": _CLOCK,
    "maseval.benchmark.tau2.environment": {
        name: f"maseval.compat.names:{name}" for name in _DOMAIN_CLASSES
    },
    "maseval.benchmark.tau2.user": {
        "Tau2User.GUIDELINES_DIR": "maseval.compat.names:GUIDELINES_DIR"
    },
}
"""What a module, or a class in it, is asked for by a former name.

It is a name of that module, or the union of several; a name elsewhere, after its module and a
colon, is looked up when it is asked for.
"""


class _Elsewhere:
    """An attribute of a class whose value is looked up in another module."""

    def __init__(self, home: str) -> None:
        self._home = home

    def __get__(self, instance: object, owner: type) -> object:
        return _look_up(self._home)


def _look_up(home: str) -> object:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def _add(names: dict[str, str], module: ModuleType) -> None:
    elsewhere = {name: home for name, home in names.items() if ":" in home}
    for former in names.keys() - elsewhere.keys():
        setattr(module, former, reduce(or_, map(vars(module).get, names[former].split())))
    inherited = vars(module).get("__getattr__")

    def look_up(name: str) -> object:
        if name in elsewhere:
            return _look_up(elsewhere[name])
        if inherited is not None:
            return inherited(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    for former, home in elsewhere.items():
        owner, _, name = former.rpartition(".")
        if owner:
            setattr(vars(module)[owner], name, _Elsewhere(home))
        else:
            vars(module)["__getattr__"] = look_up


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
            _add(FORMER_NAMES[name], module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


# The first one, as later ones are not asked for a module that Python's own finder has found.
sys.meta_path.insert(0, _FormerNames())
sys.meta_path.append(_FormerModules())
