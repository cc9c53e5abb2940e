"""Two worker processes, one provider, one limit: over HTTP, with a real client library."""

import http.server
import json
import threading
import time
from contextlib import contextmanager

import pytest

from maseval.testing.provider_server import OpenAIProtocol
from tests.interface.libraries import needing
from tests.waiting import wait_until

pytestmark = [*needing("ray"), *needing("openai")]

PROCESSES, THREADS, CALLS = 2, 8, 3
ALL = PROCESSES * THREADS
WAIT = 2.0


class Provider(http.server.ThreadingHTTPServer):
    """Holds the first requests until all have come, refuses one, and counts the others."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answering)
        self.lock = threading.Lock()
        self.all_came, self.go_on = threading.Event(), threading.Event()
        self.came = self.under_way = self.most = 0
        self.refused_at = None
        self.next_at = None

    def enter(self):
        with self.lock:
            self.came += 1
            if self.came > ALL:
                self.next_at = self.next_at or time.monotonic()
                self.under_way += 1
                self.most = max(self.most, self.under_way)
            return self.came

    def leave(self, number):
        with self.lock:
            self.under_way -= number > ALL


class Answering(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        number = self.server.enter()
        if number == ALL:
            self.server.all_came.set()
            self.server.refused_at = time.monotonic()
            self.reply(429, OpenAIProtocol.error("slow down"), {"Retry-After": str(WAIT)})
            return
        if number < ALL:
            self.server.go_on.wait(120)
        else:
            time.sleep(0.05)
        self.server.leave(number)
        self.reply(200, OpenAIProtocol.text("Hello"))

    def reply(self, status, body, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@contextmanager
def provider():
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def ray():
    from maseval.interface.ray.connection import connect_ray

    with connect_ray("local", PROCESSES) as ray:
        yield ray


def worker_class(ray):
    @ray.remote(num_cpus=1, max_concurrency=100)
    class Worker:
        def __init__(self, limits, url):
            from maseval.core.model import resolve_model
            from maseval.interface.ray.limiter import share_limits

            share_limits(limits)
            self.model = lambda: resolve_model("openai/m", base_url=url, api_key="none")

        def ask(self, times):
            model = self.model()
            return [model.generate("hi") for _ in range(times)]

        def throttle(self):
            from maseval.core.throttle import throttle_of

            return throttle_of(self.model().endpoint)

        def state(self):
            throttle = self.throttle()
            return throttle._joined, throttle.under_way, len(throttle._queue)

        def has_answered(self, model_id):
            return self.throttle().has_answered(model_id)

    return Worker


def test_two_processes_ask_no_more_of_a_provider_than_one_limit_allows(ray):
    from maseval.interface.ray.limiter import start_limits

    limits = start_limits(ray)
    with provider() as (server, url):
        workers = [worker_class(ray).remote(limits, url) for _ in range(PROCESSES)]
        idle = worker_class(ray).options(num_cpus=0).remote(limits, url)
        answers = [worker.ask.remote(CALLS) for worker in workers for _ in range(THREADS)]
        assert server.all_came.wait(240)
        # Only one process was refused; both have joined when all 16 count.
        wait_until(lambda: list(ray.get(limits.limits.remote()).values()) == [ALL // 2])
        server.go_on.set()

        assert ray.get(answers) == [["Hello"] * CALLS] * ALL

        (limit,) = ray.get(limits.limits.remote()).values()
        assert server.came == ALL * CALLS + 1
        assert server.next_at - server.refused_at >= WAIT
        assert 0 < server.most <= limit < ALL
        wait_until(lambda: ray.get([each.state.remote() for each in workers]) == [(True, 0, 0)] * 2)
        # A process that never got an answer knows that the model gave one to others.
        assert ray.get([idle.has_answered.remote(name) for name in ("m", "n")]) == [True, False]


def test_a_limiter_that_dies_stops_nobody_and_its_successor_is_joined(ray):
    from maseval.interface.ray.limiter import start_limits

    limits = start_limits(ray)
    with provider() as (server, url):
        server.came, server.refused_at = ALL + 1, 0.0
        worker = worker_class(ray).remote(limits, url)
        assert ray.get(worker.ask.remote(1)) == ["Hello"]

        ray.kill(limits, no_restart=False)

        assert ray.get(worker.ask.remote(1)) == ["Hello"]
        server.came = ALL - 1
        assert ray.get(worker.ask.remote(1)) == ["Hello"]
        wait_until(lambda: ray.get(limits.limits.remote()) or _refuse_again(ray, server, worker))


def _refuse_again(ray, server, worker):
    server.came = ALL - 1
    assert ray.get(worker.ask.remote(1)) == ["Hello"]
