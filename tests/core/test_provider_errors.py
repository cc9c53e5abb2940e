import copy
import pickle

import pytest

from maseval.core import provider_errors as errors

TRANSIENT = {
    errors.RateLimitError,
    errors.OverloadedError,
    errors.ProviderTimeoutError,
    errors.ProviderConnectionError,
    errors.MalformedResponseError,
}
FATAL = {
    errors.AuthenticationError,
    errors.QuotaExhaustedError,
    errors.ModelNotFoundError,
    errors.RedirectRefusedError,
}
LASTING = FATAL | {
    errors.ContextOverflowError,
    errors.ContentFilterError,
    errors.MalformedRequestError,
    errors.AnswerTooLargeError,
}
KINDS = sorted(TRANSIENT | LASTING, key=lambda kind: kind.__name__)


def test_every_kind_is_either_transient_or_lasting():
    kinds = errors.ProviderError.__subclasses__()
    assert {*kinds, *errors.MalformedResponseError.__subclasses__()} == set(KINDS)
    assert {kind for kind in KINDS if kind.transient} == TRANSIENT
    assert {kind for kind in KINDS if kind.fatal_for_run} == FATAL


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_names_provider_model_status_and_the_way_out(kind):
    error = kind("No  such\nluck", provider="openai", model_id="gpt-x", status=418)

    assert str(error).startswith(f"openai {kind.fault} (model 'gpt-x') [HTTP 418]: No such luck. ")
    assert (error.provider, error.model_id, error.status) == ("openai", "gpt-x", 418)
    assert error.details["transient"] is kind.transient


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_survives_copying(kind, again):
    error = kind("text", provider="p", model_id="m", status=400, retry_after=2.5)
    error.details["answered_before"], error.component = True, "user"

    other = again(error)

    assert type(other) is kind
    assert (str(other), other.details) == (str(error), error.details)
    assert other.component == "user" and other.details is not error.details


def test_a_rate_limit_says_how_long_to_wait():
    assert "Wait 2.5 s" in str(errors.RateLimitError("", provider="p", retry_after=2.5))
    assert "less concurrency" in str(errors.RateLimitError("", provider="p"))


def test_keys_in_a_providers_text_are_cut_out():
    error = errors.AuthenticationError(
        "bad key sk-abcdefghijklmnop at https://me:pass@host/?api_key=abc", provider="p"
    )

    assert "abcdefghijklmnop" not in str(error)
    assert "pass@" not in str(error) and "=abc" not in str(error)
