"""Runs on Ray against a provider that refuses."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maseval.commands import tau2
from maseval.core.exceptions import RunStoppedError
from maseval.core.model import resolve_model
from maseval.testing.provider_server import OpenAIProtocol, Reply
from tests.core.worlds import Shop, numbered
from tests.interface.libraries import needing

pytestmark = [*needing("ray"), *needing("openai")]

SIZE = 4
HELLO = OpenAIProtocol.text("Hello")
LOCKED = Reply(OpenAIProtocol.error("no such key", 401), 401)


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    from maseval.interface.ray.engine import RayEngine

    with RayEngine(processes=2) as engine:
        yield engine


def asking(url: str) -> Callable[..., Any]:
    def ask(query):
        return resolve_model("openai/m", base_url=f"{url}/v1", api_key="none").generate(query)

    return ask


def test_a_refused_key_stops_all_processes_once(server, engine):
    server.will(*[LOCKED] * 100)
    shop = Shop(asking(server.url), num_workers=SIZE, stop_when_hopeless=True)

    with pytest.raises(RunStoppedError, match="openai refused the credentials"):
        shop.run(numbered(100), engine=engine)

    assert 1 <= len(server.requests) == len(shop.reports) <= SIZE


def test_a_refusal_of_a_model_that_answered_another_process_stops_nothing(server, engine):
    late = Reply(LOCKED.body, LOCKED.status, delay=3)
    server.will(HELLO, late, *[HELLO] * 100)
    shop = Shop(asking(server.url), num_workers=2, stop_when_hopeless=True)

    reports = shop.run(numbered(30), engine=engine)

    assert [report["status"] for report in reports].count("success") == 29
    (refused,) = [report["error"] for report in reports if report["error"]]
    assert "refused the credentials" in refused["error_message"]


def test_a_budget_is_that_of_all_processes_together(engine, tmp_path):
    (tmp_path / "agent.json").write_text(json.dumps(["One moment, please."] * 50))

    run = tau2.run(
        domain="library",
        agent_model=f"scripted/{tmp_path}/agent.json",
        user="scripted",
        budget="1 tokens",
        concurrency=2,
        num_tasks=8,
        output=tmp_path / "run",
        engine=engine,
    )

    assert 1 <= run.ran <= 2  # what was in progress is finished, and paid for
    assert "the budget of 1 tokens is reached" in run.stopped
