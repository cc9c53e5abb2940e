"""Results files that are not what they seem, made from an honest one.

Each change is one that was met in, or could be made to, a real file. What every one of them has
in common: no number that is shown for it may be better than that of the honest file.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from maseval.benchmark.tau2.formats.simulation import trial_seed

Document = dict[str, Any]


def relabelled_failures(document: Document) -> None:
    """Failures that call themselves accidents of the machine."""
    for simulation in failures(document):
        simulation["termination_reason"] = "infrastructure_error"


def deleted_failures(document: Document) -> None:
    """Failures that are not there any more, though their tasks are listed."""
    gone = [id(each) for each in failures(document)]
    document["simulations"] = [each for each in document["simulations"] if id(each) not in gone]


def unlisted_failures(document: Document) -> None:
    """Tasks with a failure that are not there at all, nor listed."""
    gone = {each["task_id"] for each in failures(document)}
    kept = [each for each in document["simulations"] if each["task_id"] not in gone]
    document["simulations"] = kept
    document["tasks"] = [task for task in document["tasks"] if task["id"] not in gone]


def emptied_criteria(document: Document) -> None:
    """Tasks that ask for nothing, and verdicts to match."""
    for task in document["tasks"]:
        task["evaluation_criteria"] = {"actions": None, "reward_basis": ["DB", "COMMUNICATE"]}
    for simulation in document["simulations"]:
        simulation["reward_info"] = {
            "reward": 1.0,
            "db_check": {"db_match": True, "db_reward": 1.0},
            "reward_basis": ["DB", "COMMUNICATE"],
            "reward_breakdown": {"COMMUNICATE": 1.0},
        }


def faked_rewards(document: Document) -> None:
    """Rewards of 1 that contradict their checks."""
    for simulation in document["simulations"]:
        simulation["reward_info"]["reward"] = 1.0


def faked_verdicts(document: Document) -> None:
    """Whole verdicts that were made up, in agreement with themselves."""
    for simulation in failures(document):
        verdict = simulation["reward_info"]
        verdict["reward"] = 1.0
        verdict["reward_breakdown"] = dict.fromkeys(verdict["reward_breakdown"] or {}, 1.0)
        verdict["db_check"] = {"db_match": True, "db_reward": 1.0}
        for checks in ("env_assertions", "communicate_checks"):
            for check in verdict[checks] or ():
                check.update(met=True)
        for check in verdict["action_checks"] or ():
            check.update(action_match=True)


def copied_conversations(document: Document) -> None:
    """One trial of every task, sold as two by changing ids."""
    first = [each for each in document["simulations"] if each["trial"] == 0]
    again = [
        {**copy.deepcopy(each), "id": f"{each['id']}-2", "trial": 1, "seed": None} for each in first
    ]
    document["info"]["num_trials"] = 2
    document["simulations"] = first + again


def repeated_trials(document: Document) -> None:
    """The successes twice, under the same numbers."""
    good = [each for each in document["simulations"] if each["reward_info"]["reward"] == 1]
    extra = [{**copy.deepcopy(each), "id": f"{each['id']}-2"} for each in good]
    document["simulations"] += extra


def shuffled_task_ids(document: Document, by: int = 5) -> None:
    """Every task and its simulations under the id of another."""
    ids = [task["id"] for task in document["tasks"]]
    other = dict(zip(ids, ids[by:] + ids[:by], strict=True))
    for task in document["tasks"]:
        task["id"] = other[task["id"]]
    for simulation in document["simulations"]:
        simulation["task_id"] = other[simulation["task_id"]]


def foreign_domain_name(document: Document) -> None:
    """A variant of the domain under a name and a policy of its own."""
    document["info"]["environment_info"].update(domain_name="tighter_policy", policy="Be strict.")


def domain_elsewhere(document: Document) -> None:
    """The domain's name is not where v0.2.0 writes it."""
    environment = document["info"].pop("environment_info")
    document["info"]["domain"] = environment["domain_name"]


def unknown_endings(document: Document) -> None:
    """Endings of a newer release, in the middle of a conversation."""
    for simulation in failures(document):
        simulation["termination_reason"] = "agent_error"
        simulation["messages"].pop()
        simulation["reward_info"] = {"reward": 0.0}


def missing_trials(document: Document) -> None:
    """The last trial of the first task is not there."""
    task = document["tasks"][0]["id"]
    last = max(each["trial"] for each in document["simulations"])
    document["simulations"] = [
        each for each in document["simulations"] if (each["task_id"], each["trial"]) != (task, last)
    ]


def edited_messages(document: Document) -> None:
    """A tool's answer that no tool gives."""
    next(answers(document))["content"] = "{}"


def deleted_messages(document: Document) -> None:
    """Calls whose answers were cut out."""
    for simulation in document["simulations"]:
        messages = simulation["messages"]
        tools = [number for number, each in enumerate(messages) if each["role"] == "tool"]
        if tools:
            del messages[tools[0]]
            return


def changed_tools(document: Document) -> None:
    """A tool that the domain does not have gives an answer."""
    for simulation in document["simulations"]:
        for message in simulation["messages"]:
            for call in message.get("tool_calls") or ():
                call["name"] = f"{call['name']}_v2"


def other_data(document: Document) -> None:
    """Answers from another database."""
    for answer in answers(document):
        answer["content"] = (answer["content"] or "").replace("2", "3").replace("a", "o")


def foreign_task(document: Document) -> None:
    """One task that the benchmark does not have."""
    other = document["tasks"][0]["id"]
    document["tasks"][0]["id"] = "made_up"
    for simulation in document["simulations"]:
        if simulation["task_id"] == other:
            simulation["task_id"] = "made_up"


def other_task_version(document: Document) -> None:
    """One task with other instructions."""
    document["tasks"][0]["user_scenario"]["instructions"] = "Ask for something else."


def malformed_simulation(document: Document) -> None:
    """A simulation whose messages are not messages."""
    document["simulations"][0]["messages"] = "lost"


def from_a_model(document: Document) -> None:
    """An honest file of a sampled model: each says what it says in words of its own."""
    info, chance = document["info"], random.Random(1)
    info["agent_info"]["llm"] = info["user_info"]["llm"] = "some-model"
    info["seed"] = 300
    for simulation in document["simulations"]:
        simulation["seed"] = trial_seed(300, simulation["trial"])
        for message in simulation["messages"]:
            if message["role"] == "user":
                words = " ".join(f"word{chance.randrange(10**6)}" for _ in range(30))
                message["content"] = f"{words} {message['content'] or ''}"
                message["usage"] = {"completion_tokens": 120, "prompt_tokens": 900}


def other_runs(document: Document) -> None:
    """Successes of another run in the place of failures, with the seeds that they had there."""
    from_a_model(document)
    for simulation in failures(document):
        simulation["seed"] = 4711


def timely_ends(document: Document) -> None:
    """Conversations that ran out of steps, sold as ended by the user."""
    for simulation in failures(document):
        simulation["termination_reason"] = "user_stop"
        if simulation["messages"][-1]["role"] == "user":
            simulation["messages"].pop()


def repeated_ids(document: Document) -> None:
    """One id for all."""
    for simulation in document["simulations"]:
        simulation["id"] = "one"


def failures(document: Document) -> list[Document]:
    return [each for each in document["simulations"] if each["reward_info"]["reward"] < 1]


def answers(document: Document) -> Any:
    for simulation in document["simulations"]:
        yield from (each for each in simulation["messages"] if each["role"] == "tool")


def swapped_endings(document: Document) -> None:
    for simulation in document["simulations"]:
        simulation["termination_reason"] = "agent_stop"


class Doctored(NamedTuple):
    """A change, and the kind of finding that must be named for it."""

    change: Callable[[Document], None]
    kind: str
    evidence: str = ""


CORPUS = [
    Doctored(relabelled_failures, "relabelled simulations", "'infrastructure_error'"),
    Doctored(deleted_failures, "missing simulations", "planned simulations are missing"),
    Doctored(emptied_criteria, "criteria removed", "tasks in the file are not the benchmark's"),
    Doctored(faked_rewards, "edited rewards", "the record contradicts itself"),
    Doctored(faked_verdicts, "other rules or edited checks", "recorded 1, recomputed 0"),
    Doctored(repeated_trials, "repeated trials", "more than once"),
    Doctored(shuffled_task_ids, "task ids shuffled", "checks belong to another task"),
    Doctored(unknown_endings, "unknown ends", "'agent_error', which v0.2.0 does not have"),
    Doctored(missing_trials, "missing simulations", "1 of 24 planned simulations"),
    Doctored(edited_messages, "edited messages", "differs from the recorded one"),
    Doctored(deleted_messages, "missing messages", "answers do not match"),
    Doctored(changed_tools, "changed tools", "tools that the domain does not have"),
    Doctored(other_data, "other data version", "differs from the recorded one"),
    Doctored(foreign_task, "foreign tasks", "made_up"),
    Doctored(other_task_version, "other task version", "instructions in 1"),
    Doctored(malformed_simulation, "unreadable simulations", "messages"),
    Doctored(other_runs, "foreign seeds", "has 4711, not"),
    Doctored(timely_ends, "impossible ends", "is not the user's stop"),
]

CAUTIONS = [
    Doctored(swapped_endings, "ended by the other side", "in 24 of 24 simulations"),
    Doctored(copied_conversations, "repeated times", "12 of 24 simulations share the times of"),
    Doctored(repeated_ids, "repeated id", "23 of 24 simulations share the id of another"),
    Doctored(unlisted_failures, "part of a split", "over all 12, pass^1 lies between"),
]


def doctored(honest: Document, change: Callable[[Document], None]) -> str:
    """The text of an honest file after a change."""
    document = copy.deepcopy(honest)
    change(document)
    return json.dumps(document)
