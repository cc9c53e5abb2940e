"""One server stack or two: ``python -m benchmarks.servers``.

The model servers are built on the standard library; the viewer on Starlette and uvicorn. The same
answer is served by both, to a client that asks one request after another over an open connection,
and to several at once. Below it, what each stack costs before it answers anything.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from statistics import median

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.table import show
from maseval.core.messages import ChatResponse
from maseval.server.completion import Completion, completion, encode, parse_request
from maseval.server.http import ChatServer
from maseval.view.serving import ViewServer

REQUESTS = 500
CLIENTS = 8
PATH = "/v1/chat/completions"
BODY = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": "word " * 200} for _ in range(20)]}
).encode()
STACKS = {
    "http.server": "import maseval.server.http",
    "Starlette and uvicorn": "import maseval.view.serving, starlette.applications",
}


def answer(*asked: object) -> Completion:
    """What both servers say."""
    return completion(ChatResponse(content="done " * 40), "m")


def main() -> None:
    """Print the tables."""
    with ChatServer(answer) as plain, ViewServer(_app()) as other:
        ports = dict(zip(STACKS, (plain.server_port, other.port), strict=True))
        columns = ("stack", "one request, median ms", f"{CLIENTS} clients, requests per s")
        show("The same answer", columns, [(n, *_speed(port)) for n, port in ports.items()])
    rows = [(name, *_start(code)) for name, code in STACKS.items()]
    show("Before the first request", ("stack", "import in s of CPU", "MB"), rows)


def _app() -> Starlette:
    async def chat(request: Request) -> Response:
        parse_request(await request.body())
        return Response(encode(answer()), media_type="application/json")

    return Starlette(routes=[Route(PATH, chat, methods=["POST"])])


def _speed(port: int) -> tuple[str, str]:
    alone = _client(port)
    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda _: _client(port), range(CLIENTS)))
    rate = CLIENTS * REQUESTS / (time.perf_counter() - began)
    return f"{1000 * median(alone):.2f}", f"{rate:.0f}"


def _client(port: int) -> list[float]:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        return [_timed(lambda: _ask(connection)) for _ in range(REQUESTS)]


def _ask(connection: http.client.HTTPConnection) -> None:
    headers = {"content-type": "application/json"}
    connection.request("POST", PATH, BODY, headers)
    response = connection.getresponse()
    assert response.status == 200, response.read()
    response.read()


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _start(code: str) -> tuple[str, str]:
    """What importing takes, beyond what every command imports."""
    asked = (
        f"import maseval, resource, time; t = time.process_time(); {code}; "
        "print(time.process_time() - t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    taken, memory = done.stdout.split()
    return f"{float(taken):.2f}", f"{int(memory) / 1000:.0f}"


if __name__ == "__main__":
    main()
