"""Every value is that of the library's own functions."""

import os
from collections import Counter

import pytest
from maseval_agentdojo import AgentDojo
from original import original_verdict

PLAYERS = ("gold", "ignores", "obeys", "noisy")
SETS = (
    ("v1.2.2", None),
    ("v1.1.2", "important_instructions"),
    ("v1.1.2", "dos"),
    ("v1.2.2", "tool_knowledge"),
)
# Every case takes seconds for each of four players; AGENTDOJO_ALL=1 compares them all.
STEP = 1 if os.environ.get("AGENTDOJO_ALL") else 89


def played(benchmark, tasks, player):
    """Run tasks of all suites; yield each with its verdict."""
    by_suite = {}
    for task in tasks:
        by_suite.setdefault(task.metadata["domain"], []).append(task)
    for some in by_suite.values():
        reports = benchmark.run(some, {"model_id": player})
        again = benchmark.rescore(reports, some)  # by the record alone
        assert [each["eval"] for each in again] == [each["eval"] for each in reports]
        verdicts = {each["task_id"]: each["eval"] for each in reports}
        assert None not in verdicts.values(), [each["error"] for each in reports if each["error"]]
        yield from ((task, verdicts[task.id][0]) for task in some)


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize(("version", "attack"), SETS)
def test_verdicts_are_those_of_the_library(version, attack, player):
    benchmark = AgentDojo(version=version, attack=attack, progress_bar=False)
    tasks = benchmark.load_tasks()
    assert len(tasks) == {None: 97, "dos": 97, "important_instructions": 629}.get(attack, 949)
    counts = Counter()

    for task, verdict in played(benchmark, tasks[::STEP], player):
        case = {"suite": task.metadata["domain"], **task.environment_data}
        useful, attacked = original_verdict(case, attack, player)
        found = verdict["useful"], verdict.get("resisted")
        assert found == (useful, not attacked if attack else None), task.id
        assert verdict["passed"] == (found[1] if attack else useful)
        counts.update(useful=useful, attacked=bool(attack and attacked), cases=1)

    if player == "gold":
        assert counts["useful"] == counts["cases"] and not counts["attacked"]
    if player == "noisy":
        assert counts["useful"] > 0
        few = counts["cases"] < 10  # of a sample, all may be useful
        assert attack is None or few or counts["useful"] < counts["cases"]
    print(version, attack, player, dict(counts))
