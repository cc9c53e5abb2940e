from typing import Any

import pytest

from maseval import (
    AdaptiveTaskQueue,
    Evaluator,
    PriorityTaskQueue,
    ScriptedModelAdapter,
    Task,
    TaskProtocol,
)
from maseval.core.call_policy import CallPolicy
from maseval.core.exceptions import ConfigurationError, RunStoppedError
from maseval.core.outcome import RecordedReport
from maseval.core.provider_errors import AuthenticationError, OverloadedError
from maseval.core.task.queues import SelectedRepetitions, task_queue
from maseval.runs import RunFolder, RunFolderError, Simulation, run_into
from tests.core.worlds import Diary, Shop
from tests.normalised import normalise
from tests.runs.worlds import Desk, config, desk, report, tasks


def test_only_the_missing_trials_are_run(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b", trials=3)) as folder:
        for task_id, trial in (("a", 0), ("a", 2), ("b", 0), ("b", 1), ("b", 2)):
            folder.append(report(task_id, trial))
        diary = Diary()
        benchmark = desk(callbacks=[diary])
        [new] = run_into(folder, benchmark, tasks("a", "b"))
        assert benchmark.callbacks == [diary]

        assert (new["task_id"], new["repeat_idx"]) == ("a", 1)
        assert diary.of("repeat start") == [("a", 1)]
        assert diary.of("task start") == [("a",)] and diary.of("task end") == [("a", 1)]
        assert not folder.missing()
        assert run_into(folder, desk(), tasks("a", "b")) == []


@pytest.mark.parametrize("workers", [1, 4])
def test_a_run_in_pieces_equals_a_run_at_once(tmp_path, workers):
    whole = desk(n_task_repeats=3).run(tasks("a", "b", "c"))
    for piece in (["c"], ["a", "c"], ["a", "b", "c"]):
        with RunFolder.open(tmp_path / "run", config(*piece, trials=len(piece))) as folder:
            run_into(folder, desk(num_workers=workers), tasks(*piece))

    found = RunFolder.read(tmp_path / "run").reports()
    assert [normalise(one) for one in found] == [normalise(one) for one in whole]


def test_agent_data_may_be_given_for_each_task_although_some_are_finished(tmp_path):
    seen = []

    def note(agent_data, task, seed_generator):
        seen.append((task.id, agent_data["model"]))
        return Shop.setup_environment(benchmark, agent_data, task, seed_generator)

    benchmark = Shop(setup_environment=note)
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a"))
        run_into(folder, benchmark, tasks("a", "b"), [{"model": "m"}, {"model": "n"}])

    assert seen == [("b", "n")]


def test_what_failed_for_the_harness_is_run_again_unless_told_otherwise(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        folder.append(report("a", status="environment_error"))
        assert run_into(folder, desk(), tasks("a"), retry_failed=False) == []
        [new] = run_into(folder, desk(), tasks("a"))

        assert new["status"] == "success"
        assert folder.recorded == {Simulation("", "a", 0): "success"}


def judged_by(
    *replies: AuthenticationError | OverloadedError | str, name: str = "judge", **settings: int
) -> Desk:
    """A desk whose judge is a model, and is asked once about each conversation."""

    class Court(Evaluator):
        def __init__(self, task, environment, user, model):
            super().__init__(task, environment, user)
            self.model = model

        def __call__(self, traces, final_answer=None):
            said = self.model.chat([{"role": "user", "content": str(final_answer)}]).content
            return {"passed": said == "yes", "saw": traces["agents"]["clerk"]["messages"]}

    waiting = list(replies)

    def setup_evaluators(environment, task, agents, user, seed_generator):
        model = ScriptedModelAdapter([waiting.pop(0)], model_id=name)
        model.policy = CallPolicy(max_attempts=1)
        return [Court(task, environment, user, benchmark.register("models", "judge", model))]

    benchmark = desk(setup_evaluators=setup_evaluators, **settings)
    return benchmark


DOWN = OverloadedError("try later", provider="acme", status=503)
LOCKED = AuthenticationError("bad key", provider="acme", model_id="judge", status=401)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failed_evaluation_is_made_again_from_the_recorded_conversation(tmp_path, workers):
    def resume(*replies, **more):
        court = judged_by(*replies, num_workers=workers, stop_when_hopeless=True)
        with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
            new = run_into(folder, court, tasks("a", "b"), **more)
            return new, list(folder.reports()), folder.missing()

    first, (before, _), missing = resume(DOWN, DOWN)
    assert {each["status"] for each in first} == {"evaluation_failed"} and missing == []
    assert resume("yes", "yes", retry_failed=False)[0] == []
    new, (after, _), _ = resume("yes", "no")

    assert [each["status"] for each in new] == ["success", "success"]
    for part in ("traces", "final_answer", "started_at", "run_id", "config"):
        assert after[part] == before[part], "no new conversation"
    assert after["eval"][0]["saw"] == before["traces"]["agents"]["clerk"]["messages"]
    assert "clerk" not in str(new[0]["usage"]), "no agent was asked again"
    assert resume("yes", "yes")[0] == []


def test_an_evaluation_that_fails_again_keeps_the_conversation(tmp_path):
    for reply in (DOWN, DOWN, "yes"):
        with RunFolder.open(tmp_path / "run", config("a")) as folder:
            [new] = run_into(folder, judged_by(reply), tasks("a"))
        assert new["final_answer"].startswith("a done")

    assert new["status"] == "success"
    [found] = RunFolder.read(tmp_path / "run").reports()
    assert [each["status"] for each in found["attempts"]] == ["evaluation_failed"] * 2


def test_a_judge_that_is_locked_out_stops_the_run_which_then_resumes(tmp_path):
    court = judged_by(LOCKED, "yes", "yes", name="locked out", stop_when_hopeless=True)
    with RunFolder.open(tmp_path / "run", config("a", "b", "c")) as folder:
        with pytest.raises(RunStoppedError, match="every other task would have failed"):
            run_into(folder, court, tasks("a", "b", "c"))
        assert len(folder.recorded) == 1
        assert len(folder.unevaluated()) == 1 and len(folder.missing()) == 2

        healthy = judged_by("yes", "yes", "yes", stop_when_hopeless=True)
        run_into(folder, healthy, tasks("a", "b", "c"))
        assert set(folder.recorded.values()) == {"success"}


def test_what_was_paid_for_every_attempt_is_in_the_report_that_is_read(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a", "b")) as folder:
        folder.append(report("a", status="provider_error", usage=spent(0.25, 10)))
        folder.append(report("a", status="user_error", usage=spent(0.5, 20)))
        folder.append(report("b", usage=spent(4.0, 1)))
        folder.append(report("a", usage=spent(1.0, 40)))
        open_still = folder.report(Simulation("", "a", 0))

    found = RunFolder.read(tmp_path / "run").report(Simulation("", "a", 0))
    assert found == open_still
    assert [each["status"] for each in found["attempts"]] == ["provider_error", "user_error"]
    parsed = RecordedReport(found)
    assert (parsed.cost, parsed.tokens) == (1.75, 70)


def spent(cost: float, tokens: int) -> dict[str, Any]:
    return {"agents": {"a": {"cost": cost, "input_tokens": tokens}}}


def test_a_task_that_the_run_does_not_have_is_refused(tmp_path):
    unknown = pytest.raises(ConfigurationError, match="b, trial 0 is not part of the run")
    with RunFolder.open(tmp_path / "run", config("a")) as folder, unknown:
        run_into(folder, desk(), tasks("a", "b"))


def test_a_folder_that_is_not_open_is_not_run_into(tmp_path):
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        pass

    with pytest.raises(RunFolderError, match=r"not open; use RunFolder\.open"):
        run_into(folder, desk(), tasks("a"))


def test_a_queue_that_learns_cannot_be_resumed(tmp_path):
    class Learner(AdaptiveTaskQueue):
        initial_state = select_next_task = update_state = lambda *_: None

    with (
        RunFolder.open(tmp_path / "run", config("a")) as folder,
        pytest.raises(ConfigurationError, match="cannot be resumed"),
    ):
        run_into(folder, desk(), Learner(tasks("a")))


def test_ctrl_c_leaves_what_is_finished(tmp_path):
    def interrupted(query):
        if query == "do b":
            raise KeyboardInterrupt
        return "done"

    with (
        RunFolder.open(tmp_path / "run", config("a", "b", "c")) as folder,
        pytest.raises(KeyboardInterrupt),
    ):
        run_into(folder, Shop(interrupted), tasks("a", "b", "c"))

    with RunFolder.open(tmp_path / "run", config("a", "b", "c")) as folder:
        assert [one.task_id for one in folder.missing()] == ["b", "c"]


def test_selected_repetitions_keep_the_order_of_their_queue():
    first, second = (
        Task("", id=each, protocol=TaskProtocol(priority=rank))
        for each, rank in (("low", 1), ("high", 2))
    )
    queue = SelectedRepetitions(PriorityTaskQueue([first, second]), {"low": [1], "high": [0, 5]})

    assert [task.id for task in queue] == ["high", "low"]
    assert list(queue.repetitions_of(second, 2)) == [0, 5]
    assert list(task_queue([second]).repetitions_of(second, 2)) == [0, 1]
