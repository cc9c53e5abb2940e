"""Functions that are served as MCP tools, used by the real client library."""

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from maseval.benchmark.tau2 import Tau2Environment
from maseval.core.clock import Clock
from maseval.core.context import TaskContext
from maseval.core.exceptions import AgentError, ConfigurationError, EnvironmentError
from maseval.core.tool import tool_definition
from maseval.interface.agents.mcp import serve_tools
from tests.interface.agents.mcp.client import MODES, connected, text_of, with_mcp

DOMAINS = ["airline", "retail", "telecom", "library"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def weigh(item: str, times: int = 1) -> object:
    """Weigh something."""
    if item == "air":
        raise ValueError("it flew away")
    return f"{item!r} {times!r} ü\n" if times else {"weight": 1, "of": "Ü"}


@with_mcp
@pytest.mark.data
@pytest.mark.usefixtures("tau2_data")
@MODES
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_tool_has_its_name_description_and_full_schema(domain: str, mode: Any) -> None:
    tools = Tau2Environment({"domain": domain}).tools

    async def listed(client):
        found = (await client.list_tools()).tools
        return [(tool.name, tool.description, tool.input_schema) for tool in found]

    with serve_tools(tools) as served:
        assert connected(served.url, listed, mode) == [
            (name, definition["description"], definition["parameters"])
            for name, tool in tools.items()
            for definition in [tool_definition(tool)["function"]]
        ]


@with_mcp
@MODES
@pytest.mark.parametrize(
    ("arguments", "text", "is_error"),
    [
        ({"item": "tea", "times": 2}, "'tea' 2 ü\n", False),
        ({"item": 3, "times": "x"}, "3 'x' ü\n", False),
        ({"item": ["ä", {"n": None}]}, "['ä', {'n': None}] 1 ü\n", False),
        ({"item": "tea", "times": 0}, '{"weight":1,"of":"Ü"}', False),
        ({}, "Error: weigh() missing 1 required positional argument: 'item'", True),
        (
            {"item": "x", "color": 1},
            "Error: weigh() got an unexpected keyword argument 'color'",
            True,
        ),
        ({"item": "air"}, "Error: it flew away", True),
    ],
)
def test_arguments_and_results_are_passed_on_unchanged(arguments, text, is_error, mode):
    async def call(client):
        result = await client.call_tool("weigh", arguments)
        return [part.text for part in result.content], result.is_error

    with serve_tools([weigh]) as served:
        assert connected(served.url, call, mode) == ([text], is_error)


@with_mcp
def test_a_tool_that_is_not_there_is_answered_with_those_that_are():
    with serve_tools({"scale": weigh}) as served:
        said = connected(served.url, lambda client: text_of(client, "fly"))

    assert said == "Error: Tool 'fly' not found. Available tools: scale"


@with_mcp
@pytest.mark.data
@pytest.mark.usefixtures("tau2_data")
def test_calls_at_the_same_time_are_all_recorded() -> None:
    world = Tau2Environment({"domain": "retail"})
    sums = [f"{number} + 1" for number in range(20)]

    async def together(client):
        calls = (text_of(client, "calculate", {"expression": one}) for one in sums)
        return await asyncio.gather(*calls)

    with serve_tools(world.tools) as served:
        said = connected(served.url, together)

    assert said == [f"{number + 1}.0" for number in range(20)]
    messages = world.trajectory.messages
    calls = [m["tool_calls"][0] for m in messages if m.get("tool_calls")]
    assert sorted(call["arguments"]["expression"] for call in calls) == sorted(sums)
    for call, answer in zip(messages[::2], messages[1::2], strict=True):
        assert answer["id"] == call["tool_calls"][0]["id"]


@with_mcp
def test_tools_belong_to_the_repetition_that_serves_them():
    def here() -> str:
        return str(Clock.here().simulation)

    with TaskContext(simulation=("7", 0)).active(), serve_tools([here]) as served:
        assert connected(served.url, lambda client: text_of(client, "here")) == "('7', 0)"


@with_mcp
def test_a_failure_that_is_not_the_agents_reaches_whoever_serves_the_tools():
    faults = [AgentError("no such item"), EnvironmentError("the scales are broken")]

    def press() -> str:
        raise faults.pop(0)

    async def twice(client):
        return [await text_of(client, "press") for _ in range(2)]

    said = []
    with pytest.raises(EnvironmentError, match="scales"), serve_tools([press]) as served:
        said = connected(served.url, twice)
    assert said == ["Error: no such item", "Error: the scales are broken"]


@with_mcp
@MODES
def test_the_client_reads_the_instructions(mode):
    async def read(client):
        return client.instructions

    with serve_tools([weigh], instructions="Weigh twice.") as served:
        assert connected(served.url, read, mode) == "Weigh twice."


@with_mcp
@MODES
def test_the_client_finds_the_instructions_as_a_prompt_too(mode):
    async def read(client):
        (prompt,) = (await client.list_prompts()).prompts
        return (await client.get_prompt(prompt.name)).messages[0].content.text

    with serve_tools([weigh], instructions="Weigh twice.") as served:
        assert connected(served.url, read, mode) == "Weigh twice."


@with_mcp
def test_tools_served_by_turns_are_refused_between_them_and_never_seen_at_another_address():
    weighed = []

    def note(item: str) -> str:
        weighed.append(item)
        return "noted"

    async def before_while_and_after(client):
        said = [await text_of(client, "note", {"item": "early"})]
        with served.gate.turn():
            said.append(await text_of(client, "note", {"item": "in time"}))
        said.append(await text_of(client, "note", {"item": "late"}))
        return said

    with serve_tools([note], by_turns=True, path="/mcp/secret") as served:
        assert not served.gate.was_listed
        early, said, late = connected(served.url, before_while_and_after)
        with pytest.raises(urllib.error.HTTPError, match="404") as unknown:
            urllib.request.urlopen(served.url.removesuffix("/secret"), b"{}")
        unknown.value.close()

    assert (said, weighed) == ("noted", ["in time"])
    assert early == late and "not your turn" in early


@with_mcp
def test_a_turn_is_over_when_the_calls_that_it_began_are():
    begun, order = threading.Event(), []

    def slow() -> str:
        begun.set()
        time.sleep(0.2)
        order.append("call")
        return "done"

    with serve_tools([slow], by_turns=True) as served:
        calling = threading.Thread(
            target=connected, args=[served.url, lambda client: text_of(client, "slow")]
        )
        with served.gate.turn():
            calling.start()
            assert begun.wait(30)
        order.append("turn")
        calling.join()

    assert order == ["call", "turn"]


@with_mcp
@MODES
def test_nothing_is_left_behind(mode):
    before = set(threading.enumerate())
    with serve_tools([weigh]) as served:
        connected(served.url, lambda client: text_of(client, "weigh", {"item": "x"}), mode)
        port = int(served.url.split(":")[2].split("/")[0])

    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@with_mcp
@MODES
def test_a_client_stays_connected_when_its_tools_are_served_again_at_the_same_port(mode):
    port = free_port()
    first, second = (serve_tools([weigh], port=port) for _ in range(2))
    url = first.__enter__().url

    async def twice(client):
        before = await text_of(client, "weigh", {"item": "a"})
        await asyncio.to_thread(first.__exit__, None, None, None)
        with second:
            return [before, await text_of(client, "weigh", {"item": "a"})]

    assert connected(url, twice, mode) == ["'a' 1 ü\n"] * 2


@with_mcp
def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1:{port}"),
            serve_tools([weigh], port=port),
        ):
            pass


@with_mcp
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example:80", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "http://localhost:3000", 200),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # urllib's own, for a refused request
def test_pages_of_other_sites_cannot_reach_the_tools(header, value, status):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with serve_tools([weigh]) as served:
        request = urllib.request.Request(
            served.url,
            json.dumps(call).encode(),
            {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                header: value,
            },
        )
        try:
            with urllib.request.urlopen(request) as answer:
                found = answer.status
        except urllib.error.HTTPError as error:
            found = error.code
    assert found == status


@with_mcp
def test_a_client_that_listens_for_news_is_told_that_there_are_none():
    with serve_tools([weigh]) as served:
        listening = urllib.request.Request(served.url, headers={"Accept": "text/event-stream"})
        with pytest.raises(urllib.error.HTTPError, match="405") as refused:
            urllib.request.urlopen(listening)
        refused.value.close()
