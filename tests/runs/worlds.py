"""Small runs into folders: a benchmark with a scripted model, and reports made by hand."""

from pathlib import Path
from typing import Any

from maseval import AgentAdapter, ScriptedModelAdapter, Task
from maseval.core.seeding import DefaultSeedGenerator
from maseval.runs import RunFolder, run_into, task_ids
from tests.core.worlds import Shop, World

# As they come from data: a telecom id, paths, and letters of every kind.
AWKWARD_IDS = [
    "[mobile_data_issue]airplane_mode_on|user_abroad[PERSONA:Hard]",
    "../../../etc/passwd",
    "/absolute/path",
    "naïve.\u202etxt\u2028",
    'quote", "shared": "x',
    "a" * 300,
    "..",
]


class Clerk(AgentAdapter):
    """Asks its model once and answers with what it says."""

    def _run_agent(self, query: str) -> str:
        return self.agent.chat([{"role": "user", "content": query}]).content


class Desk(Shop):
    """A benchmark whose agent speaks through a scripted model, seeded for each repetition."""

    def setup_agents(
        self,
        agent_data: dict[str, str],
        environment: World,
        task: Task,
        user: None,
        seed_generator: DefaultSeedGenerator,
    ) -> tuple[list[Clerk], dict[str, Any]]:
        seed = seed_generator.derive_seed("agents/clerk")
        model = ScriptedModelAdapter([f"{task.id} done, {seed % 1000}. " * 40], model_id="clerk")
        clerk = Clerk(self.register("models", "clerk", model), "clerk")
        return [clerk], {"clerk": clerk}


def desk(**settings: Any) -> Desk:
    return Desk(seed=7, **settings)


def tasks(*ids: str, domain: str = "") -> list[Task]:
    metadata = {"domain": domain} if domain else {}
    return [Task(query=f"do {each}", id=each, metadata=dict(metadata)) for each in ids]


def config(*ids: str, trials: int = 1, **settings: Any) -> dict[str, Any]:
    return {"tasks": task_ids(tasks(*ids)), "trials": trials, **settings}


def report(task_id: str = "a", trial: int = 0, *, domain: str = "", **parts: Any) -> Any:
    return {
        "task_id": task_id,
        "repeat_idx": trial,
        "status": "success",
        "error": None,
        "traces": {"agents": {"a": {"messages": [{"role": "user", "content": "hi"}]}}},
        "config": {"agents": {"a": {"type": "A"}}},
        "usage": {},
        "eval": [{"reward": 1.0}],
        "task": {"query": "hi", "metadata": {"domain": domain} if domain else {}, "protocol": {}},
        "final_answer": "done",
        "run_id": "run-1",
        "started_at": "2025-01-01T00:00:00",
        "duration_seconds": 1.5,
        "seed": 7,
        "attempts": [],
        **parts,
    }


def as_killed(path: Path) -> Path:
    """Take away what only a session that closes leaves: the seal of the log."""
    (path / "seal.json").unlink()
    return path


def finished_run(path: Path | str, *ids: str, trials: int = 1, **settings: Any) -> Path | str:
    """A folder into which everything was run."""
    with RunFolder.open(path, config(*ids, trials=trials, **settings)) as folder:
        run_into(folder, desk(), tasks(*ids))
    return path
