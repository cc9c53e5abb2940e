"""What became of a rehearsal: whether the agent asked its model, and where solutions were lost."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from maseval.core.outcome import evaluations, kind_of, recorded_simulation
from maseval.core.report import Report
from maseval.core.shapes import Shape, entries, mapping, text
from maseval.runs import Simulation

_MOST = 5
_HOW = (
    "give your client brief.model.name, brief.model.base_url and brief.model.api_key, or ask "
    "brief.chat_model()"
)


class Rehearsed(NamedTuple):
    """One rehearsed simulation: how often its model was asked, and where it was lost, if it was."""

    simulation: Simulation
    requests: int
    lost: str | None

    def __str__(self) -> str:
        return f"{self.simulation.domain}/{self.simulation.task_id} trial {self.simulation.trial}"


@dataclass
class Rehearsal:
    """Collects what became of each simulation whose model was played by ``player``."""

    player: str
    done: list[Rehearsed] = field(default_factory=list)

    def add(self, report: Report, requests: int) -> None:
        """A simulation is over, in which the model was asked so often."""
        lost = None if kind_of(report) == "pass" else lost_at(report)
        self.done.append(Rehearsed(Simulation.of(report), requests, lost))

    def notes(self) -> list[str]:
        """What to tell whoever rehearsed."""
        if not self.done:
            return []
        if not any(one.requests for one in self.done):
            return [
                f"The agent never asked the rehearsal model in {_simulations(len(self.done))}: it "
                f"asked another model, or none; {_HOW}."
            ]
        return [self._asked(), *self._losses()]

    def _asked(self) -> str:
        total = sum(one.requests for one in self.done)
        told = f"The rehearsal model was asked {total} times in {_simulations(len(self.done))}"
        silent = [str(one) for one in self.done if not one.requests]
        never = f"; never in {len(silent)} of them: {', '.join(silent[:_MOST])}" if silent else ""
        return f"{told}{never}."

    def _losses(self) -> Iterator[str]:
        lost = [one for one in self.done if one.lost]
        if self.player != "gold" or not lost:
            return
        yield (
            f"With gold every task should pass; {len(lost)} of {len(self.done)} were lost on the "
            "way through your agent:"
        )
        yield from (f"  {one}: {one.lost}" for one in lost[:_MOST])
        if len(lost) > _MOST:
            yield f"  and {len(lost) - _MOST} more"


def lost_at(report: Report) -> str:
    """Where the reference solution was lost."""
    if report["error"]:
        return f"{report['status']}: {mapping(report, 'error').get('error_message')}"
    verdict = mapping(next(iter(evaluations(report)), {}), "reward_info")
    checks = map(mapping, entries(verdict.get("action_checks")))
    missing = [check for check in checks if not check.get("action_match")]
    agents = [mapping(check, "action") for check in missing]
    first = next((each for each in agents if each.get("requestor") != "user"), None)
    if first is not None:
        return f"first missing call: {_call(first)}{_instead(report, first)}"
    told = map(mapping, entries(verdict.get("communicate_checks")))
    unsaid = [check.get("info") for check in told if not check.get("met")]
    if unsaid:
        return f"every call arrived, but the customer was not told {unsaid[0]!r}"
    return "every call arrived, but the final state is another: look for additional calls"


def _instead(report: Report, action: Shape) -> str:
    """The first call of the same tool, which has other arguments."""
    for message in entries(recorded_simulation(report).get("messages")):
        for call in map(mapping, entries(mapping(message).get("tool_calls"))):
            if call.get("name") == action.get("name"):
                return f"; instead: {_call(call)}"
    return ""


def _call(call: Shape) -> str:
    arguments = mapping(call, "arguments").items()
    return f"{call.get('name')}({', '.join(f'{key}={text(value)}' for key, value in arguments)})"


def _simulations(number: int) -> str:
    return f"{number} simulations" if number > 1 else "1 simulation"
