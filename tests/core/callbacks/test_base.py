import pytest

from maseval.core.callbacks import BenchmarkCallback, CallbackHandler
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import SequentialTaskQueue, Task
from tests.core.task.building import InOrder


def test_an_adaptive_queue_counts_as_a_callback_and_other_queues_do_not():
    assert isinstance(InOrder([Task(query="q")]), BenchmarkCallback)
    assert not isinstance(SequentialTaskQueue([Task(query="q")]), BenchmarkCallback)


def test_a_handler_calls_its_functions_in_order_until_they_are_deregistered():
    said: list[tuple[str, int]] = []
    handler = CallbackHandler()

    def first(number):
        said.append(("first", number))

    def second(number):
        said.append(("second", number))

    handler.register(first)
    handler.register(second)
    handler.invoke(1)
    handler.deregister(first)
    handler.invoke(number=2)

    assert said == [("first", 1), ("second", 1), ("second", 2)]
    assert handler.callbacks == [second]


def test_a_function_may_deregister_itself_while_it_is_called():
    handler = CallbackHandler()
    said = []

    def once():
        handler.deregister(once)
        said.append("once")

    handler.register(once)
    handler.register(lambda: said.append("always"))
    handler.invoke()
    handler.invoke()

    assert said == ["once", "always", "always"]


def test_deregistering_a_stranger_is_refused_as_a_value_error():
    with pytest.raises(ConfigurationError, match=r"register\(\) was given"):
        CallbackHandler().deregister(print)
    assert issubclass(ConfigurationError, ValueError)
