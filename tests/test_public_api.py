"""What ``maseval`` offers is what is there, and importing it is light."""

import subprocess
import sys

import maseval

CONTRACT = (
    "Task TaskProtocol TimeoutAction Environment AgentAdapter Benchmark TaskExecutionStatus "
    "CallbackHandler BenchmarkCallback EnvironmentCallback AgentCallback "
    "MessageTracingAgentCallback ToolLLMSimulator UserLLMSimulator SimulatorError "
    "ToolSimulatorError UserSimulatorError User LLMUser AgenticLLMUser TerminationReason "
    "Evaluator MessageHistory ToolInvocationHistory TraceableMixin Usage TokenUsage "
    "UsageTrackableMixin CostCalculator StaticPricingCalculator UsageReporter ComponentRegistry "
    "TaskContext BaseTaskQueue TaskQueue SequentialTaskQueue PriorityTaskQueue "
    "InformativeSubsetQueue DISCOQueue AdaptiveTaskQueue "
    "ModelAdapter ChatResponse ModelScorer MASEvalError AgentError "
    "EnvironmentError UserError UserExhaustedError TaskFrozenError TaskTimeoutError "
    "validate_argument_type validate_required_arguments validate_no_extra_arguments "
    "validate_arguments_from_schema "
    "SeedGenerator DefaultSeedGenerator SeedingError "
)

ADDED = (
    "ConfigurableMixin ConfigurationError Report ScriptedModelAdapter register_model resolve_model "
    "tool_call tool_definition "
)

HEAVY = (
    *("openai", "anthropic", "google.genai", "litellm", "smolagents", "langgraph", "langchain"),
    *("llama_index", "camel", "crewai", "torch", "transformers", "numpy", "pandas", "wandb"),
    *("pyarrow", "polars", "duckdb", "gymnasium"),
    *("langfuse", "httpx", "requests", "git", "rich", "tqdm", "platformdirs", "docstring_parser"),
)


def test_all_names_are_those_of_the_contract_and_our_additions():
    assert len(CONTRACT.split()) == 57
    assert sorted(maseval.__all__) == sorted((CONTRACT + ADDED).split())


def test_every_name_is_there_and_documented():
    for name in maseval.__all__:
        assert getattr(maseval, name).__doc__, f"{name} has no docstring"


def test_a_star_import_brings_exactly_those_names():
    namespace: dict[str, object] = {}
    exec("from maseval import *", namespace)

    assert namespace.keys() - {"__builtins__"} == set(maseval.__all__)


def imported_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after ``statement``."""
    program = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return set(shown.stdout.split())


def test_importing_maseval_imports_no_optional_package():
    # What site-packages themselves load at start-up is not our doing.
    ours = imported_by("from maseval import Benchmark") - imported_by("pass")

    assert "maseval.core.benchmark" in ours
    assert not [name for name in HEAVY if name in ours]


def test_importing_maseval_imports_no_benchmark_and_no_interface():
    ours = imported_by("from maseval import *")

    assert not [name for name in ours if name.startswith(("maseval.benchmark", "maseval.int"))]
