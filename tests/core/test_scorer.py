"""ModelScorer: likelihoods of texts, with an account of every call."""

import json

import pytest

from maseval import ModelScorer, ScriptedModelScorer, register_scorer, resolve_scorer
from maseval.core import scorer as scorer_module
from maseval.core.exceptions import ConfigurationError, HookResultError, UnknownModelError


@pytest.fixture
def no_registrations(monkeypatch):
    monkeypatch.setattr(scorer_module.SCORERS, "registered", {})


class Shorter(ModelScorer):
    """Finds short texts likelier."""

    model_id = "shorter"

    def _loglikelihood_impl(self, context, continuation):
        if not continuation:
            raise ValueError("nothing to score")
        return -float(len(continuation))


def test_a_text_a_batch_and_choices_are_scored_and_logged():
    scorer = Shorter(seed=3)

    assert scorer.loglikelihood("a", "bcd") == -3.0
    assert scorer.loglikelihood_batch([("a", "b"), ("a", "bc")]) == [-1.0, -2.0]
    assert scorer.loglikelihood_choices("a", ["x", "yy"], delimiter="--") == [-3.0, -4.0]
    assert [entry["type"] for entry in scorer.logs] == [
        "loglikelihood",
        *["loglikelihood_batch"] * 2,
    ]
    assert scorer.logs[2]["batch_size"] == 2 and scorer.logs[2]["duration_seconds"] >= 0
    config = scorer.gather_config()
    assert (config["model_id"], config["scorer_type"], config["seed"]) == ("shorter", "Shorter", 3)


def test_a_failure_is_logged_and_raised():
    scorer = Shorter()

    with pytest.raises(ValueError, match="nothing to score"):
        scorer.loglikelihood("a", "")

    traces = scorer.gather_traces()
    assert (traces["total_calls"], traces["successful_calls"], traces["failed_calls"]) == (1, 0, 1)
    assert traces["logs"][0]["error_type"] == "ValueError"


def test_a_batch_of_another_length_is_refused():
    class Forgetful(Shorter):
        def _loglikelihood_batch_impl(self, pairs):
            return [0.0]

    with pytest.raises(HookResultError, match="1 likelihoods for 2 pairs"):
        Forgetful().loglikelihood_batch([("a", "b"), ("a", "c")])


def test_a_scripted_scorer_is_a_table_or_a_function():
    table = ScriptedModelScorer({"Paris": -0.5, " exact": -9}, default=-7)
    function = ScriptedModelScorer(lambda context, text: len(context) - len(text))

    assert table.loglikelihood_choices("France?", ["Paris", "Rome"]) == [-0.5, -7.0]
    assert table.loglikelihood("", " exact") == -9.0
    assert table.asked[0] == ("France?", " Paris")
    assert function.loglikelihood("abc", "d") == 2.0


def test_an_id_names_a_scorer(no_registrations, tmp_path):
    (tmp_path / "scores.json").write_text(json.dumps({"A": -1}))
    register_scorer("mine", lambda name, **options: Shorter(**options))

    assert resolve_scorer(f"scripted/{tmp_path}/scores.json").loglikelihood("", "A") == -1.0
    assert resolve_scorer("mine/any", seed=4).seed == 4
    with pytest.raises(UnknownModelError, match=r"scorer 'mien/x' needs; did you mean 'mine/"):
        resolve_scorer("mien/x")
    with pytest.raises(UnknownModelError, match="write it like 'hf/gpt2'"):
        resolve_scorer("")
    register_scorer("odd", lambda name: 5)
    with pytest.raises(HookResultError, match="made 5, not a ModelScorer"):
        resolve_scorer("odd/x")


@pytest.mark.parametrize("content", ["no json", "[1]", '{"A": "high"}', None])
def test_a_file_without_scores_is_refused(content, tmp_path):
    if content is not None:
        (tmp_path / "s.json").write_text(content)

    with pytest.raises(ConfigurationError, match=r"scripted/.*s\.json"):
        resolve_scorer(f"scripted/{tmp_path}/s.json")
