"""The questions as tasks."""

import json
from collections.abc import Sequence
from importlib.resources import files

from maseval.core.exceptions import TaskFormatError
from maseval.core.task import Task, TaskQueue


def load_tasks(subject: str | None = None) -> TaskQueue:
    """Return all questions, or those of one subject: ``amounts``, ``order`` or ``things``."""
    text = (files("maseval.benchmark.choices") / "questions.json").read_text("utf-8")
    entries = [entry for entry in json.loads(text) if subject in (None, entry["subject"])]
    if not entries:
        raise TaskFormatError(
            f"there are no questions on {subject!r}; choose amounts, order or things"
        )
    return TaskQueue(
        [
            choice_task(
                entry["id"],
                entry["question"],
                [entry["answer"], *entry["others"]],
                subject=entry["subject"],
            )
            for entry in entries
        ]
    )


def choice_task(
    id: str, question: str, choices: Sequence[str], answer: int = 0, subject: str = ""
) -> Task:
    """Return a question with its choices, of which the one numbered ``answer`` is right.

    Before it is asked, the choices are put in an order that depends on the question alone, or with
    a seed on that.
    """
    if len(set(choices)) != len(choices) or not 2 <= len(choices) <= 26:
        raise TaskFormatError(
            f"question {id!r} has the choices {list(choices)!r}; give 2 to 26 different ones"
        )
    if not 0 <= answer < len(choices):
        raise TaskFormatError(
            f"question {id!r} has {len(choices)} choices, so its answer cannot be {answer}"
        )
    return Task(
        query=question,
        id=id,
        environment_data={"question": question, "choices": list(choices)},
        evaluation_data={"answer": choices[answer]},
        metadata={"domain": subject} if subject else {},
    )
