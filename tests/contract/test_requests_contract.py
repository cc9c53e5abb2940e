"""With the original's texts every request is the original's: recorded runs, hash by hash.

Scripted models give the recorded replies to the real run loop and environment. A request is
compared at the point where the original hands it to LiteLLM.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maseval import ModelAdapter, Report, ScriptedModelAdapter, SeedGenerator
from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, load_tasks
from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data_loader import load_guidelines
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.original import OriginalWording
from maseval.benchmark.tau2.texts.texts import Texts
from maseval.core.task import Task
from tests.contract.mock_domain import (
    mock_domain,
    mock_domain_of_1_0_1,
    mock_domain_of_verified,
)
from tests.contract.replay import Vector, assert_same, records, request_body

pytestmark = [pytest.mark.contract, pytest.mark.data]

MODES = {"llm_agent": "normal", "llm_agent_gt": "oracle-plan", "llm_agent_solo": "solo"}
ROLES = {"agent_model": "agent", "user_simulator": "user", "nl_evaluator": "judge"}
JUDGES = {"0.2.0": "gpt-4o-mini", "1.0.1": "gpt-4.1-2025-04-14", "verified": "gpt-4o-mini"}
VERSIONS = ("0.2.0", "1.0.1", "verified")
LEAST = {"0.2.0": 150, "1.0.1": 150, "verified": 260}


def canonical(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sha256(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


class OneSeed(OriginalWording):
    """The seed of the recorded simulation, which its run would have derived."""

    def __init__(self, texts: Texts, seed: int | None) -> None:
        super().__init__(texts, RELEASES[texts.version].rules.participants)
        self.fixed = seed

    def seed(self, role: str, seeds: SeedGenerator) -> int | None:
        return None if role == "judge" else self.fixed


class Recorded(DefaultAgentTau2Benchmark):
    """The reference agent and user with the recorded replies; ``bodies`` keeps every request."""

    def __init__(self, run: Vector, texts: Texts) -> None:
        super().__init__(
            progress_bar=False,
            max_invocations=run["max_steps"],
            mode=MODES[run["agent"]],
            texts=OneSeed(texts, run["seed"]),
            agent_data={"model_id": "agent-model", "llm_args": run["llm_args_agent"]},
        )
        self.script = run["script"]
        self.bodies: list[tuple[str, dict[str, Any]]] = []

    def get_model_adapter(self, model_id: str, **kwargs: Any) -> ModelAdapter:
        role = ROLES[kwargs["register_name"]]
        adapter = _Listening(role, self.script[role], model_id, kwargs["seed"], self.bodies)
        return self.register("models", kwargs["register_name"], adapter)


class _Listening(ScriptedModelAdapter):
    def __init__(
        self, role: str, replies: Any, model_id: str, seed: int | None, bodies: Any
    ) -> None:
        super().__init__(replies, model_id=model_id, seed=seed)
        self.role, self.bodies = role, bodies

    def _chat_impl(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        response = super()._chat_impl(messages, *args, **kwargs)
        asked = self.requests[-1]
        body = request_body(
            self.model_id,
            asked["messages"],
            asked["generation_params"],
            asked["tools"],
            asked["tool_choice"],
            self.seed,
        )
        self.bodies.append((self.role, body))
        return response


def mock_of(version: str, contract_dir: Path, shared_data: Path, folder: Path) -> Domain:
    """The mock domain; its customer gets the original's guidelines, like everybody's."""
    sources = [contract_dir / "mock"]
    if version != "0.2.0":
        sources.append(shared_data / f"tau2-{title_of(version)}" / "domains" / "mock")
    for file in (file for source in sources for file in source.iterdir()):
        (folder / file.name).unlink(missing_ok=True)
        shutil.copyfile(file, folder / file.name)
    for name, with_tools in (("user_guidelines.md", False), ("user_guidelines_tools.md", True)):
        (folder / name).write_text(load_guidelines(with_tools, version=version), encoding="utf-8")
    if version == "0.2.0":
        return mock_domain(folder.parent)
    return (mock_domain_of_verified if version == "verified" else mock_domain_of_1_0_1)(folder)


def domain_of(run: Vector) -> Domain:
    """The domain of a run; searches that need a network or a sandbox are not made in it."""
    if variant := run.get("retrieval_variant"):
        return replace(domain_named(f"{run['domain']}@{variant}"), require_ready=lambda: None)
    return domain_named(run["domain"])


def task_of(run: Vector, domain: Domain) -> Task:
    tasks = load_tasks(
        domain, None, timeout_seconds=None, max_retries=0, version=run["version"]
    ).to_list()
    (task,) = [task for task in tasks if str(task.id) == run["task_id"]]
    if domain.data_dir is not None or "@" in domain.name:
        task.environment_data["domain"] = domain
    task.user_data |= {"model_id": "user-model", "llm_args": run["llm_args_user"]}
    if any(request["role"] == "judge" for request in run["requests"]):
        task.evaluation_data["model_id"] = JUDGES[run["version"]]
    return task


def differences(run: Vector, bodies: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    where = f"{run['version']} {run['id']}"
    if len(bodies) != len(run["requests"]):
        yield f"{where}: {len(bodies)} requests, not {len(run['requests'])}"
    for wanted, (role, body) in zip(run["requests"], bodies, strict=False):
        if (role, sha256(body)) != (wanted["role"], wanted["sha256"]):
            yield f"{where} request {wanted['n']} ({role}): {first_difference(wanted, body)}"


def first_difference(wanted: Vector, body: dict[str, Any]) -> str:
    found = [[message["role"], sha256(message)[:16]] for message in body["messages"]]
    for number, (ours, theirs) in enumerate(zip(found, wanted["messages"], strict=False)):
        if ours != theirs:
            return f"message {number} ({theirs[0]}) is {body['messages'][number]}"
    if len(found) != len(wanted["messages"]):
        return f"{len(found)} messages, not {len(wanted['messages'])}"
    tools = sha256(body["tools"]) if body["tools"] else None
    if tools != wanted["tools_sha256"]:
        return f"the tools {[tool['function']['name'] for tool in body['tools'] or ()]}"
    rest = {key: value for key, value in body.items() if key not in ("messages", "tools")}
    return f"{rest}, not {wanted['rest']}"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_of_the_recorded_runs_is_the_originals(
    version, contract_dir, shared_data, tau2_data_verified, banking_data, tmp_path, monkeypatch
):
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
    texts = load_texts(version, shared_data / "tau2-texts")
    (tmp_path / "mock").mkdir()
    mock = mock_of(version, contract_dir, shared_data, tmp_path / "mock")
    vectors = [
        run
        for folder in (contract_dir, contract_dir / "verified")
        for run in records(folder / "texts" / "requests.jsonl.gz")
        if run["version"] == version
    ]
    found: list[str] = []
    compared = 0
    for run in vectors:
        benchmark = Recorded(run, texts)
        domain = mock if run["domain"] == "mock" else domain_of(run)
        (report,) = benchmark.run([task_of(run, domain)])
        found += differences(run, benchmark.bodies)
        found += other_outcome(run, report)
        compared += len(benchmark.bodies)
    assert_same(found)
    assert compared == sum(len(run["requests"]) for run in vectors) >= LEAST[version]


def other_outcome(run: Vector, report: Report) -> Iterator[str]:
    simulation = report["traces"]["environment"]["simulation"]
    if simulation["termination_reason"] != run["termination_reason"]:
        yield f"{run['id']}: {report['status']} {report['error']}"
    elif [result["reward"] for result in report["eval"] or ()] != [run["reward"]]:
        yield f"{run['id']}: {report['eval']}, not {run['reward']}"
