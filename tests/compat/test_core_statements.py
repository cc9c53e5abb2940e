"""Statements of MASEval's API document on the core that ``tests/core`` does not prove already.

What differs on purpose is not here but in ``docs/migrating.md``.
"""

import json

import pytest

import maseval
from maseval import (
    AgentAdapter,
    AgentError,
    BenchmarkCallback,
    ChatResponse,
    ComponentRegistry,
    DefaultSeedGenerator,
    Environment,
    Evaluator,
    LLMUser,
    MASEvalError,
    MessageHistory,
    MessageTracingAgentCallback,
    ModelAdapter,
    ModelScorer,
    ScriptedModelAdapter,
    SequentialTaskQueue,
    StaticPricingCalculator,
    Task,
    TaskContext,
    TaskExecutionStatus,
    TaskProtocol,
    TaskQueue,
    TaskTimeoutError,
    TerminationReason,
    TimeoutAction,
    TokenUsage,
    ToolInvocationHistory,
    ToolLLMSimulator,
    Usage,
    UserExhaustedError,
    UserLLMSimulator,
)
from maseval.core.simulator import LLMSimulator
from maseval.core.task import FrozenDict
from maseval.core.tracing import ConfigurableMixin, TraceableMixin
from maseval.core.usage import CostCalculator, UsageTrackableMixin
from tests.core.worlds import Shop, Worker, World, failing


def test_1_mixins_say_their_type_and_the_time():
    class Thing(TraceableMixin, ConfigurableMixin, UsageTrackableMixin):
        pass

    thing = Thing()
    for gathered in (thing.gather_traces(), thing.gather_config()):
        assert list(gathered) == ["type", "gathered_at"] and gathered["type"] == "Thing"
    assert thing.gather_usage() == Usage()


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        (AgentAdapter, "tcu"),
        (ModelAdapter, "tcu"),
        (ModelScorer, "tc"),
        (Environment, "tc"),
        (maseval.User, "tc"),
        (LLMSimulator, "t"),
        (BenchmarkCallback, "t"),
        (maseval.EnvironmentCallback, "t"),
        (maseval.AgentCallback, "t"),
        (maseval.SeedGenerator, "c"),
        (Evaluator, ""),
    ],
)
def test_1_classes_carry_the_mixins(kind, axes):
    every = {"t": TraceableMixin, "c": ConfigurableMixin, "u": UsageTrackableMixin}
    assert {axis for axis in axes} <= {axis for axis in every if issubclass(kind, every[axis])}


def test_2_1_and_2_2_protocol():
    assert [one.value for one in TimeoutAction] == ["skip", "retry", "extend"]
    tags = {"a": 1}
    protocol = TaskProtocol(tags=tags)
    assert list(protocol.to_dict().items()) == [
        ("timeout_seconds", None),
        ("timeout_action", "skip"),
        ("max_retries", 0),
        ("priority", 0),
        ("tags", {"a": 1}),
    ]
    assert protocol.to_dict()["tags"] is not tags


def test_2_3_a_task_freezes_its_dicts():
    task = Task("q", environment_data={"a": {"b": [1]}}).freeze()
    assert isinstance(task.environment_data["a"], FrozenDict)
    assert task.unfreeze() is task and type(task.environment_data["a"]) is dict


def test_2_4_queues_are_made_from_lists_and_files(tmp_path):
    queue = SequentialTaskQueue.from_list([{"query": "a", "metadata": {"m": 1}}, {}, Task("d")])
    assert [(task.query, task.metadata) for task in queue] == [("a", {"m": 1}), ("", {}), ("d", {})]
    (tmp_path / "t.json").write_text(json.dumps({"data": [{"query": "a"}, {"query": "b"}]}))
    assert len(TaskQueue.from_json_file(tmp_path / "t.json", limit=1)) == 1
    assert TaskQueue is SequentialTaskQueue


def test_3_run_takes_tasks_and_agent_data_in_every_form():
    shop = Shop()
    assert (shop.n_task_repeats, shop.max_invocations, shop.num_workers) == (1, 1, 1)
    assert len(shop.run([{"query": "a"}, Task("b")], agent_data=[{}, {}])) == 2
    with pytest.raises(ValueError, match="`agent_data` must either be a single dict or an iter"):
        shop.run([Task("a")], [{}, {}])
    for bar in ("loud", None):
        with pytest.raises(ValueError, match=f"Invalid progress_bar value: {bar!r}"):
            Shop(progress_bar=bar)


@pytest.mark.parametrize(
    ("error", "extra"),
    [
        (AgentError("x", component="c"), {"component", "details"}),
        (TaskTimeoutError("x", elapsed=1, timeout=2), {"elapsed", "timeout"}),
        (KeyError("x"), set()),
    ],
)
def test_3_5_the_report_of_a_failure_has_the_nine_keys_first(error, extra):
    [report] = Shop(run_agents=failing(error)).run([Task("a", id="a", metadata={"m": 1})], {})
    assert list(report)[:9] == [
        *("task_id", "repeat_idx", "status", "error", "traces", "config", "usage", "eval", "task")
    ]
    assert report["eval"] is None
    assert {"error_type", "error_message", "traceback"} | extra <= report["error"].keys()
    assert (report["task"]["query"], report["task"]["metadata"]) == ("a", {"m": 1})


def test_3_10_failed_tasks_are_asked_for_after_a_run():
    with pytest.raises(RuntimeError, match="must be called after run"):
        Shop().get_failed_tasks()
    assert TaskExecutionStatus.TASK_EXECUTION_FAILED.value == "task_execution_failed"


def test_4_the_registry():
    registry = ComponentRegistry(benchmark_config={"a": 1})
    traces = registry.collect_traces()
    assert set(traces["metadata"]) >= {"timestamp", "thread_id", "total_components"}
    assert [*traces][1:9] == [
        *("agents", "models", "tools", "simulators", "callbacks", "environment", "user", "other")
    ]
    assert registry.collect_configs()["benchmark"] == {"a": 1}
    registry.update_benchmark_config({"b": 2})
    assert registry.collect_configs()["benchmark"] == {"b": 2}
    registry.register("mine", "o", ScriptedModelAdapter(["y"]))
    assert "o" in registry.collect_traces()["mine"]
    assert list(registry.usage_by_component) == []


def test_5_a_context_without_a_deadline_never_expires():
    assert TaskContext().remaining is None and not TaskContext().is_expired
    assert TaskContext().elapsed >= 0


def test_6_an_environment_names_its_tools():
    class Full(World):
        def create_tools(self):
            return {"a": len}

    env = Full({})
    assert env.gather_config()["tool_names"] == ["a"] and env.get_tools() is env.tools


def test_8_an_agent_adapter_tells_what_it_is():
    agent = Worker(object())
    assert agent.messages is None and agent.logs == [] and len(agent.get_messages()) == 0
    traces, config = agent.gather_traces(), agent.gather_config()
    assert traces.items() >= {"name": "worker", "agent_type": "object", "message_count": 0}.items()
    assert (traces["messages"], traces["callbacks"], traces["logs"]) == ([], [], [])
    assert (config["agent_type"], config["adapter_type"]) == ("object", "Worker")
    assert repr(agent).startswith("AgentAdapter(name=")


def test_9_exceptions():
    error = MASEvalError("m", component="c", details={"a": 1})
    assert (str(error), error.message, error.details) == ("[c] m", "m", {"a": 1})
    assert str(AgentError("m", suggestion="s")) == "m. Suggestion: s"
    assert not issubclass(maseval.EnvironmentError, OSError)
    assert not issubclass(UserExhaustedError, maseval.UserError)


def test_9_validation():
    maseval.validate_argument_type(True, "number", "n")
    maseval.validate_argument_type(1, "anything", "n")
    with pytest.raises(AgentError, match=r"Missing required argument\(s\): a, b") as missing:
        maseval.validate_required_arguments({}, ["a", "b"])
    assert missing.value.details == {"missing": ["a", "b"], "required": ["a", "b"]}
    with pytest.raises(AgentError, match=r"Unexpected argument\(s\): z") as extra:
        maseval.validate_no_extra_arguments({"z": 1}, ["a"])
    assert extra.value.details == {"unexpected": ["z"], "allowed": ["a"]}
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    maseval.validate_arguments_from_schema({"a": "x", "z": 1}, schema)


def test_10_a_model_adapter_counts_and_tells():
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    prices = StaticPricingCalculator({"m": {"input": 1.0, "output": 2.0}})
    model = ScriptedModelAdapter(
        [ChatResponse("hello", usage=usage)] * 2, model_id="m", seed=3, cost_calculator=prices
    )
    assert model.gather_usage() == TokenUsage()
    assert [model.generate("x"), model.generate("x")] == ["hello", "hello"]
    total, traces, config = model.gather_usage(), model.gather_traces(), model.gather_config()
    assert (total.input_tokens, total.cost, total.kind) == (20, 28.0, "llm")
    assert (
        traces.items()
        >= {"model_id": "m", "total_calls": 2, "successful_calls": 2, "failed_calls": 0}.items()
    )
    assert {"total_duration_seconds", "average_duration_seconds", "logs"} <= traces.keys()
    assert (config["model_id"], config["adapter_type"], config["seed"]) == (
        *("m", "ScriptedModelAdapter"),
        3,
    )
    assert config["cost_calculator"]["type"] == "StaticPricingCalculator"


def test_11_histories():
    history = MessageHistory()
    assert not history and repr(history) == "MessageHistory(0 messages)"
    history.add_message("user", "hi")
    history.add_tool_response("1", "r", name="f")
    assert "timestamp" in history[1] and type(history[:2]) is list
    assert history.get_last_message() == history[1] and len(history.filter_by_role("tool")) == 1
    assert history.to_list() is not history.to_list() and len(list(history)) == 2
    history.clear()
    assert len(history) == 0 and history.get_last_message() is None
    tools = ToolInvocationHistory()
    tools.add_invocation({"a": 1}, "out", "success", timestamp="t", meta={"m": 1})
    assert tools.logs[0].keys() == {"id", "inputs", "outputs", "status", "timestamp", "meta"}
    assert tools.to_list() is tools.logs and len(tools) == 1


def test_12_simulators():
    model = ScriptedModelAdapter(["no json", '{"text": "t"}'])
    template = "{{name}} {{description}} {{inputs}} {{input_value_dict}}"
    tool = ToolLLMSimulator(
        model, "f", "d", {"x": 1}, template=template, generation_params={"a": 1}
    )
    assert tool(x="1", generation_params={"b": 2}) == ("t", {})
    assert model.requests[0]["messages"][0]["content"] == 'f d {\n  "x": 1\n} {\n  "x": "1"\n}'
    assert tool.logs[0]["generation_params"] == {"a": 1, "b": 2}
    found = tool.gather_traces()
    assert (found["total_calls"], found["successful_calls"], found["failed_calls"]) == (2, 1, 1)
    template = "{{user_profile}}|{{scenario}}|{{conversation_history}}|"
    model = ScriptedModelAdapter(['{"text": "bye"}'])
    UserLLMSimulator(model, {"a": 1}, "s", template=template)([{"role": "user", "content": "hi"}])
    assert model.requests[0]["messages"][0]["content"] == '{\n  "a": 1\n}|s|user: hi\n|'


def test_13_a_user_tells_what_it_did():
    assert {one.name.lower() for one in TerminationReason} == {
        one.value for one in TerminationReason
    }
    stopping = {"stop_tokens": ["<END>"], "early_stopping_condition": "c"}
    model = ScriptedModelAdapter(['{"text": "<end>"}'])
    user = LLMUser("u", model, {"p": 1}, "s", initial_query="q", max_turns=3, **stopping)
    assert user._turn_count == 1 and not user.is_done()
    assert user.respond("hello") == "Thank you, that's all I needed!" and user._stopped
    with pytest.raises(UserExhaustedError) as over:
        user.respond("again")
    assert over.value.component == "user"
    traces = user.gather_traces()
    said = {"name": "u", "profile": {"p": 1}, "message_count": 3, "max_turns": 3, "turns_used": 2}
    assert traces.items() >= {**said, "termination_reason": "user_terminated"}.items()
    assert {"messages", "logs", "stop_reason"} <= traces.keys()
    assert {
        *("name", "profile", "scenario", "max_turns", "stop_tokens", "exhausted_response")
    } <= user.gather_config().keys()
    assert user.logs[0].keys() >= {
        *("timestamp", "question", "status", "duration_seconds", "response_preview")
    }


def test_14_usage():
    one = Usage(1.0, {"a": 1}, provider="p", kind="k")
    both = one + Usage(2.0, {"a": 2}, provider="p", kind="other")
    assert (both.cost, both.units, both.provider, both.kind) == (3.0, {"a": 3}, "p", None)
    assert (0 + one) is one and one.__add__("x") is NotImplemented
    assert list(one.to_dict()) == [
        *("cost", "units", "provider", "category", "component_name", "kind")
    ]
    prices = StaticPricingCalculator({"m": {"input": 1, "output": 2}})
    prices.add_model("n", {"input": 1, "output": 1})
    assert list(prices.models) == ["m", "n"] and isinstance(prices, CostCalculator)
    assert prices.gather_config().keys() == {"type", "pricing"}


def test_15_a_log_of_seeds_is_a_copy():
    generator = DefaultSeedGenerator(42).for_task("t").for_repetition(1)
    generator.seed_log["a"] = 1
    assert generator.seed_log == {} and (generator._task_id, generator._rep_index) == ("t", 1)


def test_16_message_traces_are_counted():
    tracer = MessageTracingAgentCallback()
    agent = Worker()
    agent.callbacks.append(tracer)
    agent.messages = MessageHistory([{"role": "user", "content": "q"}])
    agent.run("q")
    assert len(tracer.get_conversations_by_agent("worker")) == 1
    assert repr(tracer) == "MessageTracingAgentCallback(conversations=1)"
    assert tracer.get_statistics() == {
        "total_conversations": 1,
        "total_messages": 1,
        "avg_messages_per_conversation": 1.0,
        "agents": ["worker"],
        "agent_statistics": {
            "worker": {"conversations": 1, "total_messages": 1, "avg_messages": 1.0}
        },
    }
    tracer.clear()
    assert tracer.get_statistics()["total_conversations"] == 0


def test_17_facts_of_the_system(monkeypatch):
    from maseval.core.utils import system_info

    assert system_info.get_python_info().keys() == {
        *("version", "version_full", "version_info", "executable", "implementation", "compiler")
    }
    assert system_info.get_system_info().keys() == {
        *("hostname", "platform", "system", "release", "version", "machine", "processor"),
        "architecture",
    }
    monkeypatch.setenv("OPENAI_ORG", "o")
    assert system_info.get_environment_variables(["openai"])["OPENAI_ORG"] == "o"
    config = system_info.gather_benchmark_config(include_env_vars=False, include_packages=False)
    assert config.keys() == {"timestamp", "git", "python", "system"}
