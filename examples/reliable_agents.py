"""Agents that differ in one thing each, for docs/reliability.md; none needs a model.

They know the reference solution of the library's tasks. ``careful`` tries again where a tool fails,
``fragile`` does not, ``erratic`` forgets a call now and then, and ``generous`` waives a fine of
somebody else. Each says how sure it is when it is asked after the end.
"""

import random

from maseval.benchmark.tau2 import load_tasks

_TASKS = list(load_tasks("library"))
_TRIES = 8


def careful(brief):
    return _agent(brief)


def fragile(brief):
    return _agent(brief, tries=1)


def erratic(brief):
    return _agent(brief, forgets=0.25)


def generous(brief):
    return _agent(brief, beside=("waive_fine", {"fine_id": "F-403"}))


def _agent(brief, tries=_TRIES, forgets=0.0, beside=None):
    chance = random.Random(brief.seed)
    forgot = []

    def call(name, arguments):
        for _ in range(tries):
            answer = brief.tools[name](**arguments)
            if "Try again." not in answer:
                return

    def answer(said):
        if said.startswith("The conversation is over."):
            return "35" if forgot else "95"
        task = next((each for each in _TASKS if _reason_of(each) in said), None)
        if task is None:
            return "Is there anything else?"
        for action in task.evaluation_data["actions"]:
            if action.get("requestor", "assistant") != "assistant":
                continue
            if chance.random() < forgets:
                forgot.append(action)
            else:
                call(action["name"], action["arguments"])
        if beside is not None:
            call(*beside)
        told = task.evaluation_data["communicate_info"] or ()
        return " ".join(["It is done.", *told])

    return answer


def _reason_of(task):
    return task.user_data["instructions"]["reason_for_call"]
