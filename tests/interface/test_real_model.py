"""A real language model in a whole simulation: nobody expects it to be good, only to be heard.

It is so small that it may say anything. So the tests ask whether each part does its work with
whatever it says: tools, trajectory, verdict, run folder, usage.
"""

import json
import resource
import sys
from types import SimpleNamespace

import pytest

from maseval.benchmark.tau2 import (
    DefaultAgentTau2Benchmark,
    Tau2Environment,
    configure_model_ids,
    load_tasks,
)
from maseval.benchmark.tau2.agent import DefaultTau2Agent
from maseval.commands import show, tau2
from maseval.core.model import resolve_model
from maseval.runs import RunFolder
from tests.cli.commandline import last_json, maseval
from tests.interface.inference.smollm2 import model_file
from tests.interface.libraries import needing

# On one thread of a slow machine it reads the policy and the tools for a minute.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), *needing("xllamacpp")]

CONNECTION = {"threads": 1, "context_size": 8192}
BRIEF = {"max_tokens": 40}
ENDINGS = ("user_stop", "agent_stop", "max_steps", "too_many_errors")


@pytest.fixture(scope="module")
def model_id():
    return f"llamacpp/{model_file()}"


@pytest.fixture(scope="module")
def run(model_id, tmp_path_factory):
    """A simulation with the model as the agent, by the command's own function."""
    result = tau2.run(
        domain="library",
        num_tasks=1,
        agent_model=model_id,
        agent_args={**CONNECTION, **BRIEF},
        user="scripted",
        max_steps=6,
        seed=7,
        timeout=None,
        output=tmp_path_factory.mktemp("real") / "run",
    )
    (report,) = RunFolder.read(result.folder).reports()
    return SimpleNamespace(result=result, report=report)


def test_the_simulation_comes_to_its_end_and_is_judged(run):
    assert run.result.complete and run.result.stopped is None
    assert (run.report["status"], run.report["error"]) == ("success", None)
    (verdict,) = run.report["eval"]
    assert verdict["termination_reason"] in ENDINGS
    assert 0.0 <= verdict["reward"] <= 1.0


def test_the_agent_speaks_and_acts_in_its_own_words(run):
    conversation = show(run.result.folder, run.report["task_id"]).messages
    greeting, *turns = [message for message in conversation if message["who"] == "assistant"]

    assert "help" in greeting["text"]
    assert turns
    for turn in turns:
        assert turn.get("text") or turn["calls"]
        for call in turn.get("calls", ()):
            assert isinstance(json.loads(call["arguments"]), dict)
            assert call["result"]["text"]


def test_what_it_read_and_wrote_was_counted(run):
    usage = run.report["usage"]["models"]["agent_model"]
    calls = run.report["traces"]["models"]["agent_model"]

    assert calls["successful_calls"] == calls["total_calls"] >= 2
    assert usage["input_tokens"] > 2000  # the policy and the tools were read
    assert 0 < usage["output_tokens"] <= BRIEF["max_tokens"] * calls["total_calls"]
    assert usage["cached_input_tokens"] > 0  # but not once more for every answer


def test_the_run_is_scored_again_with_the_same_verdict(run):
    again = maseval("tau2", "score", run.result.folder, "--json")

    assert again.exit_code == 0
    (scored,) = last_json(again.stdout)["files"]
    assert (scored["simulations"], scored["compared"], scored["agreeing"]) == (1, 1, 1)


def test_the_model_plays_both_sides(model_id):
    tasks = load_tasks("library", limit=1)
    configure_model_ids(tasks, user_model_id=model_id)

    class OnOneThread(DefaultAgentTau2Benchmark):
        def get_model_adapter(self, model_id, **options):
            return super().get_model_adapter(model_id, **CONNECTION, **BRIEF, **options)

    benchmark = OnOneThread(max_invocations=4, progress_bar=False, seed=7)
    (report,) = benchmark.run(tasks, {"model_id": model_id})

    assert (report["status"], report["error"]) == ("success", None)
    assert report["eval"][0]["termination_reason"] in ENDINGS
    assert report["usage"]["models"]["user_simulator"]["output_tokens"] > 0
    conversation = report["traces"]["environment"]["simulation"]["messages"]
    assert {"assistant", "user"} <= {message["role"] for message in conversation}


@pytest.fixture
def desk():
    return Tau2Environment(load_tasks("library", limit=1)[0].environment_data)


def test_a_required_call_has_the_form_of_its_tool_and_can_be_made(model_id, desk):
    # A model this small may ramble in an argument until its tokens end; then it is asked again.
    models = [
        resolve_model(model_id, seed=seed, **CONNECTION, max_tokens=512) for seed in (1, 2, 3)
    ]
    agent = DefaultTau2Agent(desk.create_tools(), desk.policy, models[0])
    asked = [
        {"role": "system", "content": agent.system_prompt},
        {"role": "user", "content": "My card number is B 1184 2011. When are my books due?"},
    ]

    answers = (
        model.chat(asked, tools=agent.tool_definitions, tool_choice="required") for model in models
    )
    (call,) = next(answer.tool_calls for answer in answers if answer.tool_calls)
    definitions = {tool["function"]["name"]: tool["function"] for tool in agent.tool_definitions}
    parameters = definitions[call["function"]["name"]]["parameters"]
    arguments = json.loads(call["function"]["arguments"])
    assert (
        set(parameters.get("required", ())) <= arguments.keys() <= parameters["properties"].keys()
    )
    result = agent.tools[call["function"]["name"]](**arguments)
    assert result and desk.trajectory.messages[-1]["content"] == result


def test_equal_seeds_give_equal_answers_whatever_was_asked_before(model_id):
    def answer(seed):
        # What is left of earlier requests changes the last digits, and so the dice.
        model = resolve_model(model_id, seed=seed, **CONNECTION, max_tokens=12, cache_prompt=False)
        return model.generate("Name something to read.")

    assert answer(5) == answer(5)
    assert len({answer(seed) for seed in range(3)}) > 1


def test_it_fits_into_a_small_machine(run):
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert used / (1024**2 if sys.platform == "darwin" else 1024) < 2048  # MiB
