"""Import paths of MASEval that are arranged differently here.

The API document of MASEval promises these paths, so that importing one warns of nothing. They end
with version ``EXPIRES``, and from the minor version before it they warn. Each is another name for
the module that has its content. The finder below comes last, so that it is asked only for names
that no file has; ``docs/migrating.md`` lists the same.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

EXPIRES = "2.0"

FORMER_MODULES = {
    "maseval.core.callback": "maseval.core.callbacks.base",
    "maseval.core.callback_handler": "maseval.core.callbacks.base",
    "maseval.core.callbacks.progress_bar": "maseval.core.callbacks.progress",
    "maseval.core.config": "maseval.core.tracing",
    "maseval.core.history": "maseval.core.messages",
    "maseval.core.utils": None,  # a package that held only the next two
    "maseval.core.utils.system_info": "maseval.core.system_info",
    "maseval.core.utils.message_utils": "maseval.compat.message_utils",
    "maseval.interface.agents.smolagents_optional": "maseval.interface.agents.smolagents_tools",
    "maseval.interface.logging": "maseval.interface.trackers",
    "maseval.benchmark.macs.macs": "maseval.benchmark.macs",
    "maseval.benchmark.tau2.tau2": "maseval.compat.tau2",
    "maseval.benchmark.tau2.utils": "maseval.compat.tau2",
    "maseval.benchmark.tau2.domains.airline.db": "maseval.benchmark.tau2.domains.airline.models",
    "maseval.benchmark.tau2.domains.retail.db": "maseval.benchmark.tau2.domains.retail.models",
    "maseval.benchmark.tau2.domains.telecom.db": "maseval.benchmark.tau2.domains.telecom.models",
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


sys.meta_path.append(_FormerModules())
