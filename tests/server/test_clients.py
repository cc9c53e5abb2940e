"""OpenAI's own library against the servers: whole and streamed, in threads and in an event loop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, tool_call
from maseval.server import ModelServer, ReplayServer
from tests.interface.libraries import needing

pytestmark = needing("openai")

CALLS = [tool_call("look", {"where": "Zürich 🎉"}, id="1"), tool_call("go", id="2")]
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("look", "go")]


def reply(
    messages: list[dict[str, str]], tools: list[dict[str, Any]] | None
) -> dict[str, Any] | str:
    """Calls tools if there are any, else repeats what was said."""
    if tools and messages[-1]["role"] == "user":
        return {"content": "One moment.", "tool_calls": CALLS}
    return f"You said: {messages[-1]['content']}"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """What the tests ask, recorded through the library from a scripted model."""
    path = tmp_path / "answers"
    model = ScriptedModelAdapter(reply, model_id="m")
    with (
        ModelServer(model) as provider,
        ReplayServer(path, record=True, upstream=provider.url) as server,
        client(server) as asking,
    ):
        for text in ("hello", "grüße 🎉"):
            asking.chat.completions.create(model="m", messages=said(text))
        asking.chat.completions.create(model="m", messages=said("go"), tools=TOOLS)
    return path


@pytest.fixture
def player(answers: Path) -> Iterator[ReplayServer]:
    with ReplayServer(answers) as server:
        yield server


def client(server: ReplayServer, **options: Any) -> Any:
    import openai

    return openai.OpenAI(base_url=server.url, api_key="replay", **options)


def async_client(server: ReplayServer) -> Any:
    import openai

    return openai.AsyncOpenAI(base_url=server.url, api_key="replay")


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def put_together(chunks: Any) -> tuple[str, list[tuple[str, str, str]], str, Any]:
    """The text, the calls and the reason of a stream."""
    text, calls, reason, usage = "", {}, None, None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                calls[call.index] = (call.id, call.function.name, call.function.arguments)
            reason = choice.finish_reason or reason
    return text, list(calls.values()), reason, usage


EXPECTED_CALLS = [
    (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in CALLS
]


def test_a_stream_of_text(player):
    with client(player) as asking:
        whole = asking.chat.completions.create(model="m", messages=said("hello"))
        stream = asking.chat.completions.create(
            model="m",
            messages=said("hello"),
            stream=True,
            stream_options={"include_usage": True},
        )
        text, calls, reason, usage = put_together(stream)

    assert (text, calls, reason) == ("You said: hello", [], "stop")
    assert usage == whole.usage


def test_an_event_loop(player):
    async def ask_all():
        async with async_client(player) as asking:
            whole = asking.chat.completions.create(model="m", messages=said("hello"))
            stream = await asking.chat.completions.create(
                model="m", messages=said("go"), tools=TOOLS, stream=True
            )
            chunks = [chunk async for chunk in stream]
            many = await asyncio.gather(
                *(
                    asking.chat.completions.create(model="m", messages=said("hello"))
                    for _ in range(20)
                )
            )
            return (await whole), chunks, many

    whole, chunks, many = asyncio.run(ask_all())

    assert whole.choices[0].message.content == "You said: hello"
    assert put_together(chunks)[:2] == ("One moment.", EXPECTED_CALLS)
    assert {one.choices[0].message.content for one in many} == {"You said: hello"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_miss_is_not_asked_again(player, stream):
    import openai

    with client(player) as asking, pytest.raises(openai.UnprocessableEntityError) as caught:
        asking.chat.completions.create(model="m", messages=said("Hello"), stream=stream)

    assert caught.value.code == "not_recorded" and player.misses == 1


def test_a_rate_limit_of_the_provider_is_waited_for_by_the_client(tmp_path, upstream):
    upstream.will_fail(429, {"error": {"message": "slow down"}}, Retry_After_Ms="10")
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}}]}
    upstream.will(answer)

    path = tmp_path / "answers"
    with ReplayServer(path, record=True, upstream=upstream.url) as server, client(server) as asking:
        heard = asking.chat.completions.create(model="m", messages=said("hello"))

    assert heard.choices[0].message.content == "ok" and server.recorded == 1
    assert len(upstream.bodies) == 2
