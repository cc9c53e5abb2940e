"""Multiple choice: plain models compared by which of four answers they find likeliest.

The questions are our own, few and easy to read: they show whether a model and its scorer work, and
how models are compared; with questions of yours it is a benchmark of yours.
"""

from maseval.benchmark.choices.benchmark import (
    ChatChooser,
    ChoicesBenchmark,
    ChoicesEvaluator,
    ScoringChooser,
    Sheet,
)
from maseval.benchmark.choices.tasks import choice_task, load_tasks

__all__ = [
    "ChatChooser",
    "ChoicesBenchmark",
    "ChoicesEvaluator",
    "ScoringChooser",
    "Sheet",
    "choice_task",
    "load_tasks",
]
