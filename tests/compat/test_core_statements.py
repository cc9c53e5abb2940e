"""Statements of MASEval's API document on the core, each tried against ours.

What differs on purpose is not here but in ``docs/migrating.md``.
"""

import json
import logging

import pytest

import maseval
from maseval import (
    AdaptiveTaskQueue,
    AgentAdapter,
    AgentError,
    AgenticLLMUser,
    Benchmark,
    BenchmarkCallback,
    CallbackHandler,
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
    PriorityTaskQueue,
    ScriptedModelAdapter,
    SequentialTaskQueue,
    SimulatorError,
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
    ToolSimulatorError,
    Usage,
    UsageReporter,
    UserExhaustedError,
    UserLLMSimulator,
    UserSimulatorError,
)
from maseval.core.callbacks import (
    FileResultLogger,
    ResultLogger,
    RichProgressBarCallback,
    TqdmProgressBarCallback,
)
from maseval.core.exceptions import TaskFrozenError
from maseval.core.seeding import SeedingError
from maseval.core.simulator import AgenticUserLLMSimulator, LLMSimulator, SimulatorCallStatus
from maseval.core.task import FrozenDict
from maseval.core.tracing import ConfigurableMixin, TraceableMixin
from maseval.core.usage import CostCalculator, UsageTrackableMixin

# Section 1.


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


# Section 2.


def test_2_1_and_2_2_protocol():
    assert {one.name: one.value for one in TimeoutAction} == {
        "SKIP": "skip",
        "RETRY": "retry",
        "EXTEND": "extend",
    }
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
    protocol.priority = 3
    assert protocol.priority == 3


def test_2_3_a_task_freezes_its_dicts():
    task = Task("q", environment_data={"a": {"b": [1]}})
    assert task.freeze() is task and task.is_frozen
    assert isinstance(task.environment_data, FrozenDict) and task.environment_data == {
        "a": {"b": [1]}
    }
    assert repr(task.metadata) == "FrozenDict({})" and json.dumps(task.environment_data)
    task.environment_data["a"]["b"].append(2)  # lists stay mutable
    task.protocol.priority = 9  # and so does the protocol
    writes = [
        lambda: setattr(task, "query", "x"),
        lambda: setattr(task, "protocol", TaskProtocol()),
        lambda: task.environment_data.__setitem__("c", 1),
        lambda: task.environment_data["a"].__delitem__("b"),
        lambda: task.environment_data.clear(),
        lambda: task.environment_data.pop("a"),
        lambda: task.environment_data.popitem(),
        lambda: task.environment_data.setdefault("z", 1),
        lambda: task.environment_data.update(z=1),
    ]
    for write in writes:
        with pytest.raises(TaskFrozenError, match=r"task\.unfreeze\(\)") as refused:
            write()
    assert refused.value.component == "Task"
    with pytest.raises(TaskFrozenError, match="already frozen"):
        task.freeze()
    assert task.unfreeze() is task and type(task.environment_data) is dict
    with pytest.raises(TaskFrozenError, match="not frozen"):
        task.unfreeze()
    assert Task("q", id="1") == Task("q", id="1").freeze()


def test_2_4_queues_are_made_from_lists_and_files(tmp_path):
    queue = SequentialTaskQueue.from_list(
        [
            {"query": "a", "environment_data": {"e": 1}, "metadata": {"m": 1}},
            {"question": "b", "text": "t", "short_answer": "s"},
            {"prompt": 3},
            {},
            Task("d"),
        ]
    )
    assert [task.query for task in queue] == ["a", "b", "3", "", "d"]
    assert queue[1].environment_data == {"text_content": "t"}
    assert queue[1].evaluation_data == {"short_answer": "s"}
    with pytest.raises(TypeError, match=r"SequentialTaskQueue\.from_list expects Task or dict"):
        SequentialTaskQueue.from_list([1])
    (tmp_path / "t.json").write_text(json.dumps({"data": [{"query": "a"}, {"query": "b"}]}))
    assert len(TaskQueue.from_json_file(tmp_path / "t.json", limit=1)) == 1
    assert TaskQueue is SequentialTaskQueue and isinstance(queue[:2], SequentialTaskQueue)
    queue.append(Task("e"))
    queue.extend([Task("f")])
    assert len(queue) == 7 and queue.to_list() is not queue.to_list()


def test_2_5_priorities_and_the_state_of_adaptive_queues():
    low, high = Task("l"), Task("h", protocol=TaskProtocol(priority=1))
    assert [task.query for task in PriorityTaskQueue([low, high])] == ["h", "l"]
    assert [task.query for task in PriorityTaskQueue([high, low], reverse=False)] == ["l", "h"]

    states = []

    class Adaptive(AdaptiveTaskQueue):
        def initial_state(self):
            return {"n": 0}

        def select_next_task(self, remaining, state):
            states.append(state)
            return remaining[0]

        def update_state(self, task, report, state):
            return {"n": state["n"] + 1}

    queue = Adaptive([Task("a", id="a"), Task("b", id="b"), Task("c", id="c")])
    handed = iter(queue)
    assert next(handed).id == "a"
    queue.on_task_repeat_end(None, {"task_id": "a"})
    queue.on_task_repeat_end(None, {"task_id": "a"})  # a second repetition
    queue.on_task_repeat_end(None, {"no": "id"})
    assert next(handed).id == "b" and states == [{"n": 0}, {"n": 2}]
    queue.stop()
    assert list(handed) == []


# Section 3.


class World(Environment):
    def setup_state(self, task_data):
        return dict(task_data)

    def create_tools(self):
        return {}


class Echo(AgentAdapter):
    def _run_agent(self, query):
        return f"did {query}"


class Verdict(Evaluator):
    def filter_traces(self, traces):
        return traces

    def __call__(self, traces, final_answer=None):
        return {"passed": True, "saw": sorted(traces)}


class Plain(Benchmark):
    def __init__(self, *args, **kwargs):
        kwargs.setdefault("progress_bar", False)
        super().__init__(*args, **kwargs)
        self.called = []

    def setup_environment(self, agent_data, task, seed_generator):
        self.called.append("environment")
        return World(task.environment_data)

    def setup_agents(self, agent_data, environment, task, user, seed_generator):
        self.called.append("agents")
        agent = Echo(None, "echo")
        return [agent], {"echo": agent}

    def setup_user(self, agent_data, environment, task, seed_generator):
        self.called.append("user")

    def setup_evaluators(self, environment, task, agents, user, seed_generator):
        self.called.append("evaluators")
        return [Verdict(task, environment)]

    def get_model_adapter(self, model_id, **kwargs):
        return ScriptedModelAdapter(["x"])

    def run_agents(self, agents, task, environment, query):
        return agents[0].run(query)

    def evaluate(self, evaluators, agents, final_answer, traces):
        return [
            evaluator(evaluator.filter_traces(traces), final_answer) for evaluator in evaluators
        ]


def test_3_1_the_constructor_checks_and_sets():
    for wrong, words in (
        ({"progress_bar": "loud"}, "Invalid progress_bar value: "),
        ({"n_task_repeats": 0}, "n_task_repeats must be at least 1"),
        ({"seed": 1, "seed_generator": DefaultSeedGenerator()}, "Cannot provide both"),
    ):
        with pytest.raises(ValueError, match=words):
            Plain(**wrong)
    for given, kind in (
        (True, TqdmProgressBarCallback),
        ("tqdm", TqdmProgressBarCallback),
        ("rich", RichProgressBarCallback),
    ):
        assert [type(one) for one in Plain(progress_bar=given).callbacks] == [kind]
    bar = RichProgressBarCallback()
    assert Plain(callbacks=[bar], progress_bar=True).callbacks == [bar]
    made = Plain(seed=4)
    assert isinstance(made.tasks, SequentialTaskQueue) and len(made.tasks) == 0
    assert isinstance(made.callback_handler, CallbackHandler) and made.reports == []
    assert made.seed_generator.global_seed == 4 and Plain().seed_generator.global_seed is None
    assert (made.n_task_repeats, made.max_invocations, made.num_workers) == (1, 1, 1)
    assert {"git", "python", "system"} <= made.benchmark_level_config.keys()


def test_3_3_run_takes_tasks_and_agent_data_in_every_form():
    made = Plain()
    assert len(made.run(Task("one"), {})) == 1
    assert len(made.run([{"query": "a"}, Task("b")], agent_data=[{}, {}])) == 2
    assert made.run([Task("b")], {}) is made.reports
    with pytest.raises(ValueError, match="`agent_data` must either be a single dict or an iter"):
        made.run([Task("a")], [{}, {}])


def test_3_4_setup_runs_in_order_and_registers():
    made = Plain(seed=1)
    [report] = made.run([Task("a", id="a")], {})
    assert made.called == ["environment", "user", "agents", "evaluators"]
    assert report["traces"]["environment"]["type"] == "World"
    assert list(report["traces"]["agents"]) == ["echo"]
    assert "seed_generator" in report["config"]["seeding"]
    with pytest.warns(UserWarning, match="max_invocations=3 > 1 but no user simulator provided"):
        Plain(max_invocations=3).run([Task("a")], {})


@pytest.mark.parametrize(
    ("error", "status", "extra"),
    [
        (AgentError("x", component="c"), "agent_error", {"component", "details"}),
        (maseval.EnvironmentError("x"), "environment_error", {"component", "details"}),
        (maseval.UserError("x"), "user_error", {"component", "details"}),
        (TaskTimeoutError("x", elapsed=1, timeout=2), "task_timeout", {"elapsed", "timeout"}),
        (UserExhaustedError("x"), "unknown_execution_error", set()),
        (KeyError("x"), "unknown_execution_error", set()),
    ],
)
def test_3_4_and_3_5_an_exception_becomes_a_status_and_a_report_of_nine_keys(error, status, extra):
    class Failing(Plain):
        def run_agents(self, *args):
            raise error

    [report] = Failing().run([Task("a", id="a", metadata={"m": 1})], {})
    assert report["status"] == status and report["eval"] is None
    assert list(report)[:9] == [
        *("task_id", "repeat_idx", "status", "error", "traces", "config", "usage", "eval", "task")
    ]
    assert {"error_type", "error_message", "traceback"} | extra <= report["error"].keys()
    assert report["task"]["metadata"] == {"m": 1} and report["task"]["query"] == "a"
    assert report["task"]["protocol"]["timeout_action"] == "skip"
    if not isinstance(error, TaskTimeoutError):
        with pytest.raises(type(error)):
            Failing(fail_on_task_error=True).run([Task("a")], {})


@pytest.mark.parametrize(
    ("hook", "status", "flag"),
    [
        ("setup_agents", "setup_failed", "fail_on_setup_error"),
        ("evaluate", "evaluation_failed", "fail_on_evaluation_error"),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_3_4_and_3_8_failures_of_setup_and_evaluation(hook, status, flag, workers):
    def fail(self, *args, **kwargs):
        raise AgentError("bad")

    broken = type("Broken", (Plain,), {hook: fail})
    [report] = broken(num_workers=workers).run([Task("a")], {})
    assert report["status"] == status and len(report) >= 9
    with pytest.raises(AgentError):
        broken(num_workers=workers, **{flag: True}).run([Task("a")], {})


def test_3_6_statuses():
    assert {one.name: one.value for one in TaskExecutionStatus}.items() >= {
        "SUCCESS": "success",
        "AGENT_ERROR": "agent_error",
        "ENVIRONMENT_ERROR": "environment_error",
        "USER_ERROR": "user_error",
        "TASK_TIMEOUT": "task_timeout",
        "UNKNOWN_EXECUTION_ERROR": "unknown_execution_error",
        "EVALUATION_FAILED": "evaluation_failed",
        "SETUP_FAILED": "setup_failed",
        "TASK_EXECUTION_FAILED": "task_execution_failed",
    }.items()


class Events(BenchmarkCallback):
    def __init__(self):
        self.seen = []

    def on_run_start(self, benchmark):
        self.seen.append("run start")

    def on_run_end(self, benchmark, results):
        self.seen.append(f"run end {len(results)}")

    def on_task_start(self, benchmark, task):
        self.seen.append(f"task {task.id} start")

    def on_task_end(self, benchmark, task, result):
        self.seen.append(f"task {task.id} end {result['repeat_idx']}")

    def on_task_repeat_start(self, benchmark, task, repeat_idx):
        self.seen.append(f"repeat {repeat_idx} start")

    def on_task_repeat_end(self, benchmark, report):
        self.seen.append(f"repeat {report['repeat_idx']} end")


def test_3_7_events_come_in_order():
    events = Events()
    Plain(callbacks=[events], n_task_repeats=2).run([Task("a", id="a")], {})
    assert events.seen == [
        *("run start", "task a start", "repeat 0 start", "repeat 0 end"),
        *("repeat 1 start", "repeat 1 end", "task a end 1", "run end 2"),
    ]
    late = Events()
    made = Plain()
    made.add_callback(late)
    made.run([Task("a", id="a")], {})
    assert late.seen[0] == "run start"


def test_3_9_a_failing_callback_is_logged_and_never_stops_a_run(caplog):
    class Bad(BenchmarkCallback):
        def on_task_repeat_end(self, benchmark, report):
            raise RuntimeError("boom")

    made = Plain(callbacks=[Bad()])
    with caplog.at_level(logging.ERROR, "maseval.core.benchmark"):
        assert made.run([Task("a")], {})[0]["status"] == "success"
    assert "Callback Bad.on_task_repeat_end() failed: boom" in caplog.text


def test_3_10_the_rest():
    made = Plain()
    with pytest.raises(RuntimeError, match="must be called after run"):
        made.get_failed_tasks()
    made.run([Task("a", id="a")], {})
    reports = [{**made.reports[0], "status": "agent_error"}]
    assert [t.id for t in made.get_failed_tasks(reports=reports)] == ["a"]
    assert len(made.get_failed_tasks(TaskExecutionStatus.USER_ERROR, reports)) == 0
    assert len(made.get_failed_tasks([TaskExecutionStatus.AGENT_ERROR], reports)) == 1
    model = ScriptedModelAdapter(["x"])
    assert made.register("models", "m", model) is model
    model.generate("hi")
    assert set(made.collect_all_traces()) >= {"metadata", "models", "environment", "user", "other"}
    assert "benchmark" in made.collect_all_configs() and "models" in made.collect_all_usage()
    assert "models:m" in made.usage_by_component and isinstance(made.usage, Usage)
    made.clear_registry()
    assert made.collect_all_traces()["models"] == {}


# Section 4.


def test_4_the_registry():
    registry = ComponentRegistry(benchmark_config={"a": 1})
    model, other = ScriptedModelAdapter(["x"]), ScriptedModelAdapter(["y"])
    assert registry.register("models", "m", model) is model
    registry.register("models", "m", model)
    with pytest.raises(ValueError, match="already registered as 'models:m'"):
        registry.register("models", "n", model)
    model.generate("How many tokens is this?")
    traces = registry.collect_traces()
    assert set(traces["metadata"]) >= {"timestamp", "thread_id", "total_components"}
    assert [*traces][1:9] == [
        *("agents", "models", "tools", "simulators", "callbacks", "environment", "user", "other")
    ]
    assert traces["models"]["m"]["name"] == "m" and traces["environment"] is None
    assert registry.collect_configs()["benchmark"] == {"a": 1}
    usage = registry.collect_usage()["models"]["m"]
    assert (usage["category"], usage["component_name"]) == ("models", "m")
    assert registry.total_usage.input_tokens == usage["input_tokens"]
    assert list(registry.usage_by_component) == ["models:m"]
    registry.update_benchmark_config({"b": 2})
    assert registry.collect_configs()["benchmark"] == {"b": 2}
    registry.clear()
    assert registry.collect_traces()["models"] == {} and registry.total_usage.input_tokens

    class Broken(TraceableMixin):
        def gather_traces(self):
            raise ValueError("no")

    registry.register("other", "b", Broken())
    found = registry.collect_traces()["other"]["b"]
    assert found["error"].startswith("Failed to gather traces: no")
    assert (found["error_type"], found["component_type"]) == ("ValueError", "Broken")
    registry.register("mine", "o", other)
    assert "o" in registry.collect_traces()["mine"]


def test_4_a_different_object_replaces_one_of_the_same_name():
    registry = ComponentRegistry()
    first, second = ScriptedModelAdapter(["x"]), ScriptedModelAdapter(["y"], model_id="second")
    registry.register("models", "m", first)
    registry.register("models", "m", second)
    assert registry.collect_traces()["models"]["m"]["model_id"] == "second"


# Section 5.


def test_5_the_context_of_a_task():
    context = TaskContext(deadline=0.0)
    assert context.is_expired and context.remaining == 0.0 and context.elapsed >= 0
    context.set_collected_traces({"a": 1})
    with pytest.raises(TaskTimeoutError, match=r"Task exceeded 0\.0s deadline after") as late:
        context.check_timeout()
    assert late.value.partial_traces == {"a": 1} and late.value.component == "timeout_check"
    assert TaskContext().remaining is None and not TaskContext().is_expired


# Sections 6 to 8.


def test_6_an_environment_traces_its_tools():
    class Traced:
        def __init__(self):
            self.history = ToolInvocationHistory()

    class Own(TraceableMixin):
        pass

    class Full(World):
        def create_tools(self):
            return {"a": Own(), "b": Traced(), "c": len}

    for given in ({"task_data": {"x": 1}}, {"environment_data": {"x": 1}}):
        env = Full(**given)
        assert env.state == {"x": 1}
    traces = env.gather_traces()
    assert traces["tool_count"] == 3 and traces["tools"]["a"]["type"] == "Own"
    assert traces["tools"]["b"] == {"type": "Traced", "invocations": [], "total_invocations": 0}
    assert traces["tools"]["c"]["has_tracing"] is False
    assert env.gather_config()["tool_names"] == ["a", "b", "c"]
    assert env.get_tool("c") is len and env.get_tool("z") is None and env.get_tools() is env.tools

    class Named(World):
        def setup_state(self, environment_data):
            return environment_data

    assert Named({"y": 1}).state == {"y": 1}


def test_8_an_agent_adapter():
    order = []

    class Callback(maseval.AgentCallback):
        def on_run_start(self, agent):
            order.append("start")

        def on_run_end(self, agent, result):
            order.append(result)

    agent = Echo(object(), "a", callbacks=[Callback()])
    assert agent.run("q") == "did q" and order == ["start", "did q"]
    assert agent.messages is None and agent.logs == [] and len(agent.get_messages()) == 0
    traces, config = agent.gather_traces(), agent.gather_config()
    assert traces.items() >= {"name": "a", "agent_type": "object", "message_count": 0}.items()
    assert (traces["messages"], traces["callbacks"], traces["logs"]) == ([], ["Callback"], [])
    assert (config["name"], config["agent_type"], config["adapter_type"]) == ("a", "object", "Echo")
    assert repr(agent).startswith("AgentAdapter(name=")

    class Counting(Echo):
        def _gather_usage(self):
            return TokenUsage(input_tokens=2)

    prices = StaticPricingCalculator({"m": {"input": 0.5, "output": 0}})
    assert Counting(None, "c", cost_calculator=prices, model_id="m").gather_usage().cost == 1.0
    assert Counting(None, "c", cost_calculator=prices).gather_usage().cost == 0.0


# Section 9.


def test_9_exceptions():
    error = MASEvalError("m", component="c", details={"a": 1})
    assert (str(error), error.message, error.component, error.details) == (
        "[c] m",
        "m",
        "c",
        {"a": 1},
    )
    assert str(AgentError("m", suggestion="s")) == "m. Suggestion: s"
    assert not issubclass(maseval.EnvironmentError, OSError)
    assert not issubclass(UserExhaustedError, maseval.UserError)
    late = TaskTimeoutError("m", elapsed=1.0, timeout=2.0, partial_traces={"a": 1})
    assert (late.elapsed, late.timeout, late.partial_traces) == (1.0, 2.0, {"a": 1})


def test_9_validation():
    for value, kind, words in (
        (1, "string", "Argument 'n' expected string, got int"),
        (True, "integer", "Argument 'n' expected integer, got boolean"),
        ([], "object", "Argument 'n' expected object, got list"),
    ):
        with pytest.raises(AgentError, match=words) as wrong:
            maseval.validate_argument_type(value, kind, "n", "c")
        assert wrong.value.details.keys() == {"argument", "expected", "actual"}
        assert wrong.value.component == "c" and wrong.value.suggestion
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
    with pytest.raises(AgentError, match="Unexpected"):
        maseval.validate_arguments_from_schema({"a": "x", "z": 1}, schema, strict=True)


# Section 10.


class Model(ModelAdapter):
    model_id = "m"

    def __init__(self, response, **kwargs):
        super().__init__(**kwargs)
        self.response = response
        self.got = []

    def _chat_impl(self, messages, generation_params=None, tools=None, tool_choice=None, **kwargs):
        self.got.append((messages, generation_params, tools, tool_choice, kwargs))
        if isinstance(self.response, Exception):
            raise self.response
        return self.response


def test_10_a_model_adapter_logs_counts_and_prices():
    usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    prices = StaticPricingCalculator({"m": {"input": 1.0, "output": 2.0}})
    model = Model(ChatResponse("hello", usage=usage), seed=3, cost_calculator=prices)
    history = MessageHistory()
    history.add_message("user", "hi", metadata={"a": 1})
    model.chat(history, {"temperature": 0}, tools=[{}], tool_choice="auto", extra=1)
    messages, params, tools, choice, rest = model.got[0]
    assert messages == [{"role": "user", "content": "hi"}] and rest == {"extra": 1}
    assert (params, tools, choice) == ({"temperature": 0}, [{}], "auto")
    assert model.generate("x") == "hello"
    assert (
        model.logs[0].items()
        >= {
            "message_count": 1,
            "response_type": "text",
            "response_length": 5,
            "tool_calls_count": 0,
            "status": "success",
            "generation_params": {"temperature": 0},
            "tools_provided": 1,
            "kwargs": {"extra": "1"},
        }.items()
    )
    assert {"timestamp", "duration_seconds"} <= model.logs[0].keys()
    total = model.gather_usage()
    assert (total.input_tokens, total.cost, total.kind) == (20, 28.0, "llm")
    assert Model(ChatResponse("x")).gather_usage() == TokenUsage()
    traces = model.gather_traces()
    assert (
        traces.items()
        >= {"model_id": "m", "total_calls": 2, "successful_calls": 2, "failed_calls": 0}.items()
    )
    assert {"total_duration_seconds", "average_duration_seconds", "logs"} <= traces.keys()
    config = model.gather_config()
    assert config.items() >= {"model_id": "m", "adapter_type": "Model", "seed": 3}.items()
    assert config["cost_calculator"]["type"] == "StaticPricingCalculator"
    bad = Model(ValueError("no"))
    with pytest.raises(ValueError):
        bad.chat([{"role": "user", "content": "x"}])
    assert (
        bad.logs[0].items()
        >= {"status": "error", "error": "no", "error_type": "ValueError"}.items()
    )
    own = Model(ChatResponse("x", usage={**usage, "cost": 0.25}), cost_calculator=prices)
    own.generate("x")
    assert own.gather_usage().cost == 0.25


def test_10_1_a_response_becomes_a_message():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert ChatResponse().to_message() == {"role": "assistant"}
    assert ChatResponse("a", [call]).to_message() == {
        "role": "assistant",
        "content": "a",
        "tool_calls": [call],
    }


def test_10_3_a_scorer():
    class Scorer(ModelScorer):
        model_id = "s"

        def _loglikelihood_impl(self, context, continuation):
            return -float(len(continuation))

    scorer = Scorer(seed=2)
    assert scorer.loglikelihood("a", "bb") == -2.0
    assert scorer.loglikelihood_batch([("a", "b"), ("a", "bb")]) == [-1.0, -2.0]
    assert scorer.loglikelihood_choices("a", ["x", "yy"]) == [-2.0, -3.0]
    assert [log["type"] for log in scorer.logs][:2] == ["loglikelihood", "loglikelihood_batch"]
    assert scorer.logs[1]["batch_size"] == 2
    assert (
        scorer.gather_config().items()
        >= {"model_id": "s", "scorer_type": "Scorer", "seed": 2}.items()
    )
    assert scorer.gather_traces()["total_calls"] == len(scorer.logs)


# Section 11.


def test_11_histories():
    history = MessageHistory()
    assert not history and repr(history) == "MessageHistory(0 messages)"
    history.add_message("user", "hi", name="n", metadata={"m": 1}, timestamp="t")
    history.add_tool_call([{"id": "1"}], content="c")
    history.add_tool_response("1", "r", name="f")
    assert history[0] == {
        "role": "user",
        "content": "hi",
        "name": "n",
        "metadata": {"m": 1},
        "timestamp": "t",
    }
    assert history[1]["role"] == "assistant" and history[1]["tool_calls"] == [{"id": "1"}]
    assert history[2].items() >= {"role": "tool", "tool_call_id": "1", "name": "f"}.items()
    assert "timestamp" in history[2] and type(history[:2]) is list
    assert history.get_last_message() == history[2] and len(history.filter_by_role("tool")) == 1
    assert history.to_openai_format()[0] == {"role": "user", "content": "hi", "name": "n"}
    assert history.to_list() is not history.to_list() and len(list(history)) == 3
    history.clear()
    assert len(history) == 0 and history.get_last_message() is None
    given = [{"role": "user", "content": "x"}]
    MessageHistory(given).add_message("user", "y")
    assert len(given) == 2

    tools = ToolInvocationHistory()
    tools.add_invocation({"a": 1}, "out", "success", timestamp="t", meta={"m": 1})
    assert tools.logs[0].keys() == {"id", "inputs", "outputs", "status", "timestamp", "meta"}
    assert tools.to_list() is tools.logs and len(tools) == 1


# Section 12.


def test_12_simulators():
    assert {one.name: one.value for one in SimulatorCallStatus} == {
        name: name for name in ("ModelCallError", "ModelParsingError", "Successful")
    }
    error = SimulatorError("m", attempts=2, last_error="e", component="c")
    assert str(error) == "[c] m (attempts: 2) Last error: e"
    assert issubclass(ToolSimulatorError, maseval.EnvironmentError)
    assert issubclass(UserSimulatorError, maseval.UserError)
    found = UserSimulatorError("m", attempts=2, last_error="e", logs=[])
    assert found.details == {"attempts": 2, "last_error": "e"}

    model = ScriptedModelAdapter(["no json", 'So: {"text": "t", "details": {"d": 1}} bye'])
    tool = ToolLLMSimulator(
        model, "f", "does", {"x": {"type": "string"}}, generation_params={"a": 1}
    )
    assert tool(x="1", generation_params={"b": 2}) == ("t", {"d": 1})
    assert [log["status"] for log in tool.logs] == ["ModelParsingError", "Successful"]
    assert tool.logs[0].keys() >= {
        "id",
        "timestamp",
        "input",
        "prompt",
        "generation_params",
        "raw_output",
        "parsed_output",
        "status",
        "error",
    }
    assert tool.logs[0]["id"] == tool.logs[1]["id"]
    assert tool.logs[0]["generation_params"] == {"a": 1, "b": 2}
    assert (
        tool.gather_traces().items()
        >= {
            "simulator_type": "ToolLLMSimulator",
            "total_calls": 2,
            "successful_calls": 1,
            "failed_calls": 1,
        }.items()
    )
    with pytest.raises(
        ToolSimulatorError, match="failed to parse model output after 2 attempts"
    ) as bad:
        ToolLLMSimulator(ScriptedModelAdapter(["x", "y"]), "f", "d", {}, max_try=2)()
    assert bad.value.component == "f" and len(bad.value.logs) == 2

    template = "{{name}} {{description}} {{inputs}} {{input_value_dict}}"
    model = ScriptedModelAdapter(['{"text": "t"}'])
    ToolLLMSimulator(model, "f", "d", {"x": 1}, template=template)(x="1")
    assert model.requests[0]["messages"][0]["content"] == ('f d {\n  "x": 1\n} {\n  "x": "1"\n}')


def test_12_the_user_simulators():
    with pytest.raises(ValueError, match="must both be set or both be None"):
        UserLLMSimulator(ScriptedModelAdapter([]), {}, "s", stop_token="X")
    template = (
        "{{user_profile}}|{{scenario}}|{{conversation_history}}|{{early_stopping_instructions}}"
    )
    model = ScriptedModelAdapter(['{"text": "bye"} STOP'])
    user = UserLLMSimulator(
        model, {"a": 1}, "s", template=template, stop_token="STOP", early_stopping_condition="done"
    )
    assert user([{"role": "user", "content": "hi"}]) == "bye STOP"
    sent = model.requests[0]["messages"][0]["content"]
    assert sent.startswith('{\n  "a": 1\n}|s|user: hi\n|')
    assert "### EARLY STOPPING" in sent and "done" in sent and "`STOP`" in sent
    with pytest.raises(UserSimulatorError) as bad:
        UserLLMSimulator(ScriptedModelAdapter(["x"]), {}, "s", max_try=1)([])
    assert bad.value.component == "user_simulator"
    model = ScriptedModelAdapter(['{"text": "t", "tool_calls": [{"name": "f", "arguments": {}}]}'])
    agentic = AgenticUserLLMSimulator(
        model, {}, "s", tools=[{"name": "f", "description": "d", "inputs": {"x": 1}}]
    )
    assert agentic([]) == ("t", [{"name": "f", "arguments": {}}])
    sent = model.requests[0]["messages"][0]["content"]
    assert "### TOOLS" in sent and "- f: d" in sent and "Inputs:" in sent


# Section 13.


def llm_user(replies, **kwargs):
    return LLMUser("u", ScriptedModelAdapter(replies), {"p": 1}, "s", **kwargs)


def test_13_users():
    assert {one.name: one.value for one in TerminationReason} == {
        name: name.lower()
        for name in (
            "NOT_TERMINATED",
            "MAX_TURNS",
            "USER_TERMINATED",
            "MAX_TURNS_AND_USER_TERMINATED",
        )
    }
    stopping = {"stop_tokens": ["<END>"], "early_stopping_condition": "c"}
    user = llm_user(['{"text": "ok <end>"}'], initial_query="q", max_turns=3, **stopping)
    assert user.get_initial_query() == "q" and user._turn_count == 1 and not user.is_done()
    assert user.respond("hello") == "ok" and user.is_done() and user._stopped
    assert user.termination_reason is TerminationReason.USER_TERMINATED
    with pytest.raises(UserExhaustedError) as over:
        user.respond("again")
    assert over.value.component == "user"
    traces, config = user.gather_traces(), user.gather_config()
    assert (
        traces.items()
        >= {
            "name": "u",
            "profile": {"p": 1},
            "message_count": 3,
            "max_turns": 3,
            "turns_used": 2,
            "stopped_by_user": True,
            "termination_reason": "user_terminated",
        }.items()
    )
    assert {"messages", "logs", "stop_reason"} <= traces.keys()
    assert {
        "name",
        "profile",
        "scenario",
        "max_turns",
        "stop_tokens",
        "exhausted_response",
    } <= config.keys()
    assert user.logs[0].keys() >= {
        "timestamp",
        "question",
        "status",
        "duration_seconds",
        "response_preview",
    }
    only_token = llm_user(['{"text": "<END>"}'], initial_query="q", max_turns=3, **stopping)
    assert only_token.respond("x") == "Thank you, that's all I needed!"
    patient = llm_user([], initial_query="q", max_turns=1, exhausted_response="bye")
    assert patient.is_done() and patient.respond("x") == "bye"
    assert llm_user(['{"text": "first"}'], max_turns=2).get_initial_query() == "first"
    with pytest.raises(ValueError, match="must both be set or both be None"):
        llm_user([], stop_tokens=["X"])
    silent = llm_user(['{"text": "x"}'])
    silent.messages.add_message("assistant", "a")
    with pytest.raises(RuntimeError):
        silent.get_initial_query()


def test_13_an_agentic_user():
    def check(order: int, fast: bool = False) -> str:
        """Look it up."""
        return f"order {order}"

    replies = [
        '{"text": "hm", "tool_calls": [{"name": "check", "arguments": {"order": 7}}, '
        '{"name": "no", "arguments": {}}]}',
        '{"text": "it is here"}',
    ]
    model = ScriptedModelAdapter(replies)
    user = AgenticLLMUser(
        "u", model, {}, "s", tools={"check": check}, initial_query="q", max_turns=5
    )
    assert user.respond("where?") == "it is here"
    first, sent = (request["messages"][0]["content"] for request in model.requests)
    assert "- check: Look it up." in first and '"description": "Parameter order"' in first
    assert "Tool Output [check]: order 7" in sent and "Error: Tool 'no' not found" in sent
    assert [m["content"] for m in user.messages] == ["q", "where?", "it is here"]
    steps = user.logs[0]["internal_steps"]
    assert steps[0].keys() >= {"step", "thought", "tool_calls", "tool_outputs"}
    assert user.logs[0]["final_response"] == "it is here"
    calls = '{"text": "hm", "tool_calls": [{"name": "check", "arguments": {"order": 7}}]}'
    endless = AgenticLLMUser(
        "u",
        ScriptedModelAdapter([calls] * 2),
        {},
        "s",
        tools={"check": check},
        max_internal_steps=2,
        initial_query="q",
        max_turns=5,
    )
    assert endless.respond("x") == "I need to stop checking things now."
    assert endless.logs[0]["status"] == "max_internal_steps_reached"


# Section 14.


def test_14_usage():
    one = Usage(1.0, {"a": 1}, provider="p", kind="k")
    both = one + Usage(2.0, {"a": 2}, provider="p", kind="other")
    assert (both.cost, both.units, both.provider, both.kind) == (3.0, {"a": 3}, "p", None)
    assert (0 + one) is one and sum([one, one]).cost == 2.0
    assert one.__add__("x") is NotImplemented
    tokens = TokenUsage(input_tokens=3) + one
    assert isinstance(tokens, TokenUsage) and tokens.input_tokens == 3 and tokens.cost == 1.0
    assert isinstance(one + TokenUsage(input_tokens=3), TokenUsage)
    assert list(one.to_dict()) == [
        "cost",
        "units",
        "provider",
        "category",
        "component_name",
        "kind",
    ]
    made = TokenUsage.from_chat_response_usage(
        {"input_tokens": 4, "cached_input_tokens": 1}, cost=0.5
    )
    assert (made.input_tokens, made.cached_input_tokens, made.cost, made.kind) == (4, 1, 0.5, "llm")
    prices = StaticPricingCalculator({"m": {"input": 1, "output": 2, "cached_input": 0.5}})
    usage = TokenUsage(
        input_tokens=10, cached_input_tokens=4, cache_creation_input_tokens=1, output_tokens=1
    )
    assert prices.calculate_cost(usage, "m") == 5 * 1 + 4 * 0.5 + 1 * 1 + 2
    assert prices.calculate_cost(usage, "?") is None and isinstance(prices, CostCalculator)
    prices.add_model("n", {"input": 1, "output": 1})
    assert list(prices.models) == ["m", "n"] and prices.gather_config().keys() == {
        "type",
        "pricing",
    }


def test_14_the_reporter():
    reports = [
        {
            "task_id": "a",
            "repeat_idx": 0,
            "usage": {
                "environment": {"cost": 1.0, "units": {}},
                "models": {"m": {"cost": 2.0, "input_tokens": 3}, "x": {"error": "e"}},
            },
        },
        {"task_id": "b", "repeat_idx": 0, "usage": {"error": "no"}},
        {"task_id": "c", "repeat_idx": 0, "usage": {}},
    ]
    reporter = UsageReporter.from_reports(reports)
    assert reporter.total().cost == 3.0
    assert {name: usage.cost for name, usage in reporter.by_component().items()} == {
        "environment": 1.0,
        "models:m": 2.0,
    }
    assert list(reporter.by_task()) == ["a"]
    assert reporter.summary().keys() == {"total", "by_task", "by_component"}
    assert UsageReporter.from_reports([]).total() == Usage()


# Section 15.


def test_15_seeds():
    import hashlib

    root = DefaultSeedGenerator(global_seed=42)
    with pytest.raises(SeedingError, match=r"task_id not set\. Call for_task\(\) first\."):
        root.derive_seed("a")
    task = root.for_task("t")
    with pytest.raises(SeedingError, match=r"rep_index not set\. Call for_repetition\(\) first\."):
        task.derive_seed("a")

    def expected(text):
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFFFFFF

    repetition = task.for_repetition(1)
    assert repetition.derive_seed("a") == expected("42:t:1:a")
    assert repetition.derive_seed("a", per_repetition=False) == expected("42:t:a")
    child = repetition.child("x").child("y")
    assert child.derive_seed("z") == expected("42:t:1:x/y/z")
    assert repetition.seed_log["x/y/z"] == child.seed_log["x/y/z"]
    assert repetition.seed_log is not repetition.seed_log
    assert (repetition._task_id, repetition._rep_index) == ("t", 1)
    assert DefaultSeedGenerator().derive_seed("a") is None
    assert (
        repetition.gather_config().items()
        >= {"global_seed": 42, "task_id": "t", "rep_index": 1}.items()
    )
    assert "seeds" in repetition.gather_config()


# Section 16.


def test_16_handlers_and_message_traces():
    handler, seen = CallbackHandler(), []
    handler.register(seen.append)
    handler.invoke("x")
    handler.deregister(seen.append)
    with pytest.raises(ValueError):
        handler.deregister(print)
    assert seen == ["x"] and handler.callbacks == []

    tracer = MessageTracingAgentCallback()
    agent = Echo(None, "a", callbacks=[tracer])
    agent.messages = MessageHistory()
    agent.messages.add_message("user", "q")
    agent.run("q")
    [found] = tracer.get_all_conversations()
    assert found.keys() == {
        "agent_name",
        "agent_type",
        "query",
        "messages",
        "message_count",
        "metadata",
    }
    assert found["query"] == "q" and found["metadata"].keys() == {
        "timestamp",
        "has_tool_calls",
        "roles",
    }
    assert len(tracer.get_conversations_by_agent("a")) == 1
    assert repr(tracer) == "MessageTracingAgentCallback(conversations=1)"
    stats = tracer.get_statistics()
    assert stats.items() >= {"total_conversations": 1, "total_messages": 1}.items()
    assert stats["avg_messages_per_conversation"] == 1.0
    assert stats["agent_statistics"]["a"].keys() == {
        "conversations",
        "total_messages",
        "avg_messages",
    }
    tracer.clear()
    assert tracer.get_statistics()["total_conversations"] == 0


def test_16_the_file_logger(tmp_path):
    logger = FileResultLogger(tmp_path, "r.jsonl")
    Plain(callbacks=[logger], n_task_repeats=2).run([Task("a", id="a")], {})
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(line["task_id"], line["repeat_idx"]) for line in lines] == [("a", 0), ("a", 1)]
    meta = json.loads((tmp_path / "r.meta.json").read_text())
    assert (
        meta.items()
        >= {
            "n_tasks": 1,
            "n_repeats": 2,
            "total_iterations": 2,
            "lines_written": 2,
            "include_traces": True,
            "include_config": True,
            "include_eval": True,
            "include_task": True,
            "include_usage": True,
            "validation_enabled": True,
        }.items()
    )
    assert {"output_file", "timestamp"} <= meta.keys() and logger.validate() is True
    with pytest.raises(FileExistsError, match="already exists"):
        Plain(callbacks=[FileResultLogger(tmp_path, "r.jsonl")]).run([Task("a", id="a")], {})


def test_16_a_logger_of_ones_own(caplog):
    class Mine(ResultLogger):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.kept, self.done = [], False

        def log_iteration(self, report):
            self.kept.append(report)

        def finalize(self):
            self.done = True

        def validate(self):
            return self._expected_iterations == self._logged_iterations

    logger = Mine(include_traces=False, include_usage=False)
    Plain(callbacks=[logger]).run([Task("a", id="a")], {})
    assert logger.done and logger._logged_iterations == {("a", 0)}
    assert not {"traces", "usage"} & logger.kept[0].keys()
    assert {"task_id", "repeat_idx", "status", "error", "config", "eval", "task"} <= logger.kept[
        0
    ].keys()


# Section 17.


def test_17_facts_of_the_system(monkeypatch):
    from maseval.core.utils import system_info

    assert system_info.get_python_info().keys() == {
        "version",
        "version_full",
        "version_info",
        "executable",
        "implementation",
        "compiler",
    }
    assert system_info.get_system_info().keys() == {
        "hostname",
        "platform",
        "system",
        "release",
        "version",
        "machine",
        "processor",
        "architecture",
    }
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_ORG", "o")
    found = system_info.get_environment_variables(["openai"])
    assert found == {"OPENAI_ORG": "o"}
    config = system_info.gather_benchmark_config(include_env_vars=False, include_packages=False)
    assert config.keys() == {"timestamp", "git", "python", "system"}
    assert "maseval" in system_info.get_package_versions()
