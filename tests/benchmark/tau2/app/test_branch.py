"""``tau2.branch``: the same sides go on as they did; others go on from the same point."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from maseval import ScriptedModelAdapter, commands
from maseval.app.running import folder_run
from maseval.benchmark.tau2 import DefaultTau2Agent, DefaultTau2AgentAdapter
from maseval.benchmark.tau2.app.running.branch import BranchResult
from maseval.commands import tau2
from maseval.core.agent import AgentAdapter
from maseval.core.agent_brief import AgentBrief
from maseval.core.exceptions import ConfigurationError
from maseval.core.messages import MessageHistory
from maseval.runs import RunConfigError, RunFolder, Simulation
from maseval.server import ModelServer
from tests.cli.commandline import maseval, require_data


def reports(folder: Path) -> dict[Simulation, Any]:
    return {Simulation.of(each): each for each in RunFolder.read(folder).reports()}


def simulation(report: dict[str, Any]) -> dict[str, Any]:
    return report["traces"]["environment"]["simulation"]


def undated(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: each[key] for key in each if key != "timestamp"} for each in messages]


def assert_goes_on_as_it_did(
    folder: Path, tmp_path: Path, *, every: int = 1, **options: Any
) -> int:
    """Branched anywhere with the same sides, the rest is the same to the letter."""
    count = 0
    for one, report in reports(folder).items():
        recorded = simulation(report)
        spoken = [i for i, each in enumerate(recorded["messages"]) if each["role"] != "tool"]
        for at in spoken[:-1:every]:
            output = tmp_path / f"branch-{one.domain}-{count}"
            tau2.branch(
                run=folder,
                task=f"{one.domain}/{one.task_id}",
                trial=one.trial,
                at=at,
                output=output,
                **options,
            )
            (again,) = reports(output).values()
            found = simulation(again)
            assert undated(found["messages"]) == undated(recorded["messages"]), (one, at)
            assert found["messages"][: at + 1] == recorded["messages"][: at + 1]
            assert found["termination_reason"] == recorded["termination_reason"]
            assert again["eval"] == report["eval"]
            for name in ("final_db_hash", "final_user_db_hash"):
                worlds = (each["traces"]["environment"] for each in (again, report))
                assert len({world[name] for world in worlds}) == 1
            assert again["traces"]["agents"].keys() == report["traces"]["agents"].keys()
            if report["traces"]["user"]:
                mine, theirs = (each["traces"]["user"] for each in (again, report))
                assert (mine["messages"], mine["turns_used"]) == (
                    theirs["messages"],
                    theirs["turns_used"],
                )
            count += 1
    return count


@pytest.mark.data
@pytest.mark.parametrize(
    ("domain", "agent", "mode"),
    [
        ("airline", "gold", "normal"),
        ("retail", "noisy", "normal"),
        ("telecom", "noisy", "normal"),
        ("telecom", "gold", "solo"),
    ],
)
def test_the_same_sides_go_on_as_they_did(tmp_path, domain, agent, mode):
    require_data()
    args = {"error_rate": 0.4} if agent == "noisy" else None
    run = tau2.run(
        domain=domain,
        agent=agent,
        agent_args=args,
        mode=mode,
        num_tasks=2,
        trials=2,
        output=tmp_path / "run",
    )

    assert assert_goes_on_as_it_did(run.folder, tmp_path, every=3) >= 4


@pytest.mark.data
@pytest.mark.parametrize("domain", ["telecom", "banking_knowledge@no_knowledge"])
def test_so_it_is_under_the_rules_of_v1(
    tmp_path, monkeypatch, shared_data, tau2_data_of_1_0_1, banking_data, domain
):
    monkeypatch.setenv("MASEVAL_TAU2_DATA", str(shared_data / "tau2-v1.0.1"))
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))
    run = tau2.run(
        domain=domain, agent="noisy", num_tasks=2, data_version="1.0.1", output=tmp_path / "run"
    )

    assert assert_goes_on_as_it_did(run.folder, tmp_path, every=3) > 2


def thoughtful(brief: AgentBrief) -> DefaultTau2AgentAdapter:
    """The reference agent with a model that answers by all that it has seen."""

    def reply(messages, tools):
        said = sum(each["role"] == "assistant" for each in messages)
        if said % 3 == 0:
            seen = str(len(messages))
            return {"name": "search_catalogue", "arguments": {"text": seen}, "id": f"call_{seen}"}
        return f"I have seen {len(messages)} messages, the last was {messages[-1]['content']!r}."

    model = ScriptedModelAdapter(reply, model_id="thoughtful")
    return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, model))


def test_models_see_what_they_had_seen(tmp_path):
    given = dict(agent=thoughtful, user_model="scripted/echo", user="llm")
    run = tau2.run(domain="library", num_tasks=1, max_steps=14, output=tmp_path / "run", **given)

    assert assert_goes_on_as_it_did(run.folder, tmp_path, **given) > 6


@pytest.fixture
def noop(tmp_path: Path) -> Path:
    """A conversation in which nothing was done."""
    return tau2.run(domain="library", num_tasks=1, agent="noop", output=tmp_path / "noop").folder


def branched(folder: Path, tmp_path: Path, **options: Any) -> BranchResult:
    task = next(iter(RunFolder.read(folder).planned)).task_id
    return tau2.branch(run=folder, task=task, output=tmp_path / "branch", **options)


def test_another_agent_takes_over_and_the_chance_has_an_interval(noop, tmp_path):
    found = branched(noop, tmp_path, at=1, agent="gold", repeats=5)

    assert (found.passed, found.judged, found.chance) == (5, 5, 1.0)
    assert 0.4 < found.interval.low < 0.5 and found.interval.high == 1.0
    shown = found.run.summary.overall.pass_hat[1]
    assert (shown.low, shown.high) == (found.interval.low, found.interval.high)
    config = RunFolder.read(found.run.folder).config.values
    assert config["origin"]["run"] == "noop" and config["origin"]["at"] == 1
    assert config["agent"] == {"player": "gold"}
    first = simulation(next(iter(reports(noop).values())))["messages"]
    for report in reports(found.run.folder).values():
        assert simulation(report)["messages"][:2] == first[:2]
    assert json.loads(json.dumps(found.to_dict()))["chance"]["passed"] == 5


def test_the_scripted_agent_does_what_is_not_done_yet(tmp_path):
    gold = tau2.run(domain="library", num_tasks=3, agent="gold", output=tmp_path / "gold")
    for one, report in reports(gold.folder).items():
        messages = simulation(report)["messages"]
        calls = [i for i, each in enumerate(messages) if each.get("tool_calls")]
        if not calls:
            continue
        found = tau2.branch(
            run=gold.folder,
            task=one.task_id,
            at=calls[0],
            agent="gold",
            output=tmp_path / f"b{one.task_id}",
        )
        assert found.chance == 1.0


def test_a_branch_resumes_like_any_run(noop, tmp_path):
    first = branched(noop, tmp_path, at=1, agent="gold", repeats=2)
    before = reports(first.run.folder)
    more = branched(noop, tmp_path, at=1, agent="gold", repeats=3)

    assert (first.run.ran, more.run.ran, more.judged) == (2, 1, 3)
    after = reports(more.run.folder)
    assert all(after[one] == before[one] for one in before)
    with pytest.raises(RunConfigError, match=r"origin\.at"):
        branched(noop, tmp_path, at=0, agent="gold", repeats=3)


def test_branches_of_one_second_have_folders_of_their_own(noop, tmp_path, monkeypatch):
    monkeypatch.setenv("MASEVAL_RUNS_DIR", str(tmp_path / "all"))
    monkeypatch.setattr(
        folder_run, "datetime", SimpleNamespace(now=lambda: datetime(2026, 1, 2, 3, 4, 5))
    )

    task = next(iter(RunFolder.read(noop).planned)).task_id
    found = [tau2.branch(run=noop, task=task, at=1, seed=seed).run for seed in (1, 1, 2)]

    assert [each.folder.name.rpartition("-from-m1")[2] for each in found] == ["", "-2", "-3"]
    assert [each.ran for each in found] == [1, 1, 1]
    games = [tau2.play(task_id=[task], ask=lambda view: view.finish()) for _ in range(2)]
    assert games[0].run.folder != games[1].run.folder


def test_a_changed_answer_is_refused(tmp_path):
    run = tau2.run(domain="library", num_tasks=1, agent="gold", output=tmp_path / "run")
    (report,) = reports(run.folder).values()
    messages = simulation(report)["messages"]
    place = next(i for i, each in enumerate(messages) if each["role"] == "tool")
    messages[place]["content"] = '"tampered"'
    with RunFolder.open(tmp_path / "edited", RunFolder.read(run.folder).config.values) as edited:
        edited.append(report)

    with pytest.raises(ConfigurationError, match=f"message {place}: .* is recorded"):
        tau2.branch(run=edited.path, task=report["task_id"], at=place, output=tmp_path / "branch")
    assert not (tmp_path / "branch").exists()


def failing(brief: AgentBrief) -> DefaultTau2AgentAdapter:
    """Fails in its second turn."""
    replies = ["What can I do for you?", RuntimeError("the provider is down")]
    model = ScriptedModelAdapter(replies, model_id="failing")
    return DefaultTau2AgentAdapter(DefaultTau2Agent(brief.tools, brief.policy, model))


def test_a_conversation_that_broke_off_is_continued_after_its_last_message(tmp_path):
    run = tau2.run(
        domain="library",
        num_tasks=1,
        agent=failing,
        user="scripted",
        output=tmp_path / "run",
    )
    (report,) = reports(run.folder).values()
    messages = simulation(report)["messages"]
    assert messages[-1]["role"] == "user" and simulation(report)["termination_reason"] is None

    found = tau2.branch(
        run=run.folder,
        task=report["task_id"],
        at=len(messages) - 1,
        agent="gold",
        output=tmp_path / "branch",
    )

    assert found.chance == 1.0
    (again,) = reports(found.run.folder).values()
    assert simulation(again)["messages"][: len(messages)] == messages


def test_what_cannot_be_continued_is_refused(noop, tmp_path):
    (report,) = reports(noop).values()
    last = len(simulation(report)["messages"]) - 1

    with pytest.raises(ConfigurationError, match=f"no message 99; they are numbered 0 to {last}"):
        branched(noop, tmp_path, at=99)
    with pytest.raises(ConfigurationError, match=f"message {last} ends the conversation"):
        branched(noop, tmp_path, at=last)
    with pytest.raises(ConfigurationError, match="held with a user"):
        branched(noop, tmp_path, at=1, mode="solo")
    with pytest.raises(ConfigurationError, match="repeats is 0"):
        branched(noop, tmp_path, at=1, repeats=0)
    assert not (tmp_path / "branch").exists()


@pytest.mark.needs(library="openai")
def test_the_reference_agent_continues_with_another_model_and_prompt(noop, tmp_path):
    pytest.importorskip("openai")
    kinder = tmp_path / "kinder.md"
    kinder.write_text("Be kinder.\n\n{policy}", encoding="utf-8")
    model = ScriptedModelAdapter(lambda messages, tools: "Bye.", model_id="m")
    with ModelServer(model) as server:
        asked = dict(agent_model="openai/m", agent_args={"api_key": "k"}, base_url=server.url)
        given = dict(at=1, user="scripted", **asked)
        first = branched(noop, tmp_path, prompt=kinder, **given)
        tau2.branch(run=first.run.folder, task="0", output=tmp_path / "again", **given)

    (system,) = {request["messages"][0]["content"] for request in model.requests}
    assert system.startswith("Be kinder.\n\n") and "{policy}" not in system
    assert len(system) > 1000
    for file, words in ((tmp_path / "absent.md", "No such file"), (kinder, "agent is 'noop'")):
        with pytest.raises(ConfigurationError, match=words):
            tau2.branch(run=noop, task="0", at=1, prompt=file)


class Remembering(AgentAdapter):
    """An agent of a framework that can be given a conversation."""

    def load_messages(self, messages: MessageHistory) -> None:
        self.messages = messages

    def _run_agent(self, query: str) -> Any:
        self.agent["search_catalogue"](text="x")
        seen = [(each["role"], each["content"]) for each in self.get_messages()]
        return f"I remember {seen}."


def forgetful(brief: AgentBrief) -> Callable[..., Any]:
    return lambda query: "Who are you?"


def remembering(brief: AgentBrief) -> Remembering:
    return Remembering(brief.tools, "remembering")


def _says(message: str) -> Any:
    return message["role"] == "assistant" and message["content"]


def test_an_agent_of_a_framework_is_given_the_history_or_refused(noop, tmp_path):
    with pytest.raises(ConfigurationError, match="a plain function, which cannot"):
        branched(noop, tmp_path, at=1, agent=forgetful, user="scripted")
    assert not (tmp_path / "branch").exists()

    found = branched(noop, tmp_path, at=3, agent=remembering, user="scripted")

    (report,) = reports(found.run.folder).values()
    messages = simulation(report)["messages"]
    spoken = next(
        each["content"] for each in messages[4:] if each["content"] and not each.get("id")
    )
    assert str([(each["role"], each["content"]) for each in messages[1:3]]) in spoken


def test_an_agent_of_a_framework_does_not_take_over_within_a_turn(tmp_path):
    run = tau2.run(domain="library", num_tasks=1, agent="gold", output=tmp_path / "run")
    (report,) = reports(run.folder).values()
    messages = simulation(report)["messages"]
    call = next(i for i, each in enumerate(messages) if each.get("tool_calls"))

    with pytest.raises(ConfigurationError, match="choose one that somebody says"):
        tau2.branch(
            run=run.folder, task=report["task_id"], at=call, agent=remembering, user="scripted"
        )


def test_the_base_adapter_says_that_it_cannot_be_given_a_conversation():
    class Plain(AgentAdapter):
        def _run_agent(self, query):
            return query

    with pytest.raises(ConfigurationError, match=r"Plain \(agent 'p'\)"):
        Plain(None, "p").load_messages(MessageHistory())


def test_the_command_shows_the_chance_and_the_run_names_its_origin(noop, tmp_path):
    task = next(iter(RunFolder.read(noop).planned)).task_id
    output = tmp_path / "branch"
    shown = maseval(
        *("tau2", "branch", noop, task, 0, "--at", 1, "--agent", "gold"),
        *("--repeats", 4, "--output", output),
    )

    assert shown.exit_code == 0, shown.stderr
    assert f"Continued noop, library/{task}, trial 0, after message 1" in shown.stdout
    assert "4 of 4 passed (100%, 95% CI 40 to 100)" in shown.stdout
    origin = f"noop, library/{task}, trial 0, after message 1"
    assert f"Continues {origin}" in maseval("show", output, "--no-explain").stdout
    report = commands.report(output, explain=False)
    assert origin in report.read_text(encoding="utf-8")
