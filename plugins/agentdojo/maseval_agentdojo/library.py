"""The library AgentDojo: its suites, and its attacks.

The library imports the clients of four providers, of which nothing here is used. Those that are not
installed are stood in for while it is imported, so that it may be installed without them.
"""

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import yaml

from maseval import ConfigurationError

_CLIENTS = (
    "anthropic",
    "cohere",
    "dotenv",
    "google",
    "langchain",
    "openai",
    "requests",
    "tenacity",
)


class _Absent(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent


class Absent(metaclass=_Absent):
    """Anything of a module that is not installed: imported, named in annotations, never used."""

    def __init__(self, *given: object, **more: object) -> None:
        pass

    def __call__(self, given: Any) -> Any:
        return given


class _StandIns(MetaPathFinder, Loader):
    """Finds the clients that nobody else finds."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        own = name.partition(".")[0] in _CLIENTS
        return ModuleSpec(name, self, is_package=True) if own else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__getattr__ = lambda name: getattr(Absent, name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def _stand_ins() -> Iterator[None]:
    finder = _StandIns()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if getattr(module, "__loader__", None) is finder:
                del sys.modules[name]


with _stand_ins():
    from agentdojo.agent_pipeline import BasePipelineElement as BasePipelineElement
    from agentdojo.agent_pipeline import ToolsExecutor as ToolsExecutor
    from agentdojo.agent_pipeline.agent_pipeline import load_system_message as load_system_message
    from agentdojo.attacks.attack_registry import ATTACKS, load_attack
    from agentdojo.attacks.base_attacks import BaseAttack
    from agentdojo.functions_runtime import Function as Function
    from agentdojo.functions_runtime import FunctionCall as FunctionCall
    from agentdojo.functions_runtime import FunctionsRuntime as FunctionsRuntime
    from agentdojo.models import MODEL_NAMES
    from agentdojo.task_suite.load_suites import get_suites
    from agentdojo.task_suite.task_suite import TaskSuite
    from agentdojo.types import get_text_content_as_str as get_text_content_as_str
    from agentdojo.types import text_content_block_from_string as text_content_block_from_string


def imported(name: str) -> ModuleType:
    """Return another module of the library."""
    with _stand_ins():
        return import_module(name)


VERSIONS = ("v1", "v1.1", "v1.1.1", "v1.1.2", "v1.2", "v1.2.1", "v1.2.2")
SUITES = ("workspace", "travel", "banking", "slack")
_one_at_a_time = threading.RLock()


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """Return a value that is known; raise for any other."""
    if value not in known:
        raise ConfigurationError(f"{name} is {value!r}; choose one of: {', '.join(known)}")
    return str(value)


def suite_of(version: str, name: str) -> TaskSuite:
    suites = get_suites(one_of("version", version, VERSIONS))
    found: TaskSuite = suites[one_of("suite", name, SUITES)]
    return found


def fresh_world(version: str, suite: str, injections: Mapping[str, str]) -> Any:
    """Return a suite's world, with injections in it, which nobody has touched."""
    return _world(version, suite, tuple(injections.items())).model_copy(deep=True)


@lru_cache(maxsize=64)
def _world(version: str, suite: str, injections: tuple[tuple[str, str], ...]) -> Any:
    with parsed_in_c():
        return suite_of(version, suite).load_and_inject_default_environment(dict(injections))


@contextmanager
def parsed_in_c() -> Iterator[None]:
    """Let the library parse YAML by PyYAML's C code: equal worlds, in a fraction of the time."""
    with _one_at_a_time:
        slow, yaml.SafeLoader = yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            yield
        finally:
            yaml.SafeLoader = slow


class _Target(BasePipelineElement):
    """The system that is attacked, of which an attack knows the name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def query(self, query: str, runtime: Any, *rest: Any, **more: Any) -> Any:
        raise NotImplementedError


def attack_on(suite: TaskSuite, name: str, model: str) -> BaseAttack:
    """Return an attack, which looks only once for the places that a user task reads."""
    one_of("attack", name, ["none", *ATTACKS])
    one_of("attacked_model", model, [*MODEL_NAMES])
    attack = load_attack(name, suite, _Target(model))
    attack.get_injection_candidates = cache(attack.get_injection_candidates)
    return attack


def injections_of(attack: BaseAttack, user_task: Any, injection_task: Any) -> dict[str, str]:
    with parsed_in_c():
        found: dict[str, str] = attack.attack(user_task, injection_task)
        return found
