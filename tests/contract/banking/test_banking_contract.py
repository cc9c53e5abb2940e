"""banking_knowledge: tools, tasks, policies, searches, verdicts and runs are the recorded ones."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, register_model
from maseval.benchmark.tau2.data_loader import (
    load_guidelines,
    load_raw_task,
    load_raw_tasks,
    load_tasks,
)
from maseval.benchmark.tau2.domains.banking_knowledge import banking, documents
from maseval.benchmark.tau2.domains.banking_knowledge.documents import (
    KeptVectors,
    export,
    knowledge_base,
)
from maseval.benchmark.tau2.domains.banking_knowledge.variants import (
    VARIANTS,
    SearchOptions,
    variant_named,
)
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.domains.releases import V1_0_1
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.review.audit import audit
from maseval.benchmark.tau2.review.explain import explain
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.original import scenario_text, user_prompt
from maseval.benchmark.tau2.world.setting import Setting, gold_state
from maseval.benchmark.tau2.world.state.hashing import state_hash
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.benchmark.tau2.world.world import World
from maseval.core.call_policy import CallPolicy
from maseval.core.provider_errors import ProviderConnectionError
from maseval.core.providers import register_embedder
from tests.contract.replay import assert_same, records, sha256
from tests.contract.test_orchestrator_contract import differences, played
from tests.contract.test_scoring_contract import comparable, outcome
from tests.contract.timelines import timeline_differences

pytestmark = [pytest.mark.contract, pytest.mark.data]

TIMING = re.compile(r"retrieval=\d+ms, reranking=\d+ms, total=\d+ms")


def variant(name: str) -> Any:
    return V1_0_1.domains[f"banking_knowledge@{name}"]


def begun(
    domain: Domain, folder: Path, task: dict[str, Any], allowlist: list[str] | None = None
) -> World:
    state = {**(task.get("initial_state") or {})}
    if allowlist is not None:
        state["noted_reads"] = allowlist
    spec = TaskSpec.of({**task, "initial_state": state})
    return Setting(domain, folder, spec, rules=V1_0_1.rules).world()


def test_the_database_and_the_documents_are_the_recorded_ones(vectors, folder, domain):
    recorded = records(vectors / "db.json")[0]
    world = World(domain, folder, rules=V1_0_1.rules.replay)
    documents = knowledge_base(folder).documents

    assert world.get_db_hash() == world.get_user_db_hash() == recorded["agent_db_hash"]
    assert list(type(world.tools.db).model_fields) == recorded["table_order"]
    assert world.tools.db.get_statistics() == recorded["statistics"]
    assert world.user_tools.get_statistics() == recorded["user_toolkit_statistics"]
    assert (
        sha256("\n".join(document.id for document in documents))
        == (recorded["document_ids_sha256"])
    )
    assert (
        sha256(json.dumps([list(document) for document in documents]))
        == (recorded["documents_sha256"])
    )
    with pytest.raises(ValueError) as refused:
        World(domain, folder, solo=True)
    assert f"ValueError: {refused.value}" == recorded["solo_mode_error"]


@pytest.mark.parametrize("name", VARIANTS)
def test_each_variant_has_the_recorded_tools_and_policy(vectors, folder, name):
    recorded, domain = records(vectors / "db.json")[0]["variants"][name], variant(name)
    policy = domain.policy(folder)

    offered = [definition["function"]["name"] for definition in domain.toolkit.definitions()]
    assert offered == recorded["tool_order"]
    assert domain.toolkit.get_statistics() == recorded["toolkit_statistics"]
    assert (len(policy), sha256(policy)) == (recorded["policy_len"], recorded["policy_sha256"])


def test_a_variant_is_found_by_the_name_that_the_original_knows(vectors):
    for name, recorded in records(vectors / "db.json")[0]["resolve_variant"].items():
        try:
            assert variant_named(name).name == recorded
        except ValueError as error:
            assert f"ValueError: {error}" == recorded


def test_every_recorded_call_is_answered_the_same(vectors, folder, domain):
    sequences = records(vectors / "tool_calls.jsonl.gz")

    assert sum(len(sequence["steps"]) for sequence in sequences) >= 7_596
    assert_same(found for sequence in sequences for found in of_sequence(sequence, domain, folder))


def of_sequence(sequence: dict[str, Any], domain: Domain, folder: Path) -> Iterator[str]:
    task_id = sequence["task_id"]
    task = {"id": None} if task_id is None else load_raw_task(domain, task_id)
    world = begun(domain, folder, task, sequence["read_log_allowlist"])
    if sequence["agent_data"]:
        world.initialize({"agent_data": sequence["agent_data"]}, None)
    where = f"sequence {sequence['seq']} ({sequence['label']})"
    state = world.tools.db.state()
    digest = state_hash(state)
    if digest != sequence["init_agent_db_hash"]:
        yield f"{where}: begins elsewhere"
    for step in sequence["steps"]:
        call = {"id": "", "name": step["tool"], "arguments": step["arguments"]}
        answer = world.respond({**call, "requestor": step["requestor"]})
        before, state = state, world.tools.db.state()
        digest = digest if state == before else state_hash(state)
        found = (answer["content"], answer["error"], digest)
        if found != (step["content"], step["error"], step["agent_db_hash"]):
            yield f"{where}, step {step['step']}: {step['tool']}({step['arguments']}) {found}"
        kit = world.tools if step["requestor"] == "assistant" else world.user_tools
        known = kit.has_tool(step["tool"])
        kind = (str(kit.tool_type(step["tool"])), kit.mutates(step["tool"])) if known else None
        if kind != (None if step["tool_type"] is None else (step["tool_type"], step["mutates"])):
            yield f"{where}: {step['tool']} is {kind}"


def test_every_task_begins_and_is_solved_as_recorded(vectors, folder, domain):
    recorded = records(vectors / "tasks.jsonl.gz")

    assert len(recorded) >= 58
    assert_same(found for record in recorded for found in of_task(record, domain, folder))


def of_task(record: dict[str, Any], domain: Domain, folder: Path) -> Iterator[str]:
    task = load_raw_task(domain, record["task_id"])
    setting = Setting(domain, folder, TaskSpec.of(task), rules=V1_0_1.rules)
    bare = setting._replace(
        task=TaskSpec.of({**task, "initial_state": {**state_of(task), "noted_reads": []}})
    )
    gold, world = gold_state(setting), setting.world()
    scenario = scenario_text(**{"persona": None, **task["user_scenario"]})
    golden = variant("golden_retrieval").task_policy(folder, False, task)
    offered = Tau2Environment({"domain": domain, "db_path": folder / "db.json"}).create_user_tools(
        task.get("user_tools")
    )
    guidelines = load_guidelines(bool(offered), version="1.0.1")
    found: dict[str, Any] = {
        "read_log_allowlist": list(setting.task.start.noted_reads or ()),
        "init": {"agent_db_hash": world.get_db_hash()},
        "gold_without_allowlist_agent_db_hash": state_hash(gold_state(bare).state.company),
        "user_scenario_str_sha256": sha256(scenario),
        "user_tools_offered": list(offered) or None,
        "user_system_prompt_sha256": sha256(user_prompt(guidelines, scenario)),
        "reward_basis": [kind.value for kind in setting.task.evaluation_criteria.reward_basis],
        "num_actions": len(setting.task.actions),
        "golden_policy_sha256": sha256(golden),
    }
    for action, step in zip(
        setting.task.actions, record["gold_get_response_way"]["steps"], strict=True
    ):
        answer = world.respond(action.call())
        if (sha256(answer["content"]), answer["error"]) != (step["content_sha256"], step["error"]):
            yield f"{record['task_id']}: {action.name} answers {answer['content']!r}"
    ways = {
        "gold_evaluator_way": state_hash(gold.state.company),
        "gold_get_response_way": world.get_db_hash(),
    }
    for way, found_hash in ways.items():
        if found_hash != record[way]["agent_db_hash"]:
            yield f"{record['task_id']}: {way} ends elsewhere"
    for key, value in found.items():
        if record[key] != value:
            yield f"{record['task_id']} {key}: found {value!r}, recorded {record[key]!r}"


def state_of(task: dict[str, Any]) -> dict[str, Any]:
    return task.get("initial_state") or {}


def test_the_97_tasks_are_read_in_the_order_of_their_files(folder, domain):
    tasks = load_raw_tasks(domain)

    assert len(tasks) == len(load_tasks(domain)) == 97
    assert [task["id"] for task in tasks] == sorted(task["id"] for task in tasks)


def test_every_recorded_evaluation_comes_out_the_same(vectors, folder, domain):
    recorded = records(vectors / "evaluations.jsonl.gz")

    assert len(recorded) >= 523
    assert_same(of_evaluations(recorded, domain))


def of_evaluations(recorded: list[dict[str, Any]], domain: Domain) -> Iterator[str]:
    for record in recorded:
        task = dict(load_raw_task(domain, record["task_id"]))
        for key, value in (record["task_override"] or {}).items():
            merge = key == "evaluation_criteria" and value is not None
            task[key] = {**task[key], **value} if merge else value
        task["initial_state"] = {
            **state_of(task),
            "noted_reads": record["read_log_allowlist"] or [],
        }
        found = outcome(
            record["simulation"],
            record["judge_reply"],
            domain=domain,
            task=task,
            evaluation_type=record["evaluation_type"],
            lenient_replay=not record["strict_replay"],
            version="1.0.1",
        )
        if comparable(found) != comparable(record):
            yield f"{record['id']} {record['variant']}\n  {found}\n  {comparable(record)}"


def embedding_of(text: str) -> list[float]:
    """What the vectors were recorded with in place of a model."""
    return [(byte - 127.5) / 127.5 for byte in hashlib.sha256(text.lower().encode()).digest()]


class HashEmbedder:
    def __init__(self, name: str) -> None:
        self.model_id = name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        asked.append((self.model_id, len(texts), sha256(texts[0])))
        return [embedding_of(text) for text in texts]


asked: list[tuple[str, int, str]] = []


def rate(messages: list[dict[str, Any]], tools: Any) -> str:
    """The rating that was recorded: a function of the document; -2 is a failed request."""
    content = messages[-1]["content"]
    document = content.partition("<start_document>\n")[2].rpartition("\n<end_document>")[0]
    rating = hashlib.sha256(document.encode()).digest()[0] % 14 - 2
    if rating == -2:
        raise ProviderConnectionError("no", provider="openai", model_id="gpt-5.2")
    return "nonsense" if rating == -1 else json.dumps({"relevance_score": rating})


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Local embeddings and ratings, and a cache of one's own for them."""
    asked.clear()
    kept = KeptVectors(tmp_path / "vectors")
    monkeypatch.setattr(documents, "_vector_cache", lambda: kept)
    register_embedder("openai", HashEmbedder)
    register_embedder("openrouter", HashEmbedder)
    policy = CallPolicy(max_attempts=1)
    register_model("openai", lambda name, **options: rater(name, policy))
    yield
    documents.dense_index.cache_clear()


def rater(name: str, policy: CallPolicy) -> ScriptedModelAdapter:
    model = ScriptedModelAdapter(rate, model_id=name)
    model.policy = policy
    return model


KINDS = [("bm25", 121), ("grep", 82), ("dense", 50), ("rerank", 18), ("shell", 32)]


@pytest.mark.parametrize(("kind", "count"), KINDS)
def test_every_recorded_search_finds_the_same(vectors, folder, models, kind, count):
    recorded = [each for each in records(vectors / "retrieval.jsonl.gz") if each["kind"] == kind]
    if kind == "shell" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")

    assert len(recorded) >= count
    worlds: dict[str, World] = {}
    assert_same(found for record in recorded for found in of_search(record, folder, worlds))


def of_search(record: dict[str, Any], folder: Path, worlds: dict[str, World]) -> Iterator[str]:
    key = json.dumps([record["variant"], record["retrieval_kwargs"]])
    if key not in worlds:
        options = record["retrieval_kwargs"] or {}  # the original ignores those it does not know
        known = {name: value for name, value in options.items() if hasattr(SearchOptions, name)}
        domain = banking(record["variant"], **known)
        worlds[key] = World(domain, folder, rules=V1_0_1.rules.replay)
    call = {"id": "", "name": record["tool"], "arguments": record["arguments"]}
    answer = worlds[key].respond({**call, "requestor": "assistant"})
    shown = TIMING.sub("retrieval=<T>ms, reranking=<T>ms, total=<T>ms", answer["content"])
    if (sha256(shown), answer["error"]) != (record["content_sha256"], record["error"]):
        wanted = record["content"] or record["content_len"]
        yield f"{record['id']}: {record['tool']}({record['arguments']}) {shown[:300]!r}: {wanted!r}"


def test_the_documents_are_sent_in_one_request_and_each_question_in_another(folder, models):
    world = World(banking("qwen_embeddings"), folder, rules=V1_0_1.rules.replay)
    for _ in range(2):
        world.call("KB_search", "assistant", {"query": "gold"})

    said = load_texts("1.0.1").prompts["banking"]
    instructed = f"Instruct: {said['qwen_query_instruction']}\nQuery:gold"
    first = knowledge_base(folder).documents[0].content
    assert asked == [
        ("qwen/qwen3-embedding-8b", 1, sha256(instructed)),
        ("qwen/qwen3-embedding-8b", 698, sha256(first)),
    ]


def test_the_folder_of_the_shell_has_the_recorded_files(vectors, folder, tmp_path):
    (recorded,) = (r for r in records(vectors / "retrieval.jsonl.gz") if r["kind"] == "export")

    export(knowledge_base(folder).documents, tmp_path)

    files = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in tmp_path.iterdir()}
    lines = "".join(f"{name} {files[name]}\n" for name in sorted(files))
    assert len(files) == recorded["files"]
    assert files["INDEX.md"] == recorded["index_sha256"]
    assert {name: files[name] for name in recorded["sample"]} == recorded["sample"]
    assert recorded["manifest_sha256"] in (sha256(lines), sha256(lines.rstrip("\n")))


def test_every_recorded_orchestration_comes_out_the_same(vectors, folder, domain):
    recorded = records(vectors / "orchestrator.jsonl.gz")

    assert len(recorded) >= 26
    assert_same(found for record in recorded for found in of_run(record, domain, folder))


def of_run(record: dict[str, Any], domain: Domain, folder: Path) -> Iterator[str]:
    """Here the record counts farewells, and gives one hash for the one database."""
    found = played(record, domain, folder)
    for farewells in ("agent_stop_calls", "user_stop_calls"):
        found[farewells] = len(found.get(farewells, ()))
    one_database = {"final_user_db_hash": record["final_agent_db_hash"]}
    yield from differences({**record, **one_database}, found)


def test_the_audit_finds_what_is_known_to_be_wrong_with_its_tasks(folder, domain):
    audited = audit(domain)
    findings = {(finding.kind, finding.task_id) for finding in audited}

    assert {task for kind, task in findings if kind == "gold is refused"} == {
        "task_051",
        "task_083",
    }
    assert {task for kind, task in findings if kind == "initial data is ignored"} == {
        "task_058",
        "task_059",
    }
    (unknown,) = [each.text for each in audited if each.kind == "unknown tool is named"]
    assert "downgrade_credit_card_3847" in unknown


def test_one_database_is_explained_once(vectors, folder, domain):
    recorded = records(vectors / "evaluations.jsonl.gz")
    failed = next(
        each
        for each in recorded
        if each["variant"] == "drop_action" and each["reward_info"]["reward"] == 0.0
    )
    explained = explain(failed["simulation"], domain=domain, version="1.0.1")

    assert explained.passed is False
    places = [field.place for field in explained.wrong_fields]
    assert places and {place.side for place in places} == {"company"}


def test_a_timeline_ends_in_the_state_that_scoring_computes(vectors, folder, domain):
    recorded = [each for each in records(vectors / "evaluations.jsonl.gz") if _as_it_is(each)]

    assert len(recorded) > 100
    assert_same(
        difference
        for number, record in enumerate(recorded)
        for difference in timeline_differences(
            record["id"], record["simulation"], domain, "1.0.1", every_message=number % 40 == 0
        )
    )


def _as_it_is(record: dict[str, Any]) -> bool:
    return record["task_override"] is None and not record["read_log_allowlist"]
