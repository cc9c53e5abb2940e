"""Whose failure it was: the provider's or the agent's."""

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.core.provider_errors import (
    AuthenticationError,
    OverloadedError,
    ProviderConnectionError,
    ProviderError,
    ProviderTimeoutError,
    RateLimitError,
)
from maseval.interface.agents.framework import (
    FrameworkAgentAdapter,
    is_unreadable,
    provider_failure,
)


class StatusError(Exception):
    """As the client libraries have them: with the status and the answer."""

    def __init__(self, status: int | None, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"the server said {status}")
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}})()


def library_error(module: str, name: str) -> Exception:
    return type(name, (Exception,), {"__module__": module})("as it is")


def found(error: Exception) -> ProviderError | None:
    return provider_failure(error, provider="some-framework", model_id="m")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StatusError(429), RateLimitError),
        (StatusError(401), AuthenticationError),
        (StatusError(500), OverloadedError),
        (library_error("openai", "APITimeoutError"), ProviderTimeoutError),
        (library_error("httpx", "TimeoutException"), ProviderTimeoutError),
        (library_error("httpx2._errors", "TransportError"), ProviderConnectionError),
        (library_error("openai._exceptions", "APIConnectionError"), ProviderConnectionError),
    ],
)
def test_a_failing_provider_is_named(error, kind):
    assert type(found(error)) is kind
    assert found(error).provider == "some-framework" and found(error).model_id == "m"


def chained(
    error: Exception, *, cause: StatusError | None = None, context: StatusError | None = None
) -> Exception:
    error.__cause__, error.__context__ = cause, context
    return error


SLOW = StatusError(429)
SLOW.headers, SLOW.response = {"retry-after": "7"}, None


@pytest.mark.parametrize(
    ("error", "kind", "wait"),
    [
        (
            chained(RuntimeError("wrapped"), cause=StatusError(429, {"Retry-After": "7"})),
            RateLimitError,
            7.0,
        ),
        (chained(KeyError("while handling it"), context=StatusError(503)), OverloadedError, None),
        (ExceptionGroup("both", [ValueError("no"), StatusError(500)]), OverloadedError, None),
        (SLOW, RateLimitError, 7.0),
    ],
    ids=["cause", "context", "group", "headers of its own"],
)
def test_it_is_found_behind_what_a_framework_made_of_it(error, kind, wait):
    assert (type(found(error)), found(error).retry_after) == (kind, wait)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("the agent's own"),
        StatusError(200),
        StatusError(None),
        type("Odd", (Exception,), {"status_code": "429"})("a text is no status"),
    ],
)
def test_what_no_provider_did_is_nobodys_excuse(error):
    assert found(error) is None


def test_a_chain_that_bites_its_tail_ends():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first

    assert found(first) is None


def raised_by(module: str, error: Exception) -> Exception:
    namespace = {"__name__": module, "error": error}
    exec("def read():\n    raise error", namespace)
    with pytest.raises(type(error)) as caught:
        namespace["read"]()
    return caught.value


@pytest.mark.parametrize(
    ("module", "error", "expected"),
    [
        ("framework.models", IndexError("no choices"), True),
        ("framework.models.openai", ValueError("no JSON"), True),
        ("framework.modelsmith", IndexError("no such tool"), False),
        ("framework.tools", IndexError("no such order"), False),
        ("framework.models", TypeError("choices is None"), True),
        ("framework.models", RuntimeError("stopped"), False),
        ("framework.models", ConfigurationError("ours"), False),
    ],
)
def test_an_answer_that_cannot_be_read_is_known_by_where_it_was_read(module, error, expected):
    assert is_unreadable(raised_by(module, error), "framework.models") is expected


class Wrapped(FrameworkAgentAdapter):
    module = extra = "json"

    def _run_framework(self, query: str) -> object:
        return self.agent(query)


def test_an_error_names_the_provider_that_refused_and_not_the_library_that_asked():
    def ask(query):
        raise StatusError(401)

    refused = r"the provider \(through json\) refused the credentials"
    with pytest.raises(AuthenticationError, match=refused):
        Wrapped(ask, "desk").run("Hello")


@pytest.mark.parametrize("query", ["runtime", "of a tool"])
def test_an_agent_of_another_kind_is_named_and_a_fault_in_its_tools_stays_what_it_is(query):
    class Other:
        def __call__(self, query):
            return getattr(self if query == "runtime" else 3, query)

    with pytest.raises(AttributeError if query == "of a tool" else ConfigurationError) as caught:
        Wrapped(Other(), "desk").run(query)

    if query == "runtime":
        assert "agent 'desk' (Other) is not one that Wrapped can run" in str(caught.value)
        assert "no attribute 'runtime'. Give it an agent of json" in str(caught.value)
