"""The index line of a report: what a list, a table, a page or a search needs of a simulation.

It stands at the head of the report's own line in a log, written with it in one go and covered by
the same checksum and hash. So it cannot be torn or stale by itself, and whoever reads a log for its
rows parses no conversation. It is made from the JSON of the report, never from what is in memory:
so it says what the report says to whoever reads it back.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from maseval.core.outcome import Outcome, OutcomeKind, RecordedReport, Simulation, verdict_for
from maseval.core.recorded import entries, mapping
from maseval.core.words import text

# To be raised whenever an outcome or a fact is read from a report in another way than before: what
# was written in another form is then made anew from the report.
_FORM = 2

Fact = tuple[str, str]

_IN_HEAD = frozenset({"domain", "task_id", "trial", "status"})
# These follow from kind and status.
_DERIVED = frozenset({"passed", "reason"})
_NAMES = tuple(name for name in Outcome._fields if name not in _IN_HEAD | _DERIVED)
_COUNTS = ("answers", "cached_answers", "tokens")
_AMOUNTS = ("cost", "reward", "seconds", "user_cost", "judge_cost", "weight")
_TEXTS = ("ended", "error", "code", "cluster")


class IndexLine(NamedTuple):
    """The outcome of a simulation, when it began, and facts of the run that its report has.

    ``steps`` counts the messages, and ``tools`` are those that were called.
    """

    outcome: Outcome
    started: str = ""
    facts: tuple[Fact, ...] = ()
    steps: int | None = None
    tools: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: RecordedReport) -> "IndexLine":
        found = cls(report.outcome, report.started_at or "", tuple(facts_of(report)))
        return found.with_conversation(mapping(report.raw, "traces"))

    def with_conversation(self, traces: Mapping[str, object]) -> "IndexLine":
        """Count the messages and name the tools; read without parsing, as there may be millions."""
        said = mapping(traces, "environment", "simulation").get("messages")
        if not isinstance(said, list):
            agents = mapping(traces, "agents").values()
            said = [
                message for agent in agents for message in entries(mapping(agent).get("messages"))
            ]
        tools: dict[str, None] = {}
        for message in said:
            for call in entries(mapping(message).get("tool_calls")):
                name = mapping(call).get("name") or mapping(call, "function").get("name")
                if name:
                    tools[str(name)] = None
        return self._replace(steps=len(said) or None, tools=tuple(tools))

    def to_record(self) -> dict[str, object]:
        """Return it as JSON, without what is usual and what the head of the line says anyway."""
        usual, row = Outcome._field_defaults, self.outcome._asdict()
        told = {name: row[name] for name in _NAMES if row[name] != usual[name]}
        return {
            "form": _FORM,
            **told,
            "started": self.started,
            "facts": self.facts,
            "steps": self.steps,
            "tools": self.tools,
        }

    @classmethod
    def read(cls, one: Simulation, status: str, record: object) -> "IndexLine | None":
        """Return the index line of a simulation; None for whatever is not one of this form."""
        if not isinstance(record, dict) or record.get("form") != _FORM:
            return None
        told = {name: record[name] for name in _NAMES if name in record}
        if not _is_outcome(told):
            return None
        kind = told.pop("kind", "unjudged")
        passed, reason = verdict_for(kind, status or None)
        given = {name: _same(each) if name in _TEXTS else each for name, each in told.items()}
        row = Outcome(*one, passed, reason=reason, status=_same(status), kind=_same(kind), **given)
        try:
            facts = tuple((str(name), str(value)) for name, value in record["facts"])
            tools, steps = _same(tuple(map(str, record["tools"]))), record["steps"]
            if steps is not None and type(steps) is not int:
                return None
            return cls(row, str(record["started"]), _same(facts), steps, tools)
        except (KeyError, TypeError, ValueError):
            return None


def _is_outcome(told: Mapping[str, Any]) -> bool:
    """Return True if every part has its type; anybody may have written the line."""
    if told.get("kind", "unjudged") not in get_args(OutcomeKind):
        return False
    types: dict[tuple[str, ...], tuple[type, ...]]
    types = {_COUNTS: (int,), _AMOUNTS: (int, float), _TEXTS: (str,)}
    # Python takes True for 1, and JSON does not.
    return all(
        isinstance(told[name], wanted) and not isinstance(told[name], bool)
        for names, wanted in types.items()
        for name in names
        if name in told
    ) and _are_measures(told.get("measures", {}))


def _are_measures(told: object) -> bool:
    return isinstance(told, dict) and all(isinstance(each, (int, float)) for each in told.values())


@lru_cache(maxsize=4096)
def _same(value: Any) -> Any:
    """Return one object for equal values, of which there are thousands."""
    return value


def facts_of(report: RecordedReport) -> Iterator[Fact]:
    """Yield the facts of the run that one report has; they may hold secrets."""
    for key in ("domain", "split", "attribution"):
        if report.metadata.get(key) is not None:
            yield key.capitalize(), text(report.metadata[key])
    for agent in report.agents.values():
        if (name := agent.name) is not None:
            rate = "" if agent.error_rate is None else f", error rate {agent.error_rate}"
            yield "Agent", name + rate
    for name, model in report.models.items():
        if model.model_id is not None:
            yield f"Model of {_role(name)}", model.model_id
    if report.run_id:
        yield "Run", report.run_id


def _role(name: str) -> str:
    """Return the role of a model; agents or tools that have one each are named together."""
    plain = name.removesuffix("_model")
    kind, several, _ = plain.partition("_")
    return f"{kind}s" if several and kind in ("agent", "tool") else plain.replace("_", " ")
