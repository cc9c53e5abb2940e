import pytest

from maseval.core import provider_errors as errors
from maseval.interface.inference.http import kind_of, remove_secrets, retry_after
from tests.cli.commandline import maseval


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "temperature must be a number", errors.MalformedRequestError),
        (400, "context_length_exceeded: reduce the length", errors.ContextOverflowError),
        (400, "the request exceeds the available context size", errors.ContextOverflowError),
        (413, "prompt is too long: 210000 tokens > 200000", errors.ContextOverflowError),
        (413, "Request exceeds the maximum size", errors.MalformedRequestError),
        (413, "on tokens per minute (TPM): Limit 6000", errors.MalformedRequestError),
        (400, "content_filter: prompt refused", errors.ContentFilterError),
        (400, "API key not valid. Please pass a valid API key.", errors.AuthenticationError),
        (400, "Your credit balance is too low", errors.QuotaExhaustedError),
        (400, "invalid model ID", errors.ModelNotFoundError),
        (402, "pay", errors.QuotaExhaustedError),
        (408, "", errors.ProviderTimeoutError),
        (409, "try later", errors.OverloadedError),
        (418, "", errors.MalformedRequestError),
        (429, "You exceeded your current quota per minute", errors.RateLimitError),
        (504, "gateway", errors.OverloadedError),
        (500, "maximum context length", errors.OverloadedError),
        (400, "model not found: context length unknown", errors.ModelNotFoundError),
        (400, "unknown parameter: context_length", errors.MalformedRequestError),
        (400, "`max_tokens` exceed context limit: 199000 + 21333", errors.ContextOverflowError),
        (400, "Your input exceeds the context window", errors.ContextOverflowError),
        (403, "Your chosen model requires moderation", errors.ContentFilterError),
    ],
)
def test_status_and_words_name_the_fault(status, text, kind):
    assert kind_of(status, text) is kind


def test_a_code_comes_before_words():
    words = "model not found, and its maximum context length is unknown"

    assert kind_of(400, words, "context_length_exceeded") is errors.ContextOverflowError
    assert kind_of(400, words, "invalid_api_key") is errors.AuthenticationError
    assert kind_of(413, "tokens per minute", "rate_limit_exceeded") is errors.MalformedRequestError


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "9", "Retry-After-Ms": "250"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0),
        (
            {
                "Retry-After": "Mon, 01 Jan 2001 00:00:09 GMT",
                "Date": "Mon, 01 Jan 2001 00:00:02 GMT",
            },
            7.0,
        ),
    ],
)
def test_the_time_to_wait_is_a_number_or_a_date(headers, seconds):
    assert retry_after(headers) == seconds


def test_secrets_are_cut_out_whatever_they_look_like():
    assert remove_secrets(["p4ssw0rd", None, "", "a"], "a p4ssw0rd") == "a <redacted>"


RUN = ("tau2", "run", "--domain", "library", "--num-tasks", "1", "--user", "scripted")


@pytest.mark.parametrize(
    ("model_id", "advice"),
    [
        ("opnai/gpt-4.1", "did you mean 'openai/…'"),
        ("typo/x", "known prefixes: anthropic, google, litellm"),
        ("scripted/ehco", "use scripted/echo, scripted/<file>.json"),
        ("openai/", "names no model"),
    ],
)
def test_an_id_that_leads_nowhere_is_answered_with_what_is_near(
    tmp_path, monkeypatch, model_id, advice
):
    monkeypatch.chdir(tmp_path)
    done = maseval(*RUN, "--agent-model", model_id)

    assert (done.exit_code != 0, done.stdout) == (True, "")
    assert advice in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
