"""ModelScorer: likelihoods of texts, with an account of every call."""

import pytest

from maseval import ModelScorer
from maseval.core.exceptions import HookResultError


class Shorter(ModelScorer):
    """Finds short texts likelier."""

    model_id = "shorter"

    def _loglikelihood_impl(self, context: str, continuation: str) -> float:
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
