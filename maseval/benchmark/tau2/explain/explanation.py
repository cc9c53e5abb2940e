"""An explained verdict: what decided it, and what would have changed it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel

from maseval.benchmark.tau2.domains.permanence import Absent
from maseval.benchmark.tau2.explain.divergence import Divergence
from maseval.benchmark.tau2.explain.evidence import AssertionEvidence, CommunicationEvidence
from maseval.benchmark.tau2.explain.findings import CheckSummary, ReplayFault
from maseval.benchmark.tau2.explain.repair import Repair
from maseval.benchmark.tau2.explain.snapshot import FieldPlace
from maseval.benchmark.tau2.explain.text import (
    ExplanationPart,
    ExplanationSection,
    described_section,
    sections_of,
)
from maseval.benchmark.tau2.explain.tracing import WrongField
from maseval.benchmark.tau2.world.tasks import Action


@dataclass(frozen=True)
class Explanation:
    """Why a simulation got its reward.

    ``wrong_fields`` are where the end state differs from the gold one; they decide the verdict
    only if ``state_gates``. ``repair`` is a smallest set of tool calls that would flip the
    verdict; where the agent also had to say something, ``to_be_said`` lists it. ``described_in``
    names, by call, the texts in which the agent could have read of calls that it did not make.
    """

    domain: str
    task_id: str | None
    reward: float
    passed: bool
    summary: str
    checks: tuple[CheckSummary, ...]
    state_gates: bool
    cut_off: str | None = None
    replay_fault: ReplayFault | None = None
    wrong_fields: tuple[WrongField, ...] = ()
    divergence: Divergence | None = None
    repair: Repair | None = None
    to_be_said: tuple[str, ...] = ()
    assertions: tuple[AssertionEvidence, ...] = ()
    communication: tuple[CommunicationEvidence, ...] = ()
    actions_not_taken: tuple[Action, ...] = ()
    described_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def failed_gates(self) -> tuple[str, ...]:
        """The checks because of which the reward is not 1."""
        return tuple(each.kind for each in self.checks if each.gates and each.passed is False)

    def to_dict(self) -> dict[str, Any]:
        """All of it in JSON's terms; a value that is absent is left out."""
        return {**plain(self), "failed_gates": list(self.failed_gates)}

    def sections(self) -> list[ExplanationSection]:
        """The findings in words, by their kind."""
        parts: tuple[ExplanationPart, ...] = (
            *self.checks,
            *((self.replay_fault,) if self.replay_fault else ()),
            *self.wrong_fields,
            *self.assertions,
            *self.communication,
            *self.actions_not_taken,
            *((self.divergence,) if self.divergence else ()),
        )
        return [
            *sections_of(parts, self.repair, self.to_be_said, self.passed),
            *described_section(self.described_in),
        ]

    def text(self) -> str:
        """All of it in words."""
        lines = [self.summary]
        for section in self.sections():
            lines += ["", section.title, *(f"  {line}" for line in section.lines)]
        return "\n".join(lines)


def plain(value: object) -> Any:
    """A typed value in JSON's terms."""
    match value:
        case FieldPlace():
            return {**_members(value), "shown": str(value), "path": list(value.path)}
        case _ if is_dataclass(value):
            return _members(value)
        case BaseModel():
            return value.model_dump()
        case Enum():
            return value.value
        case dict():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case str() | int() | float() | None:
            return value
        case _:
            return str(value)


def _members(value: Any) -> dict[str, object]:
    named = ((each.name, getattr(value, each.name)) for each in fields(value))
    return {name: plain(member) for name, member in named if not isinstance(member, Absent)}
