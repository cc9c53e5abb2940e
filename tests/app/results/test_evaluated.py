"""The subject of a run's first sentence, from its configuration."""

import pytest

from maseval.app.results.recording import evaluated_in_words


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ({"model": "openai/gpt-4.1"}, "gpt-4.1"),
        ({"model": "gpt-4.1"}, "gpt-4.1"),
        ({"model": "openrouter/lab/one"}, "lab/one"),
        ({"function": "team.py:agent", "model": "openai/gpt-4.1"}, "gpt-4.1 with team.py:agent"),
        ({"function": "team.py:agent"}, "team.py:agent"),
        ({"player": "noisy", "error_rate": 0.1}, "The scripted agent noisy"),
        ({"player": "human"}, "A person"),
        (
            {"function": "team.py:agent", "rehearse": "noisy"},
            "The rehearsal of team.py:agent with the scripted model noisy",
        ),
        ("gpt-4.1", "gpt-4.1"),
        (None, None),
    ],
)
def test_what_was_evaluated_is_named(agent, words):
    assert evaluated_in_words({"agent": agent}) == words
