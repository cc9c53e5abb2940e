"""What judging costs beside waiting: ``python -m benchmarks.judging``.

A thousand conversations are judged with two hundred requests in flight. The server takes five
seconds for each answer, as a model does, and runs in a process of its own. Its bound is what a bare
client gets from it in the same run: the same bodies over connections that stay open, nothing read.
The library of the provider is loaded before.
"""

import http.client
import json
import multiprocessing
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

from pydantic import BaseModel

from benchmarks.table import note, seconds, show
from maseval.core.judge import Judge, Question
from maseval.core.judge_record import JudgeRecord
from maseval.core.messages import ChatResponse
from maseval.core.model import resolve_model
from maseval.server.completion import Completion, completion
from maseval.server.http import ChatServer

CONVERSATIONS, IN_FLIGHT, THINKING = 1_000, 200, 5.0
POLICY = "Never refund to another method of payment. " * 200
TALK = "\n".join(f"[{n}] agent: I have looked up order #W{n}, it is on its way." for n in range(40))


class Breaches(BaseModel):
    """What the judge finds."""

    claims: list[str]


QUESTION = Question("policy", "{{policy}}\n---\n{{talk}}", Breaches)


def answer(*asked: object) -> Completion:
    time.sleep(THINKING)
    return completion(ChatResponse(content='{"claims": []}'), "m")


def serve(ready: Connection) -> None:
    with ChatServer(answer) as server:
        ready.send(server.server_port)
        ready.recv()


def main() -> None:
    """Print the figures."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(there,))
    server.start()
    try:
        port = here.recv()
        bound = CONVERSATIONS / seconds(lambda: bare(port))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "judgements.jsonl")
            judge_all(port, Path(folder, "first.jsonl"), 1)  # loads the provider's library
            rate = CONVERSATIONS / seconds(lambda: judge_all(port, path))
            again = seconds(lambda: judge_all(port, path))
            kept = len(JudgeRecord(path).lines())
    finally:
        here.send(None)
        server.join()
    assert kept == CONVERSATIONS, kept
    share = 100 * rate / bound
    rows = [
        ("a bare client", f"{bound:.0f}", ""),
        ("the judge, each answer on disk", f"{rate:.0f}", f"{share:.0f} %"),
        ("all of it again, from the record", f"{CONVERSATIONS / again:.0f}", ""),
    ]
    title = f"{CONVERSATIONS:,} conversations, {IN_FLIGHT} in flight, {THINKING:g} s each"
    show(title, ("", "per second", "of the bound"), rows)
    note("judging, share of the server's bound in %", share, at_least=90)


def bare(port: int) -> None:
    asked = [{"role": "system", "content": POLICY}, {"role": "user", "content": TALK}]
    body = json.dumps({"model": "m", "messages": asked}).encode()
    numbers: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(CONVERSATIONS):
        numbers.put(number)

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            try:
                numbers.get_nowait()
            except queue.Empty:
                return connection.close()
            headers = {"content-type": "application/json"}
            connection.request("POST", "/v1/chat/completions", body, headers)
            connection.getresponse().read()

    in_threads(work)


def in_threads(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(IN_FLIGHT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def judge_all(port: int, path: Path, number: int = CONVERSATIONS) -> None:
    record = JudgeRecord(path)

    def judge(number: int) -> None:
        model = resolve_model("openai/m", base_url=f"http://127.0.0.1:{port}/v1", api_key="k")
        key = {"domain": "retail", "task_id": str(number), "trial": 0}
        found = Judge(model, record=record).ask(
            QUESTION, key, policy=POLICY, talk=f"{number}\n{TALK}"
        )
        assert found.answer == {"claims": []}, found

    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(judge, range(number)))
    record.close()


if __name__ == "__main__":
    main()
