"""Setup hooks are called in order, with or without seeds."""

from typing import Any

from maseval.core.seeding import DefaultSeedGenerator, SeedGenerator
from maseval.core.task.task import Task
from maseval.core.tracing import JsonObject
from maseval.core.user import User
from tests.core.worlds import Customer, Judge, Shop, Worker, World, only, tasks


class Seeded(Shop):
    def setup_environment(
        self, agent_data: dict[str, str], task: Task, seed_generator: DefaultSeedGenerator
    ) -> World:
        self.called = [("environment", agent_data, task.id, seed_generator.derive_seed("env"))]
        return World({})

    def setup_user(
        self, agent_data: JsonObject, environment: Any, task: Task, seed_generator: SeedGenerator
    ) -> User | None:
        self.called.append(("user", agent_data, type(environment), seed_generator is not None))
        return Customer("hello", "bye")

    def setup_agents(
        self,
        agent_data: dict[str, str],
        environment: World,
        task: Task,
        user: Customer,
        seed_generator: DefaultSeedGenerator,
    ) -> tuple[tuple[Worker], dict[str, Any]]:
        self.called.append(("agents", agent_data, type(user), seed_generator is not None))
        worker = Worker()
        return (worker,), {"main": worker, "helper": Worker()}

    def setup_evaluators(
        self,
        environment: World,
        task: Task,
        agents: tuple[Worker],
        user: Customer,
        seed_generator: DefaultSeedGenerator,
    ) -> tuple[Judge]:
        self.called.append(("evaluators", len(agents), type(user), seed_generator is not None))
        return (Judge(task, environment, user),)


class Seedless(Shop):
    def setup_environment(self, agent_data: dict[str, Any], task: Task) -> World:
        return World({})

    def setup_user(self, agent_data: JsonObject, environment: Any, task: Task) -> User | None:
        return None

    def setup_agents(
        self, agent_data: dict[str, Any], environment: World, task: Task, user: None
    ) -> tuple[list[Worker], dict[str, Any]]:
        worker = Worker()
        return [worker], {"worker": worker}

    def setup_evaluators(
        self, environment: World, task: Task, agents: list[Worker], user: None
    ) -> list[Judge]:
        return [Judge(task, environment)]


class Sweeping(Shop):
    def setup_environment(self, *args: Task | dict[str, Any], **kwargs: Any) -> World:
        self.kwargs = kwargs
        return World({})


def test_hooks_are_called_in_order_with_seeds():
    shop = Seeded(seed=1)
    report = only(shop.run(tasks("a"), {"model": "m"}))

    seed = report["config"]["seeding"]["seed_generator"]["seeds"]["env"]
    assert shop.called == [
        ("environment", {"model": "m"}, "a", seed),
        ("user", {"model": "m"}, World, True),
        ("agents", {"model": "m"}, Customer, True),
        ("evaluators", 1, Customer, True),
    ]
    assert isinstance(seed, int)
    assert set(report["traces"]["agents"]) == {"main", "helper"}
    assert report["traces"]["user"]["type"] == "Customer"


def test_a_hook_may_leave_the_seeds_out_or_take_whatever_comes():
    without, sweeping = Seedless(), Sweeping()
    for shop in (without, sweeping):
        assert only(shop.run(tasks("a")))["status"] == "success"

    assert set(sweeping.kwargs) == {"seed_generator"}


def test_each_repetition_has_seeds_of_its_own_that_do_not_depend_on_the_order():
    def seeds(workers, ids):
        shop = Seeded(seed=1, num_workers=workers, n_task_repeats=2)
        return {
            (report["task_id"], report["repeat_idx"]): report["config"]["seeding"][
                "seed_generator"
            ]["seeds"]["env"]
            for report in shop.run(tasks(*ids))
        }

    straight = seeds(1, "abc")
    assert len(set(straight.values())) == 6
    assert seeds(4, "cba") == straight
