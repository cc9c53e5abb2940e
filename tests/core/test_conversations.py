import pickle
import threading

from maseval import MessageHistory
from maseval.core.context import Conversations, Said, last_said
from maseval.core.messages import tool_call
from maseval.core.registry import ComponentRegistry
from tests.core.worlds import Shop, Worker, tasks


class Talker(Worker):
    """An agent that keeps its messages."""

    def __init__(self, *said, name="worker"):
        super().__init__(name=name)
        self.messages = MessageHistory()
        for role, content, timestamp in said:
            self.messages.add_message(role, content, timestamp=timestamp)


def registry_of(*agents):
    registry = ComponentRegistry()
    for agent in agents:
        registry.register("agents", agent.name, agent)
    return registry


def test_the_latest_message_of_all_participants_counts():
    slow = Talker(("user", "hello", "2025-01-01"), ("assistant", "Hm.", "2025-01-03"), name="slow")
    quick = Talker(("assistant", "Yes!", "2025-01-02"), name="quick")

    assert last_said(registry_of(slow, quick, Worker(name="silent"))) == Said("assistant", "Hm.", 2)
    assert last_said(registry_of(Worker())) is None


def test_a_message_without_words_says_what_it_calls():
    agent = Talker()
    agent.messages.add_tool_call([tool_call("look", {"at": "7"}), tool_call("wait")])

    assert last_said(registry_of(agent)) == Said("assistant", 'look({"at": "7"}), wait({})', 1)


def test_an_agent_that_cannot_be_read_just_now_says_nothing():
    class Busy(Talker):
        def get_messages(self):
            raise RuntimeError("list changed size during iteration")

    agent = Talker(("user", "hello", "2025-01-01"), name="other")
    assert last_said(registry_of(Busy(), agent)) == Said("user", "hello", 1)


def test_a_running_repetition_can_be_asked_and_one_that_is_over_cannot():
    begun, asked = threading.Event(), threading.Event()

    class Guide(Talker):
        def _run_agent(self, query):
            self.messages.add_message("user", query)
            begun.set()
            assert asked.wait(60)
            return "done"

    shop = Shop(setup_agents=lambda *args, **kwargs: ([guide := Guide()], {guide.name: guide}))
    run = threading.Thread(target=shop.run, args=(tasks("a"),))
    run.start()
    assert begun.wait(60)
    during, another = shop.last_said("a", 0), shop.last_said("a", 1)
    asked.set()
    run.join()

    assert (during, another) == (Said("user", "do a", 1), None)
    assert shop.last_said("a", 0) is None


def test_another_process_says_by_itself_what_was_said_there():
    here = Conversations()
    here.note(("a", 0), Said("user", "hi", 1))

    assert here.last(("a", 0)) == Said("user", "hi", 1)
    assert pickle.loads(pickle.dumps(here)).last(("a", 0)) is None
    here.forget(("a", 0))
    assert here.last(("a", 0)) is None


def test_an_attempt_that_outlives_the_next_one_does_not_end_it():
    talks, first, second = (
        Conversations(),
        registry_of(Talker()),
        registry_of(Talker(("user", "b", "2"))),
    )
    late = talks.open(("a", 0), first)
    late.__enter__()
    with talks.open(("a", 0), second):
        late.__exit__(None, None, None)
        assert talks.last(("a", 0)) == Said("user", "b", 1)
    assert talks.last(("a", 0)) is None
