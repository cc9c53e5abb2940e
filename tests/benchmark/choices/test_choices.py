"""Multiple choice: scorers and chat models are compared on the same questions."""

import pytest

from maseval import ScriptedModelAdapter, ScriptedModelScorer, register_model, register_scorer
from maseval.benchmark.choices import ChoicesBenchmark, choice_task, load_tasks
from maseval.commands import compare, run
from maseval.core import scorer as scorer_module
from maseval.core.exceptions import TaskFormatError
from maseval.core.outcome import RecordedReport


@pytest.fixture(autouse=True)
def no_scorer_outlives_its_test(monkeypatch):
    monkeypatch.setattr(scorer_module.SCORERS, "registered", {})


ANSWERS = {task.query: task.evaluation_data["answer"] for task in load_tasks()}


def knowing(context, continuation):
    """Finds the right answer likeliest, be it asked for a letter or a text."""
    question = context.splitlines()[0].removeprefix("Question: ")
    right = ANSWERS[question]
    said = continuation.strip()
    lines = dict(line.split(". ", 1) for line in context.splitlines()[1:-1])
    return -1.0 if lines.get(said, said) == right else -50.0


def outcomes(tasks=None, **agent_data):
    reports = ChoicesBenchmark(progress_bar=False).run(tasks or load_tasks(), agent_data)
    return [RecordedReport(report).kind for report in reports], reports


@pytest.mark.parametrize("by", ["letter", "text"])
def test_a_scorer_that_knows_passes_every_question(by):
    register_scorer("mine", lambda name, **options: ScriptedModelScorer(knowing))

    kinds, reports = outcomes(scorer_id="mine/knowing", by=by)

    assert kinds == ["pass"] * 24
    assert reports[0]["traces"]["agents"]["chooser"]["by"] == by
    assert reports[0]["traces"]["models"]["mine/knowing"]["total_calls"] == 1


def test_a_scorer_that_likes_the_first_letter_passes_where_chance_puts_the_answer_first():
    register_scorer("mine", lambda name: ScriptedModelScorer({"A": -1, "B": -2, "C": -3, "D": -4}))

    kinds, _ = outcomes(scorer_id="mine/first")

    assert 1 <= kinds.count("pass") <= 13


def test_a_likelihood_of_texts_is_taken_per_character():
    task = choice_task("t", "Which?", ["a much longer answer", "short"])
    register_scorer(
        "mine", lambda name: ScriptedModelScorer({"a much longer answer": -10.0, "short": -5.0})
    )

    assert outcomes([task], scorer_id="mine/x", by="text")[0] == ["pass"]


def test_with_a_seed_each_repetition_shows_another_order():
    task = choice_task("t", "Which?", ["1", "2", "3", "4"])
    register_scorer("mine", lambda name: ScriptedModelScorer({"A": -1}))

    def shown(seed):
        benchmark = ChoicesBenchmark(n_task_repeats=6, seed=seed, progress_bar=False)
        reports = benchmark.run([task], {"scorer_id": "mine/x"})
        return [tuple(r["traces"]["environment"]["choices"].values()) for r in reports]

    assert len(set(shown(None))) == 1
    assert len(set(shown(1))) > 1 and shown(1) == shown(1)


def test_a_chat_model_is_asked_for_the_letter():
    def reply(messages, tools):
        said = messages[-1]["content"]
        question = said.splitlines()[0].removeprefix("Question: ")
        return next(
            f"The answer is {line[0]}."
            for line in said.splitlines()[1:]
            if line.endswith(f". {ANSWERS[question]}")
        )

    register_model("mine", lambda name, **options: ScriptedModelAdapter(reply))

    assert outcomes(model_id="mine/chat")[0] == ["pass"] * 24


def test_an_answer_without_a_letter_is_an_error_of_the_agent():
    register_model("mine", lambda name, **options: ScriptedModelAdapter(["no idea"]))

    _, reports = outcomes(load_tasks()[:1], model_id="mine/chat")

    assert (
        reports[0]["status"] == "agent_error" and "no idea" in reports[0]["error"]["error_message"]
    )


@pytest.mark.parametrize(
    ("agent_data", "words"),
    [
        ({}, "either scorer_id"),
        ({"scorer_id": "a/b", "model_id": "c/d"}, "either scorer_id"),
        ({"scorer_id": "mine/x", "by": "colour"}, "by is 'colour'"),
    ],
)
def test_agent_data_that_makes_no_sense_is_refused(agent_data, words):
    register_scorer("mine", lambda name: ScriptedModelScorer({}))

    _, reports = outcomes(load_tasks()[:1], **agent_data)

    assert reports[0]["status"] == "setup_failed" and words in reports[0]["error"]["error_message"]


@pytest.mark.parametrize("choices", [["a"], ["a", "a"], [str(n) for n in range(27)]])
def test_choices_must_differ_and_have_letters(choices):
    with pytest.raises(TaskFormatError, match="2 to 26 different"):
        choice_task("t", "?", choices)


def test_an_answer_must_be_one_of_the_choices():
    with pytest.raises(TaskFormatError, match="cannot be 2"):
        choice_task("t", "?", ["a", "b"], answer=2)
    with pytest.raises(TaskFormatError, match="choose amounts, order or things"):
        load_tasks("cooking")


def test_two_scorers_are_compared_by_subject_like_any_runs(tmp_path):
    register_scorer(
        "mine", lambda name: ScriptedModelScorer(knowing if name == "good" else {"A": -1, "B": -2})
    )
    runs = [
        run(
            benchmark=ChoicesBenchmark,
            tasks=load_tasks,
            agent_data={"scorer_id": f"mine/{name}"},
            output=tmp_path / name,
        )
        for name in ("good", "bad")
    ]

    assert [score.name for score in runs[0].summary.domains] == ["amounts", "order", "things"]
    main = compare([each.folder for each in runs]).two.main
    assert (main.tasks, main.first) == (24, 1.0) and main.second < 0.6
