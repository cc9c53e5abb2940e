"""What an agent's model thinks: kept in the record, sent back as asked, and never to the user."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maseval import commands, frames
from maseval.app.results.run_summary import RunResult
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.run import Tau2Run
from maseval.commands import tau2
from maseval.core.agent_brief import AgentBrief
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from maseval.testing.provider_server import ProviderServer, Reply, Request, completion, serving
from tests.cli.commandline import maseval
from tests.interface.libraries import needing

CALL = {"name": "find_books", "arguments": '{"title": "x"}'}


class Thinker(ProviderServer):
    """Plays both sides: each answer was thought about, and the agent looks before it speaks."""

    def reply_to(self, request: Request) -> Reply:
        asked, said = request.body["model"], request.body["messages"]
        number = sum(message["role"] == "assistant" for message in said)
        message = {"role": "assistant", "reasoning_content": f"{asked}-thought-{number}"}
        if asked == "customer":
            done = "###STOP###" if number > 1 else "Have you got x?"
            return Reply(completion({**message, "content": done}, "stop"))
        if said[-1]["role"] == "tool":
            return Reply(completion({**message, "content": "Let me see."}, "stop"))
        call = {"id": f"call_{number}", "type": "function", "function": CALL}
        return Reply(completion({**message, "content": None, "tool_calls": [call]}, "tool_calls"))

    def thoughts_sent_to(self, model: str) -> list[list[str]]:
        """The thoughts in each request to a model, as the messages have them."""
        bodies = [request.body for request in self.requests if request.body["model"] == model]
        return [
            [m["reasoning_content"] for m in body["messages"] if m.get("reasoning_content")]
            for body in bodies
        ]


def run(server: Thinker, folder: Path, **options: Any) -> RunResult:
    return tau2.run(
        domain="library",
        num_tasks=1,
        agent_model="openai/clerk",
        user_model="openai/customer",
        base_url=server.url,
        output=folder,
        **options,
    )


@pytest.fixture
def server() -> Iterator[Thinker]:
    with serving(Thinker()) as running:
        yield running


pytestmark = needing("openai")


@pytest.mark.parametrize(
    ("policy", "sent"),
    [
        (None, [[], [], [], []]),
        ("auto", [[], ["clerk-thought-0"], [], ["clerk-thought-2"]]),
        ("keep", [[], [0], [0, 1], [0, 1, 2]]),
    ],
)
def test_thoughts_are_kept_and_sent_back_as_asked_and_never_to_the_other_side(
    server, tmp_path, policy, sent
):
    result = run(server, tmp_path / "r", reasoning=policy)

    expected = [[t if isinstance(t, str) else f"clerk-thought-{t}" for t in each] for each in sent]
    assert server.thoughts_sent_to("clerk") == expected
    for side, other in (("clerk", "customer"), ("customer", "clerk")):
        bodies = [r.body for r in server.requests if r.body["model"] == side]
        assert bodies and f"{other}-thought" not in json.dumps(bodies)
    # The user's model is the original's, whatever the agent's is sent.
    assert not any(server.thoughts_sent_to("customer"))
    (report,) = RunFolder.read(result.folder).reports()
    kept = json.dumps(report["traces"]["environment"])
    assert all(f"{side}-thought-0" in kept for side in ("clerk", "customer"))
    assert "clerk-thought" not in json.dumps(report["traces"]["user"])
    table = list(frames.messages(result.folder))
    assert [row["reasoning"] for row in table if row["role"] == "assistant"][1] == "clerk-thought-0"
    recorded = RunFolder.read(result.folder).config.values["agent"]["options"]
    assert recorded.get("reasoning_policy") == policy
    assert report["config"]["models"]["agent_model"]["reasoning_policy"] == (policy or "drop")


def test_a_policy_is_named_wherever_runs_are_compared_certified_or_exported(server, tmp_path):
    usual, other = run(server, tmp_path / "a"), run(server, tmp_path / "b", reasoning="auto")

    compared = commands.compare([usual.folder, other.folder])
    certificate = tau2.certify(other.folder)
    exported = tmp_path / "results.json"
    tau2.export(other.folder, exported)

    assert any("reasoning policy differs too" in each for each in compared.cautions)
    assert "reasoning sent back to the agent's model: auto" in certificate.text()
    assert "reasoning" not in tau2.certify(usual.folder).text()
    info = json.loads(exported.read_text())["info"]
    assert info["agent_info"]["llm_args"]["reasoning_policy"] == "auto"


def test_thoughts_come_back_when_a_recorded_conversation_goes_on(server, tmp_path):
    result = run(server, tmp_path / "r", reasoning="auto")
    before = len(server.requests)

    tau2.branch(run=result.folder, task="renew_own", at=2, output=tmp_path / "b")

    first = server.requests[before].body["messages"][-2]
    assert first["reasoning_content"] == "clerk-thought-0"


def setup(**given: Any) -> Tau2Run:
    return Tau2Run.of(RunOptions(domain="library", **given))


def test_the_user_has_a_policy_of_its_own():
    both = setup(agent_model="x", user_model="y", user_args={"reasoning_policy": "keep"})

    assert both.config["user"]["options"] == {"reasoning_policy": "keep"}
    assert both.config["agent"]["options"] == {}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"agent_model": "x", "reasoning": "some"}, "'some'; choose one of: keep, drop, auto"),
        ({"reasoning": "auto"}, "agent_model is not set"),
        ({"agent": "gold", "reasoning": "auto"}, "agent 'gold' has no model"),
        (
            {"agent_model": "x", "agent_args": {"reasoning_policy": "all"}},
            "'all'; choose one of: keep, drop, auto",
        ),
    ],
)
def test_a_policy_that_cannot_be_is_refused(given, problem):
    with pytest.raises(ConfigurationError, match=problem):
        setup(user="scripted", **given)


def asking(brief: AgentBrief) -> Callable[..., Any]:
    """An agent of one's own, which writes its messages itself."""
    model = brief.chat_model()

    def answer(query):
        said = [{"role": "user", "content": query}]
        while (calls := (response := model.chat(said, tools=TOOLS)).tool_calls) is not None:
            said.append({"role": "assistant", "tool_calls": calls})
            said.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": "none"})
        return response.content

    return answer


TOOLS = [{"type": "function", "function": {"name": "find_books", "parameters": {}}}]


def test_an_agent_of_ones_own_has_the_policy_in_its_model(server, tmp_path):
    result = run(server, tmp_path / "r", agent=asking, reasoning="auto")

    assert server.thoughts_sent_to("clerk")[:2] == [[], ["clerk-thought-0"]]
    recorded = RunFolder.read(result.folder).config.values["agent"]["options"]
    assert recorded["reasoning_policy"] == "auto"


def test_a_policy_stands_in_a_run_file(server, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'benchmark = "tau2"\ndomain = "library"\nnum_tasks = 1\n'
        'agent_model = "openai/clerk"\nreasoning = "keep"\n'
        f'user_model = "openai/customer"\nbase_url = "{server.url}"\n'
        f'output = "{tmp_path / "r"}"\n'
    )

    assert maseval("run", file).exit_code == 0

    config = RunFolder.read(tmp_path / "r").config.values
    assert config["agent"]["options"]["reasoning_policy"] == "keep"
