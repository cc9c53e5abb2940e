"""One repetition by hand, hook by hook."""

import pytest

from maseval import AgentError, Usage
from maseval.core.callbacks import FileResultLogger, read_reports
from maseval.core.context import TaskContext
from maseval.core.exceptions import ConfigurationError, HookResultError
from maseval.runs import RunFolder, run_into, task_ids
from tests.core.engine.test_participants import Seeded
from tests.core.worlds import Customer, Judge, Shop, Worker, World, failing, only, tasks

[TASK] = tasks("a")


def test_a_part_is_made_by_its_hook_and_by_no_other():
    shop = Seeded(seed=1)
    walk = shop.walk_through(TASK, {"model": "m"})

    assert isinstance(walk.environment, World)
    assert [called[0] for called in shop.called] == ["environment"]
    assert isinstance(walk.user, Customer)
    assert [called[0] for called in shop.called] == ["environment", "user"]
    assert walk.environment is walk.environment


def test_a_part_brings_those_it_needs():
    shop = Seeded()

    assert list(shop.walk_through(TASK).agents) == ["main", "helper"]
    assert [called[0] for called in shop.called] == ["environment", "user", "agents"]


def test_the_steps_give_what_a_run_gives():
    report = only(Shop(seed=1).run(TASK))
    walk = Shop(seed=1).walk_through(TASK)

    assert walk.execute() == report["final_answer"]
    assert walk.evaluate() == report["eval"]
    assert walk.collect_traces().keys() == report["traces"].keys()
    assert walk.collect_traces()["agents"].keys() == report["traces"]["agents"].keys()
    assert walk.collect_configs().keys() == report["config"].keys()
    assert walk.collect_usage().keys() == report["usage"].keys()


def test_asking_for_the_verdict_alone_takes_every_step_once():
    worker = Worker()
    shop = Shop(setup_agents=lambda *a, **k: ([worker], {"worker": worker}))

    assert shop.walk_through(TASK).evaluate() == [{"passed": True, "answer": "did do a"}]
    assert worker.runs == 1


def test_a_part_can_be_replaced():
    walk = Shop(failing(RuntimeError("the real one must not run"))).walk_through(TASK)
    walk.agents_to_run = [Worker(str.upper)]

    assert walk.execute() == "DO A"


def test_what_a_step_raises_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        Shop(failing(ZeroDivisionError())).walk_through(TASK).execute()
    with pytest.raises(HookResultError, match="setup_evaluators"):
        _ = Shop(setup_evaluators=lambda *a, **k: None).walk_through(TASK).evaluators


def test_a_step_is_taken_inside_the_repetition_and_leaves_it():
    seen = []
    walk = Shop(lambda query: seen.append(TaskContext.current())).walk_through(TASK)
    walk.execute()

    assert seen == [walk.context]
    assert walk.context.deadline is None
    with pytest.raises(RuntimeError):
        TaskContext.current()


class Strict(Judge):
    """Passes nothing, and says what it looked at."""

    def __call__(self, traces, final_answer=None):
        return {"passed": False, "saw": [final_answer, traces["agents"]["worker"]["type"]]}


class Counting(Shop):
    """Counts how often agents are set up and run."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.agents = []

    def setup_agents(self, *args, **kwargs):
        agents, by_name = super().setup_agents(*args, **kwargs)
        self.agents += agents
        return agents, by_name

    @property
    def runs(self):
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

    def setup_environment(self, agent_data, task):
        raise AssertionError("no environment may be set up")

    def setup_evaluators(self, environment, task, agents, user, seed_generator=None):
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
