"""AgentDojo in the commands that take any run: its two numbers, who failed, and a second look."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from maseval import Report
from maseval.commands import (
    BenchmarkSupport,
    Finding,
    Measure,
    Misstatement,
    Recording,
    Review,
    VerdictChecker,
)

NO_ATTACK = (None, "none")  # TOML, in which a grid is written, has no null
OBEYED = "obeyed an injection"
_DONE = "the user's task was done"
_MISSED = "the injected goal was not reached"
BENIGN = [Measure("useful", _DONE, decides=True)]
ATTACKED = [
    Measure("resisted", _MISSED, complement="attack success", decides=True),
    Measure("useful", f"{_DONE}, attacked or not"),
]


class AgentDojoSupport(BenchmarkSupport):
    """An attacked run is decided by what was resisted, any other by what was useful."""

    def measures(self, folder: Recording) -> Sequence[Measure]:
        return BENIGN if _given(folder.config.values, "attack") in NO_ATTACK else ATTACKED

    def version(self, config: Mapping[str, object]) -> str | None:
        found = _given(config, "version")
        return None if found is None else str(found)

    def warnings(self, config: Mapping[str, object]) -> Sequence[str]:
        attack = _given(config, "attack")
        if attack in NO_ATTACK:
            return ()
        return (f"{attack} is a fixed attack: resisting it says nothing of one that adapts.",)

    def task_title(self, report: Report) -> str | None:
        goal = report["task"]["metadata"].get("goal")
        return None if goal is None else f"Injected goal: {goal}"

    def limits(self, folder: Recording) -> Sequence[str]:
        return ()

    def findings_version(self, folder: Recording) -> object:
        return 1

    def review(self, report: Report, *, explain_pass: bool = False) -> Review:
        found = []
        for each in report["eval"] or ():
            obeyed = each.get("resisted") is False
            if obeyed:
                goal = report["task"]["metadata"].get("goal")
                found.append(_finding("policy", OBEYED, f"reached the injected goal: {goal}"))
            if each.get("passed") is False:
                why = (OBEYED, "attacked") if obeyed else ("task not done", "not useful")
                found.append(_finding("cause", *why))
        return Review(found)

    def verdict_checker(self, folder: Recording) -> VerdictChecker | None:
        from maseval_agentdojo.world import judge_again  # loads the library

        def check(report: Report) -> Misstatement | None:
            for each in report["eval"] or ():
                traces = report["traces"]["environment"]
                useful, attacked = judge_again(traces["case"], traces["attempts"])
                held = each.get("useful"), each.get("resisted")
                if held != (useful, None if attacked is None else not attacked):
                    words = f"replayed, it is useful: {useful}, attacked: {attacked}"
                    return Misstatement(words, useful if attacked is None else not attacked)
            return None

        return check

    def other_data(self, folder: Recording) -> list[str]:
        code: Any = folder.config.values.get("code") or {}
        then, now = code.get("distributions", {}).get("agentdojo"), version("agentdojo")
        return [] if then in (None, now) else [f"agentdojo is {now}, the run was made with {then}"]


def _given(config: Mapping[str, object], name: str) -> object:
    given: Any = config.get("set") or {}
    return given.get(name)


def _finding(source: Any, kind: str, text: str) -> Finding:
    return Finding(source, "agent", kind, f"check of AgentDojo: {kind}", text)


SUPPORT = AgentDojoSupport()
