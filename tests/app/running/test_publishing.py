import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from examples.booking import BookingBenchmark, load_tasks
from maseval import AgentAdapter, MessageHistory
from maseval.app.running.progress import RunProgress, publish_progress
from maseval.commands import run
from maseval.core.context import Said
from maseval.core.storage.redaction import Secrets
from maseval.runs import Simulation
from maseval.runs.lock import LIVE
from tests.waiting import wait_until

ONE = Simulation("retail", "7", 0)


def nothing(task: str, trial: int) -> None:
    return None


def published_once(
    folder: Path, last: Callable[..., Any] = nothing, secrets: dict[str, str] | None = None
) -> dict[str, Any]:
    """What is published first; waits for it."""
    progress = RunProgress(3)
    progress.start(ONE)
    benchmark = SimpleNamespace(last_said=last)
    with publish_progress(folder, progress, benchmark, Secrets.of(secrets or {})):
        wait_until((folder / LIVE).exists)
        return json.loads((folder / LIVE).read_bytes())


def test_a_running_run_says_what_was_said_last_in_each_simulation(tmp_path):
    found = published_once(tmp_path, lambda task, trial: Said("user", f"about {task}", 4))

    (flight,) = found["in_flight"]
    assert (flight["domain"], flight["task"], flight["trial"]) == ("retail", "7", 0)
    assert (flight["step"], flight["last"]) == (4, {"role": "user", "text": "about 7"})


def test_what_is_published_is_withdrawn_at_the_end_and_leaves_no_trace(tmp_path):
    published_once(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_no_secret_of_the_run_is_published_not_even_a_part(tmp_path):
    secret = "open-sesame-and-more"
    words = "x" * 490 + secret
    found = published_once(
        tmp_path, lambda task, trial: Said("assistant", words, 1), {"api_key": secret}
    )

    assert "open" not in found["in_flight"][0]["last"]["text"]


class Waiting(AgentAdapter):
    """An agent that speaks, and goes on when that was published."""

    def __init__(self, live: Path) -> None:
        super().__init__(None, "waiting")
        self.messages = MessageHistory()
        self.live = live

    def _run_agent(self, query: str) -> Any:
        self.messages.add_message("user", query)
        self.messages.add_message("assistant", "Let me see.")
        wait_until(lambda: "Let me see." in self.published())
        return "Ash"

    def published(self) -> str:
        try:
            return self.live.read_text()
        except FileNotFoundError:
            return ""


def test_a_benchmark_of_ones_own_says_what_was_said_last(tmp_path):
    live = tmp_path / "r" / LIVE

    class Rooms(BookingBenchmark):
        def setup_agents(self, agent_data, environment, task, user, seed_generator):
            agent = Waiting(live)
            return [agent], {agent.name: agent}

    result = run(benchmark=Rooms, tasks=load_tasks, num_tasks=1, output=live.parent)

    assert result.complete and not live.exists()  # else the agent would wait for ever


def test_a_benchmark_that_cannot_say_what_was_said_is_published_all_the_same(tmp_path):
    def fail(task, trial):
        raise RuntimeError("changed size during iteration")

    assert published_once(tmp_path, fail)["in_flight"][0]["last"] is None
