"""Hooks written with ``async def``: the engine waits for them."""

import asyncio
from typing import Any

import pytest

from maseval import AgentAdapter, AgentError, Evaluator, Task
from maseval.core.context import TaskContext
from maseval.core.seeding import DefaultSeedGenerator
from tests.core.worlds import Customer, Judge, Shop, Worker, World, only, tasks


class Slow(AgentAdapter):
    async def _run_agent(self, query: str) -> Any:
        await asyncio.sleep(0)
        return f"did {query}"


def slow_agents(
    *args: Task | World | dict[str, Any] | None, **kwargs: Any
) -> tuple[list[Slow], dict[str, Any]]:
    agent = Slow(None, "slow")
    return [agent], {"slow": agent}


@pytest.mark.parametrize("workers", [1, 3])
def test_an_async_agent_is_waited_for(workers):
    reports = Shop(setup_agents=slow_agents, num_workers=workers).run(tasks("a", "b", "c"))

    assert {report["final_answer"] for report in reports} == {f"did do {one}" for one in "abc"}


def test_an_async_agent_is_waited_for_where_a_loop_runs():
    async def notebook():
        return Shop(setup_agents=slow_agents).run(tasks("a"))

    assert only(asyncio.run(notebook()))["final_answer"] == "did do a"


async def run_agents(agents: list[Worker], task: Task, environment: World, query: str) -> str:
    await asyncio.sleep(0)
    return agents[0].run(query)


async def execution_loop(agents: list[Worker], task: Task, environment: World, user: None) -> str:
    return await run_agents(agents, task, environment, task.query)


async def evaluate(
    evaluators: list[Judge], agents: dict[str, Any], final_answer: str, traces: dict[str, Any]
) -> list[dict[str, Any]]:
    return [evaluator(traces, final_answer) for evaluator in evaluators]


async def setup_environment(
    agent_data: dict[str, Any], task: Task, seed_generator: DefaultSeedGenerator
) -> World:
    return World(task.environment_data)


async def setup_user(
    agent_data: dict[str, Any], environment: World, task: Task, seed_generator: DefaultSeedGenerator
) -> Customer:
    return Customer("hello", "bye")


async def setup_agents(
    agent_data: dict[str, Any],
    environment: World,
    task: Task,
    user: None,
    seed_generator: DefaultSeedGenerator,
) -> tuple[list[Worker], dict[str, Any]]:
    return [Worker()], {}


async def setup_evaluators(
    environment: World,
    task: Task,
    agents: list[Worker],
    user: None,
    seed_generator: DefaultSeedGenerator,
) -> list[Judge]:
    return [Judge(task, environment)]


@pytest.mark.parametrize(
    "hook",
    [
        *(run_agents, execution_loop, evaluate),
        *(setup_environment, setup_user, setup_agents, setup_evaluators),
    ],
    ids=lambda hook: hook.__name__,
)
def test_an_async_hook_is_waited_for(hook):
    report = only(Shop(**{hook.__name__: hook}).run(tasks("a")))

    assert report["status"] == "success", report["error"]
    said = "hello" if hook is setup_user else "do a"
    assert report["final_answer"] == f"did {said}"
    assert report["eval"] == [{"passed": True, "answer": f"did {said}"}]


def test_an_async_evaluator_is_waited_for():
    class Thinking(Evaluator):
        async def filter_traces(self, traces):
            return {"agents": len(traces["agents"])}

        async def __call__(self, traces, final_answer=None):
            await asyncio.sleep(0)
            return {"passed": traces == {"agents": 1}}

    report = only(Shop(judge=Thinking).run(tasks("a")))

    assert report["eval"] == [{"passed": True}]


def test_an_async_user_is_waited_for():
    class Patient(Customer):
        async def respond(self, message):
            return super().respond(message)

    user = Patient("hello", "more", "bye")
    report = only(Shop(setup_user=lambda *a, **k: user, max_invocations=5).run(Task("x")))

    assert (report["final_answer"], user.heard) == ("did more", ["did hello", "did more"])


def test_async_code_belongs_to_its_repetition_and_its_failures_are_its_own():
    class Failing(Slow):
        async def _run_agent(self, query):
            TaskContext.current().check_timeout()
            raise AgentError("lost")

    agent = Failing(None, "slow")
    report = only(Shop(setup_agents=lambda *a, **k: ([agent], {"slow": agent})).run(tasks("a")))

    assert (report["status"], report["error"]["error_type"]) == ("agent_error", "AgentError")
    assert agent.logs[-1]["query"] == "do a"
