"""A model id that leads nowhere, as somebody at the command line meets it."""

import pytest

from tests.cli.commandline import finished

RUN = ("tau2", "run", "--domain", "library", "--num-tasks", "1", "--user", "scripted")


@pytest.mark.parametrize(
    ("model_id", "advice"),
    [
        ("opnai/gpt-4.1", "did you mean 'openai/…'"),
        ("typo/x", "known prefixes: anthropic, google, hf, litellm, llamacpp, openai, scripted"),
        ("scripted/ehco", "did you mean 'scripted/echo'"),
        ("scripted/repiles.json", "did you mean 'scripted/replies.json'"),
        ("openai/", "names no model"),
    ],
)
def test_an_id_that_leads_nowhere_is_answered_with_what_is_near(tmp_path, model_id, advice):
    (tmp_path / "replies.json").write_text('["Hello"]')

    code, out, told = finished(*RUN, "--agent-model", model_id, folder=tmp_path)

    assert (code != 0, out) == (True, "")
    assert advice in " ".join(told.split())
    assert "Traceback" not in told
