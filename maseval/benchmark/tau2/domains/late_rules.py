"""LateRules: the rules of a domain of ours, loaded when they are asked for."""

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:  # verdicts need none
    from maseval.benchmark.tau2.review.policy.rules import Rule


_HOME = "maseval.benchmark.tau2.review.policy"


class LateRules(Sequence["Rule"]):
    """The rules that a module of ours lists under a name; hundreds of patterns are compiled."""

    def __init__(self, module: str, name: str = "RULES") -> None:
        self._module, self._name = module, name

    @cached_property
    def _rules(self) -> Sequence["Rule"]:
        return tuple(getattr(import_module(f"{_HOME}.{self._module}"), self._name))

    def __len__(self) -> int:
        return len(self._rules)

    @overload
    def __getitem__(self, index: int) -> "Rule": ...
    @overload
    def __getitem__(self, index: slice) -> Sequence["Rule"]: ...
    def __getitem__(self, index: int | slice) -> "Rule | Sequence[Rule]":
        return self._rules[index]
