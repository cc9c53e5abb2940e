"""The checklist of a rehearsal: what of each conversation arrived, added up over a run.

A benchmark that rehearses agents puts what it saw of a simulation into its report, as the trace
``rehearsal``: counts and findings by item, the tools by name with what their schemas lack. The
tools of an agent that shares them with others may be known by none of its models.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import mapping
from maseval.core.report import Report
from maseval.core.words import count_of
from maseval.runs.recording import Recording

TRACE = "rehearsal"
_MOST = 5

ITEMS = {
    "asked": "the rehearsal model was asked in",
    "policy": "policy seen whole and once in",
    "schemas": "tool schemas equal",
    "customer": "customer's latest words seen in",
    "history": "earlier conversation kept in",
    "results": "tool results unchanged",
    "calls": "calls carried out as made",
    "ids": "ids of calls match in",
    "replies": "replies unchanged to the customer",
    "limits": "replies within the limits of the request",
    "tasks": "tasks passed",
}
"""The items by name, in the words that stand before their numbers."""
_UNITS = {
    **dict.fromkeys(("asked", "tasks"), "simulation"),
    **dict.fromkeys(("policy", "customer", "history", "ids"), "request"),
}


class ChecklistItem(NamedTuple):
    """One thing that must arrive: how often it did, of how many times, and what was wrong."""

    name: str
    right: int
    cases: int
    findings: Sequence[str] = ()

    @property
    def is_missed(self) -> bool:
        return self.right < self.cases

    def __str__(self) -> str:
        unit = _UNITS.get(self.name)
        of = count_of(self.cases, unit) if unit else str(self.cases)
        return f"{ITEMS[self.name]} {self.right} of {of}"


@dataclass(frozen=True)
class Checklist:
    """The items that a rehearsal saw; ``refused`` says why the agent cannot be rehearsed."""

    items: Sequence[ChecklistItem]
    notes: Sequence[str] = ()
    refused: str | None = None

    def missed(self, allowed: Iterable[str] = ()) -> list[ChecklistItem]:
        """Return the items that were missed and are not allowed to be."""
        return [each for each in self.items if each.is_missed and each.name not in {*allowed}]

    def lines(self) -> Iterator[str]:
        """Yield the checklist as it is printed; nothing of an agent that was refused."""
        if self.refused:
            return
        right = [str(each) for each in self.items if not each.is_missed]
        if right:
            yield f"Seen: {'; '.join(right)}."
        for each in self.missed():
            found = "; ".join(each.findings[:_MOST])
            more = len(each.findings) - _MOST
            rest = f"; and {more} more" if more > 0 else ""
            yield f"Missed ({each.name}): {each}{f': {found}{rest}' if found else ''}"
        yield from self.notes

    def to_dict(self) -> dict[str, Any]:
        return {
            "items": {
                each.name: {
                    "right": each.right,
                    "cases": each.cases,
                    "findings": list(each.findings),
                }
                for each in self.items
            },
            "notes": list(self.notes),
            "refused": self.refused,
        }


def check_allowed(allowed: Iterable[str]) -> None:
    for name in allowed:
        if name not in ITEMS:
            raise ConfigurationError(
                f"a rehearsal has no item {name!r} to allow; its items: {', '.join(ITEMS)}"
            )


def checklist_of(reports: Iterable[Report], *, must_pass: bool) -> Checklist | None:
    """Add up the simulations of a rehearsal; None if there are none and nothing was refused."""
    seen = _Seen()
    for report in reports:
        if trace := mapping(mapping(report.get("traces"), TRACE), "agent"):
            seen.add(trace, RecordedReport(report))
    if not seen.simulations:
        return None
    return Checklist([*seen.items(must_pass=must_pass)], [*seen.notes()], seen.refused)


def checklist_of_run(recording: Recording) -> Checklist | None:
    """Add up a run; None if it is no rehearsal."""
    # With other scripted models than the reference solution, failures are to be expected.
    player = mapping(recording.config.values, "agent").get("rehearse")
    return checklist_of(recording.reports(), must_pass=player == "gold") if player else None


class _Seen:
    """Adds up the traces of simulations."""

    def __init__(self) -> None:
        self.simulations = self.could_ask = self.asked = self.passed = self.verdicts = 0
        self.counts: dict[str, list[int]] = {}
        self.findings: Counter[tuple[str, str]] = Counter()
        self.numbers: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        self.tools: dict[tuple[str, str], str | None] = {}
        self.shares_tools = False
        self.refused: str | None = None

    def add(self, trace: Mapping[str, Any], report: RecordedReport) -> None:
        self.simulations += 1
        passed, asked = report.outcome.passed, bool(trace["requests"])
        # An agent that failed before it asked its model has another problem.
        self.could_ask += asked or report.kind != "error"
        self.asked += asked
        self.verdicts += passed is not None
        self.passed += bool(passed)
        self.refused = self.refused or trace["refused"]
        for name in ("requests", "repeated", "beside", "helping", "turns"):
            self.numbers[name] += trace[name]
        for item, (right, cases) in trace["counts"].items():
            now = self.counts.setdefault(item, [0, 0])
            self.counts[item] = [now[0] + right, now[1] + cases]
        for item, words, times in trace["findings"]:
            self.findings[item, words] += times
        self.noted.update(trace["notes"])
        self.shares_tools |= trace["shares_tools"]
        # An agent whose model was never asked offered no tools, which says nothing about them.
        for name, changes in trace["tools"].items() if trace["requests"] else ():
            # A difference in any simulation counts, and a tool that any has seen is there.
            before = self.tools.setdefault((report.domain, name), changes)
            if changes is not None:
                self.tools[report.domain, name] = before or changes

    def items(self, *, must_pass: bool) -> Iterator[ChecklistItem]:
        if self.could_ask:
            yield ChecklistItem("asked", self.asked, self.could_ask, self._way_to_ask())
        for name in ITEMS:
            if name == "schemas" and self.tools:
                yield self._schemas()
            elif name in self.counts:
                right, cases = self.counts[name]
                yield ChecklistItem(name, right, cases, self._findings(name))
        if must_pass and self.verdicts:
            yield ChecklistItem("tasks", self.passed, self.verdicts)

    def _way_to_ask(self) -> list[str]:
        return [
            "the agent asked another model, or none; give your client brief.model.name, "
            "brief.model.base_url and brief.model.api_key, or ask brief.chat_model()"
        ] * (self.asked < self.could_ask)

    def _findings(self, item: str) -> list[str]:
        alike = [(words, n) for (name, words), n in self.findings.most_common() if name == item]
        return [f"{words} ({n} times)" if n > 1 else words for words, n in alike]

    def _schemas(self) -> ChecklistItem:
        lacking = [name for (_, name), changes in self.tools.items() if changes is None]
        changed = [f"{name}: {words}" for (_, name), words in self.tools.items() if words]
        if lacking and not self.shares_tools:
            changed = [f"{', '.join(dict.fromkeys(lacking))}: never offered", *changed]
        equal = sum(changes == "" for changes in self.tools.values())
        # A tool that nobody offered may belong to an agent that no task needed.
        cases = len(self.tools) - (len(lacking) if self.shares_tools else 0)
        return ChecklistItem("schemas", equal, cases, changed)

    def notes(self) -> Iterator[str]:
        numbers = self.numbers
        if numbers["requests"]:
            each = numbers["requests"] / max(numbers["turns"], 1)
            yield (
                f"{count_of(numbers['requests'], 'request')} in "
                f"{count_of(self.simulations, 'simulation')}, {each:.1f} for each reply to the "
                "customer; nothing was paid."
            )
        if numbers["helping"]:
            yield f"{numbers['helping']} of them came from agents that work for another one."
        if numbers["beside"]:
            yield (
                f"{numbers['beside']} of them came without tools and were answered with a plan, or "
                "as their schema says; an agent that reads a decision from a plan cannot be judged."
            )
        if numbers["repeated"]:
            yield f"{numbers['repeated']} of them repeated another one word for word."
        lacking = [name for (_, name), changes in self.tools.items() if changes is None]
        if lacking and self.shares_tools:
            yield f"Not seen, as no task needed who has them: {', '.join(dict.fromkeys(lacking))}."
        yield from sorted(self.noted)
