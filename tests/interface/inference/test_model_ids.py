"""A model id that leads nowhere, as somebody at the command line meets it."""

import pytest

from tests.cli.commandline import maseval

RUN = ("tau2", "run", "--domain", "library", "--num-tasks", "1", "--user", "scripted")


@pytest.mark.parametrize(
    ("model_id", "advice"),
    [
        ("opnai/gpt-4.1", "did you mean 'openai/…'"),
        ("typo/x", "known prefixes: anthropic, google, hf, litellm"),
        ("scripted/ehco", "did you mean 'scripted/echo'"),
        ("scripted/repiles.json", "did you mean 'scripted/replies.json'"),
        ("openai/", "names no model"),
    ],
)
def test_an_id_that_leads_nowhere_is_answered_with_what_is_near(
    tmp_path, monkeypatch, model_id, advice
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "replies.json").write_text('["Hello"]')

    done = maseval(*RUN, "--agent-model", model_id)

    assert (done.exit_code != 0, done.stdout) == (True, "")
    assert advice in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
