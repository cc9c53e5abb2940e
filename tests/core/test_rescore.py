"""Finished repetitions evaluated again."""

from typing import Any

import pytest

from maseval import AgentError, Usage
from maseval.core.callbacks import FileResultLogger, read_reports
from maseval.core.exceptions import ConfigurationError
from maseval.core.seeding import DefaultSeedGenerator
from maseval.core.task.task import Task
from maseval.runs import RunFolder, run_into, task_ids
from tests.core.worlds import Judge, Shop, Worker, World, failing, tasks


class Strict(Judge):
    """Passes nothing, and says what it looked at."""

    def __call__(self, traces: dict[str, Any], final_answer: Any = None) -> dict[str, Any]:
        return {"passed": False, "saw": [final_answer, traces["agents"]["worker"]["type"]]}


class Counting(Shop):
    """Counts how often agents are set up and run."""

    def __init__(self, *args: object, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agents = []

    def setup_agents(
        self, *args: Task | World | dict[str, Any] | None, **kwargs: Any
    ) -> tuple[list[Worker], dict[str, Any]]:
        agents, by_name = super().setup_agents(*args, **kwargs)
        self.agents += agents
        return agents, by_name

    @property
    def runs(self) -> int:
        return sum(agent.runs for agent in self.agents)


def test_a_changed_evaluator_gives_changed_verdicts_and_no_agent_runs():
    shop = Counting(n_task_repeats=2)
    before = shop.run(tasks("a", "b"))
    shop.judge = Strict
    after = shop.rescore(before)

    assert shop.runs == 4
    assert len(shop.agents) == 4
    assert [report["eval"] for report in after] == [
        [{"passed": False, "saw": [report["final_answer"], "Worker"]}] for report in before
    ]
    assert all(report["eval"][0]["passed"] for report in before)
    unchanged = {"eval"}
    assert [{k: v for k, v in r.items() if k not in unchanged} for r in after] == [
        {k: v for k, v in r.items() if k not in unchanged} for r in before
    ]
    assert list(after[0]) == list(before[0])


def test_reports_from_disk_are_judged_by_a_benchmark_that_never_ran(tmp_path):
    logger = FileResultLogger(tmp_path, "results.jsonl")
    Shop({"b": failing(AgentError("bad"))}, callbacks=[logger]).run(tasks("a", "b"))
    saved = read_reports(tmp_path / "results.jsonl")

    shop = Counting(judge=Strict, tasks=tasks("a", "b"))
    judged = {report["task_id"]: report for report in shop.rescore(saved)}

    assert shop.runs == 0
    assert judged["a"]["eval"] == [{"passed": False, "saw": ["did do a", "Worker"]}]
    assert judged["b"] == next(report for report in saved if report["task_id"] == "b")


def test_an_evaluation_that_failed_can_be_made_good_and_the_other_way_round():
    shop = Shop(evaluate=failing(ValueError("no verdict")))
    failed = shop.run(tasks("a"))
    good = Shop().rescore(failed, tasks("a"))
    again = shop.rescore(good)

    assert failed[0]["status"] == again[0]["status"] == "evaluation_failed"
    assert again[0]["error"]["error_message"] == "no verdict"
    assert again[0]["eval"] is None
    assert good[0]["status"] == "success"
    assert good[0]["error"] is None
    assert good[0]["eval"] == [{"passed": True, "answer": "did do a"}]


def test_evaluators_are_set_up_with_the_agent_data_of_their_task():
    seen = []

    class Reading(Shop):
        def setup_environment(self, agent_data, task):
            seen.append(agent_data)
            return super().setup_environment(agent_data, task, None)

    reports = Shop().run(tasks("a"))
    Reading(agent_data={"judge": "default"}).rescore(reports, tasks("a"))
    Reading(agent_data={"judge": "default"}).rescore(reports, tasks("a"), {"judge": "given"})

    assert seen == [{"judge": "default"}, {"judge": "given"}]


class Ruined(Shop):
    """A shop that cannot be set up any more, and a judge who does not look at it."""

    evaluators_need_environment = False

    def setup_environment(self, agent_data: Any, task: Any) -> None:
        raise AssertionError("no environment may be set up")

    def setup_evaluators(
        self,
        environment: None,
        task: Task,
        agents: list[Any],
        user: None,
        seed_generator: DefaultSeedGenerator | None = None,
    ) -> list[Strict]:
        assert (environment, agents, user) == (None, [], None)
        return [Strict(task, environment)]


def test_evaluators_that_need_no_environment_judge_where_there_is_none(tmp_path):
    before = Shop().run(tasks("a"))

    (after,) = Ruined().rescore(before, tasks("a"))

    assert (after["status"], after["eval"][0]["passed"]) == ("success", False)


def test_a_run_folder_evaluates_again_without_an_environment_either(tmp_path):
    broken, plan = Shop(evaluate=failing(ValueError("no verdict"))), task_ids(tasks("a"))
    with RunFolder.open(tmp_path / "run", {"tasks": plan, "trials": 1}) as folder:
        run_into(folder, broken, tasks("a"))
        run_into(folder, Ruined(), tasks("a"))

    [report] = RunFolder.read(tmp_path / "run").reports()
    assert (report["status"], report["eval"][0]["passed"]) == ("success", False)


def test_what_a_judge_costs_counts_again():
    class Costly(Shop):
        def evaluate(self, *args):
            self.get_model_adapter("scripted/echo", register_name="judge").generate("good? " * 9)
            return super().evaluate(*args)

    shop = Costly()
    reports = shop.run(tasks("a"))
    once = shop.usage
    shop.rescore(reports)

    assert once.input_tokens > 0
    assert shop.usage.input_tokens == 2 * once.input_tokens
    assert shop.usage_by_component.keys() == {"agents:worker", "models:judge"}


def test_a_report_of_an_unknown_task_is_refused_before_anything_is_judged():
    reports = Shop().run(tasks("a", "b"))
    shop = Shop(evaluate=failing(AssertionError("nothing may be judged")))

    with pytest.raises(ConfigurationError, match=r"task 'b' cannot be scored.*1 given.*tasks="):
        shop.rescore(reports, tasks("a"))
    with pytest.raises(ConfigurationError, match="not among the 0 given"):
        Shop().rescore(reports)
    assert shop.usage == Usage()


def test_a_report_without_its_traces_is_refused(tmp_path):
    logger = FileResultLogger(tmp_path, "results.jsonl", include_traces=False)
    Shop(callbacks=[logger]).run(tasks("a"))
    saved = read_reports(tmp_path / "results.jsonl")

    with pytest.raises(ConfigurationError, match=r"lacks traces; .*include_traces=True"):
        Shop().rescore(saved, tasks("a"))
