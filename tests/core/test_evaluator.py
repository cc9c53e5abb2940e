import pytest

from maseval.core.environment import Environment
from maseval.core.evaluator import Evaluator
from maseval.core.task import Task


class Nowhere(Environment):
    def setup_state(self, task_data):
        return None

    def create_tools(self):
        return {}


class SaysYes(Evaluator):
    def __call__(self, traces, final_answer=None):
        return {"passed": final_answer == "yes", "seen": self.filter_traces(traces)}


def test_by_default_an_evaluator_sees_all_traces():
    evaluator = SaysYes(Task(query="well?"), Nowhere({}))

    assert evaluator({"agents": {}}, "yes") == {"passed": True, "seen": {"agents": {}}}


def test_it_keeps_what_it_was_given():
    task, environment = Task(query="well?"), Nowhere({})

    evaluator = SaysYes(task, environment)

    assert (evaluator.task, evaluator.environment, evaluator.user) == (task, environment, None)


def test_an_evaluator_that_judges_nothing_cannot_be_made():
    with pytest.raises(TypeError, match="__call__"):
        Evaluator(Task(query="well?"), Nowhere({}))
