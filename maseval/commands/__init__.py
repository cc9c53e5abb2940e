"""What the command line does, as functions of the same names: ``maseval tau2 run`` is ``tau2.run``.

Each function takes what the command takes, prints nothing, and returns a typed result. Names are
loaded when they are used, so that asking for help loads none of what a run needs.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "compare": "comparing",
    "demo": "demonstration",
    "plots": "plotting",
    "replay_server": "serving",
    "report": "reporting",
    "runs": "listing",
    "show": "viewing",
}

__all__ = ["compare", "demo", "plots", "replay_server", "report", "runs", "show", "tau2"]


def __getattr__(name: str) -> Any:
    if name == "tau2":
        return import_module(f"{__name__}.tau2")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
