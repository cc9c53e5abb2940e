"""``maseval tau2 mcp``: agents that connect by the real MCP library, and what is kept of them."""

import asyncio
import json
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from maseval.app.results.run_summary import RunResult
from maseval.benchmark.tau2 import load_tasks
from maseval.benchmark.tau2.app.running import mcp
from maseval.benchmark.tau2.players.scripted import GOODBYE, request_for
from maseval.commands import tau2
from maseval.interface import extras
from maseval.interface.agents.mcp_conversation import BEGUN_AGAIN
from maseval.runs import RunConfigError, RunFolder
from maseval.runs.lock import LIVE
from tests.cli.commandline import COMMAND, maseval, started, wait_for_some
from tests.interface.agents.mcp.client import connected, text_of, with_mcp
from tests.waiting import hang_ups_heeded, wait_until

LIBRARY_TASK = str(load_tasks("library").to_list()[0].id)
LIBRARY = ("tau2", "mcp", "--domain", "library", "--task-id", LIBRARY_TASK)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # However slow the machine is: a server goes when the test says so, see ``played``.
    monkeypatch.setattr(mcp, "_LINGER_SECONDS", 300.0)
    monkeypatch.setattr(mcp, "_ABSENCE_SECONDS", 300.0)


def actions_of(domain: str, task_id: str) -> list[tuple[str, dict[str, Any]]]:
    (task,) = [task for task in load_tasks(domain) if str(task.id) == task_id]
    return [(one["name"], one["arguments"]) for one in task.evaluation_data["actions"]]


def report_in(folder: str) -> dict[str, Any]:
    (report,) = RunFolder.read(folder).reports()
    return report


def calls_in(folder: str) -> list[tuple[str, dict[str, Any]]]:
    messages = report_in(folder)["traces"]["environment"]["simulation"]["messages"]
    return [(c["name"], c["arguments"]) for m in messages for c in m.get("tool_calls") or ()]


def texts_in(folder: str) -> list[tuple[str, str]]:
    messages = report_in(folder)["traces"]["environment"]["simulation"]["messages"]
    return [(m["role"], m["content"]) for m in messages if m["role"] != "tool" and m["content"]]


async def say(client: Any, text: str) -> str:
    return await text_of(client, "reply_to_customer", {"text": text})


async def solve(
    client: Any, domain: str = "library", task_id: str = LIBRARY_TASK
) -> tuple[str, str]:
    """Carry out the reference solution; gives the first words and the last."""
    opening = await text_of(client, "read_customer")
    for name, arguments in actions_of(domain, task_id):
        await text_of(client, name, arguments)
    return opening, await say(client, GOODBYE)


async def read_only(client: Any) -> str:
    return await text_of(client, "read_customer")


def played(
    work: Callable[..., Any], lingers: bool = False, **options: Any
) -> tuple[Any, RunResult]:
    """Play a simulation by HTTP within this process; gives what came of the work and of it."""
    address, result = Future(), Future()

    def serve():
        try:
            chosen = {"domain": "library", "task_id": LIBRARY_TASK, "output": "run"}
            chosen |= {"user": "scripted", "transport": "http", "on_address": address.set_result}
            result.set_result(tau2.mcp(**chosen | options))
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        done = connected(address.result(300), work)
    except Exception:
        # A server that refuses to play may be gone before the client has reached it.
        result.result(300)
        raise
    patience = mcp._LINGER_SECONDS, mcp._ABSENCE_SECONDS
    if not lingers:
        mcp._LINGER_SECONDS = mcp._ABSENCE_SECONDS = 0.0
    ended = result.result(300)
    # The next server must wait for its client again.
    mcp._LINGER_SECONDS, mcp._ABSENCE_SECONDS = patience
    return done, ended


def played_by_stdio(
    work: Callable[..., Any], *options: int | str, mode: str = "auto", errors: str = "errors.txt"
) -> tuple[Any, str]:
    """Play a simulation with a process that the client starts; gives the work and its errors."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *map(str, options), "--user", "scripted"]
    )

    with open(errors, "w+", encoding="utf-8") as log:
        done = connected(stdio_client(server, errlog=log), work, mode)
        log.seek(0)
        return done, log.read()


@with_mcp
@pytest.mark.data
def test_a_retail_task_is_solved_through_the_standard_streams(tau2_data):
    gold = actions_of("retail", "5")

    async def play(client):
        early = await text_of(client, *gold[0])
        opening, closing = await solve(client, "retail", "5")
        late = await text_of(client, *gold[0])
        return early, opening, closing, late

    (early, opening, closing, late), errors = played_by_stdio(
        play, "tau2", "mcp", "--domain", "retail", "--task-id", 5, "--output", "run"
    )

    assert "not begun" in early and "not recorded" in late
    assert "# Retail agent policy" in opening and "The customer says:" in opening
    assert closing == "The conversation is over: the customer has left."
    assert calls_in("run") == gold
    assert "100.0%" in errors and closing in errors
    scored = maseval("score", "run")
    assert scored.exit_code == 0 and "100.0%" in scored.stdout
    assert maseval("show", "run").exit_code == 0
    shown = maseval("show", "run", "retail/5").stdout
    assert "return_delivered_order_items" in shown and GOODBYE in shown
    assert maseval("explain", "run", "retail/5").exit_code == 0


@with_mcp
@pytest.mark.data
def test_customer_and_agent_work_in_turns(tau2_data):
    task = load_tasks("telecom").to_list()[0]
    actions = task.evaluation_data["actions"]

    async def play(client):
        await read_only(client)
        for one in actions:
            if one["requestor"] == "user":
                await say(client, request_for(one["name"], one["arguments"]))
            else:
                await text_of(client, one["name"], one["arguments"])
        return await say(client, GOODBYE)

    closing, _ = played(play, domain="telecom", task_id=str(task.id))

    assert closing == "The conversation is over: the customer has left."
    assert {one["requestor"] for one in actions} >= {"user"} and len(actions) > 1
    assert calls_in("run") == [(one["name"], one["arguments"]) for one in actions]
    assert report_in("run")["eval"][0]["reward"] == 1.0


@with_mcp
@pytest.mark.slow
def test_a_task_is_solved_by_http_and_the_process_ends_by_itself(tmp_path):
    process = started(
        *LIBRARY, *("--user", "scripted", "--transport", "http", "--output", "run"), folder=tmp_path
    )
    url = process.stderr.readline().removeprefix("MCP server at ").strip()

    _, closing = connected(url, solve)
    out, errors = process.communicate(timeout=300)

    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
    assert (process.returncode, out) == (0, "")
    assert closing in errors and "100.0%" in errors
    assert report_in("run")["eval"][0]["reward"] == 1.0
    assert calls_in("run") == actions_of("library", LIBRARY_TASK)


@with_mcp
def test_nothing_but_the_protocol_is_written_to_standard_output(tmp_path):
    process, answers = begun_by_stdio(tmp_path)
    reply = request(3, "tools/call", name="reply_to_customer", arguments={"text": GOODBYE})
    answers.append(answer_to(reply, process))
    rest, errors = process.communicate(timeout=300)

    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert "policy" in answers[0]["result"]["instructions"]
    assert answers[2]["result"]["content"][0]["text"].startswith("The conversation is over")
    assert rest == "" and process.returncode == 0
    assert "pass^1" in errors
    assert "reward" not in json.dumps(answers)


HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bare", "version": "1"},
}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answer_to(message: dict[str, Any], process: subprocess.Popen[str]) -> dict[str, Any] | None:
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline()) if "id" in message else None


def begun_by_stdio(folder: Path) -> tuple[subprocess.Popen[str], list[dict[str, Any]]]:
    """A process in which the agent has read its customer and is now at work, and its answers."""
    process = subprocess.Popen(
        [*COMMAND, *LIBRARY, "--user", "scripted", "--output", "run"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    messages = (
        request(1, "initialize", **HANDSHAKE),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/call", name="read_customer", arguments={}),
    )
    first, _, second = [answer_to(message, process) for message in messages]
    return process, [first, second]


@with_mcp
@pytest.mark.slow
def test_an_agent_that_disconnects_has_failed_on_record(tmp_path):
    process, _ = begun_by_stdio(tmp_path)
    _, errors = process.communicate(timeout=300)  # closes its standard input

    report = report_in("run")
    assert report["status"] == "agent_error"
    assert report["error"]["error_type"] == "AgentLeftError"
    assert "the MCP client disconnected before the conversation was over" in errors
    assert process.returncode == 0
    assert maseval("show", "run").exit_code == 0
    assert maseval("score", "run").exit_code in (0, 1)


@with_mcp
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_after_an_interruption_the_same_command_plays_it_again(number, tmp_path):
    with hang_ups_heeded():
        process, _ = begun_by_stdio(tmp_path)
    process.send_signal(number)
    process.wait(timeout=300)  # though its client does not leave
    _, errors = process.communicate(timeout=300)

    assert process.returncode == 3
    assert "Incomplete (interrupted): 1 of 1 simulations have no verdict" in errors
    assert report_in("run")["status"] == "unknown_execution_error"

    (_, closing), _ = played(solve)
    assert closing.endswith("the customer has left.")
    assert report_in("run")["eval"][0]["reward"] == 1.0


@with_mcp
@pytest.mark.slow
def test_a_client_that_only_looks_leaves_no_run(tmp_path):
    async def look(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    names, errors = played_by_stdio(look, *LIBRARY)

    assert names[:2] == ["read_customer", "reply_to_customer"]
    assert "nothing is recorded" in errors
    assert not (tmp_path / "runs").exists()


@with_mcp
def test_a_simulation_that_is_there_already_is_not_played_again():
    played(solve, agent_name="mine")
    before = report_in("run")

    said, result = played(read_only, agent_name="mine")

    assert "took place earlier" in said
    assert result.ran == 0
    assert report_in("run") == before
    assert before["config"]["agents"]["mine"]["mcp_client"].startswith("mcp ")
    assert RunFolder.read("run").config.values["agent"]["args"] == {"name": "mine"}


@with_mcp
def test_a_folder_with_another_run_is_refused_in_words():
    maseval("tau2", "run", "--domain", "library", "--agent", "gold", "--output", "run")

    with pytest.raises(RunConfigError, match="agent"):
        played(read_only)

    assert len(RunFolder.read("run").recorded) == 12


@with_mcp
def test_the_agent_hears_of_the_limit_of_steps():
    async def chatter(client):
        said = await read_only(client)
        while "is over" not in said:
            said = await say(client, "Hm.")
        return said

    said, result = played(chatter, max_steps=3)

    assert said == "The conversation is over: the step limit is reached."
    assert result.complete and report_in("run")["eval"][0]["reward"] == 0.0


@with_mcp
def test_an_agent_that_was_busy_when_its_time_was_up_still_hears_of_it():
    async def dawdle(client):
        await read_only(client)
        await asyncio.to_thread(wait_for_some, Path("run"), 1)
        while "turn" in (late := await say(client, "Sorry")):
            pass  # it is recorded, and about to be told
        return late, await read_only(client)

    (late, said), _ = played(dawdle, timeout=3)

    assert late == f"Error: {said} This was not recorded."
    assert said == "The conversation is over: the time limit is reached."
    assert report_in("run")["status"] == "task_timeout"


@with_mcp
def test_nobody_is_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(mcp, "_ABSENCE_SECONDS", 0.3)

    _, result = played(read_only, lingers=True, timeout=0.3)

    assert not result.complete and report_in("run")["status"] == "task_timeout"


@with_mcp
def test_the_agent_is_told_when_the_customer_broke_and_all_begins_again(tmp_path):
    script = tmp_path / "customer.json"
    script.write_text(json.dumps(["I lost my card."]))

    async def play(client):
        return await read_only(client), await say(client, "I see."), await say(client, "So?")

    (_, again, closing), result = played(play, user="llm", user_model=f"scripted/{script}")

    assert again == f"{BEGUN_AGAIN}\n\nI lost my card."
    assert closing.startswith("The conversation is over: it failed (")
    assert not result.complete and len(report_in("run")["attempts"]) == 1
    assert texts_in("run")[1:] == [("user", "I lost my card."), ("assistant", "So?")]


@with_mcp
@pytest.mark.slow
def test_an_agent_that_waits_hears_of_an_interruption(tmp_path):
    slow = tmp_path / "customer.json"
    slow.write_text(json.dumps(["I lost my card.", "Well?"]))
    process = started(
        *(*LIBRARY, "--transport", "http", "--output", "run", "--user-model", f"scripted/{slow}"),
        *("--user-args", "delay_seconds=15"),
        folder=tmp_path,
    )
    live = tmp_path / "run" / LIVE
    url = process.stderr.readline().removeprefix("MCP server at ").strip()

    async def play(client):
        await read_only(client)
        waiting = asyncio.ensure_future(say(client, "One moment"))
        await asyncio.to_thread(
            wait_until, lambda: live.exists() and "One moment" in live.read_text()
        )
        process.send_signal(signal.SIGINT)
        return await waiting

    said = connected(url, play)
    _, errors = process.communicate(timeout=300)

    assert said == "The conversation is over: it failed (interrupted)."
    assert process.returncode == 3
    assert "Traceback" not in errors and "Cancel" not in errors


@with_mcp
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--task-id", "nine", "--user", "scripted"], "no task 'nine' among those of the run"),
        (["--task-id", LIBRARY_TASK], "user_model is not set"),
        (
            ["--task-id", LIBRARY_TASK, "--user", "scripted", "--transport", "pigeon"],
            "transport is 'pigeon'; choose one of: stdio, http",
        ),
        (["--task-id", LIBRARY_TASK, "--user-model", "nowhere/x"], "no provider"),
    ],
)
def test_what_cannot_work_is_told_before_anybody_connects(options, words, tmp_path):
    result = maseval("tau2", "mcp", "--domain", "library", *options)

    assert result.exit_code == 2
    assert words in result.stderr and result.stdout == ""
    assert not (tmp_path / "runs").exists()


@with_mcp
def test_the_configuration_on_the_page_is_understood():
    page = Path(__file__).parents[2] / "docs" / "agents" / "mcp.md"
    (block,) = re.findall(r"^```json\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    server = json.loads(block)["mcpServers"]["tau2"]

    # Whatever precedes an option that cannot be has been taken.
    result = maseval(*server["args"], "--transport", "pigeon")

    assert server["command"] == "maseval"
    assert "transport is 'pigeon'" in result.stderr


def test_without_the_library_the_command_tells_how_to_install_it(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    result = maseval(*LIBRARY, "--user", "scripted")

    assert result.exit_code == 1
    assert "pip install '.[mcp]'" in result.stderr


def test_a_server_is_for_one_task():
    result = maseval(
        *("tau2", "mcp", "--domain", "library", "--user", "scripted"),
        *("--task-id", "fourth_hold", "--task-id", "second_waiver"),
    )

    assert result.exit_code == 2 and "one task, not 2" in result.stderr


def call_line(number: int, arguments: str) -> str:
    """A line that calls a tool; its id comes last, after all that may be nested."""
    params = f'{{"name": "search_catalogue", "arguments": {arguments}}}'
    return f'{{"params": {params}, "jsonrpc": "2.0", "method": "tools/call", "id": {number}}}'


def nested(levels: int) -> str:
    return f'{{"text": {"[" * levels}"]}}"{"]" * levels}}}'


@with_mcp
def test_over_the_standard_streams_there_is_always_a_reply():
    version = {"protocolVersion": "2025-03-26", "capabilities": {}}
    about = {**version, "clientInfo": {"name": "a", "version": "1"}}
    opening = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read_customer"}}',
    ]
    calls = [
        call_line(3, '{"text": "\\ud800 dune"}'),
        *(call_line(number, nested(number)) for number in (150, 400, 5_000)),
        call_line(6, '{"text": "dune"}'),
        '{"jsonrpc": "2.0", "id": ',
    ]
    command = [*COMMAND, *map(str, LIBRARY), "--user", "scripted", "--output", "run"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        replies = []
        for lines in (opening, calls):
            server.stdin.write("".join(f"{line}\n" for line in lines).encode())
            server.stdin.flush()
            number = sum('"notifications/' not in line for line in lines)
            replies += [json.loads(server.stdout.readline()) for _ in range(number)]

    by_id = {reply["id"]: reply for reply in replies}
    assert by_id.keys() == {1, 2, 3, 150, 400, 5_000, 6, None}
    assert by_id[3]["result"]["isError"] is False and by_id[6]["result"]["isError"] is False
    assert by_id[150]["result"]["content"][0]["text"].startswith("Error: ")
    for number in (400, 5_000):
        assert "nested more than 100 levels deep" in by_id[number]["error"]["message"]
