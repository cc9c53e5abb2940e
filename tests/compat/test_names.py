"""Whoever comes from MASEval finds its names where they were, and each is ours."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import maseval.benchmark.tau2
import maseval.core.callbacks
import maseval.core.system_info
from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, Tau2Benchmark
from maseval.compat import FORMER_MODULES

CHECKOUT = Path(__file__).parents[2]

OURS = (maseval, maseval.core.callbacks, maseval.core.system_info, maseval.benchmark.tau2)

# The module, the names in it that we have under the same name elsewhere, and those it has alone.
MODULES = {
    "core.callback": ("BenchmarkCallback EnvironmentCallback AgentCallback", ""),
    "core.callback_handler": ("CallbackHandler", ""),
    "core.config": ("", "ConfigurableMixin"),
    "core.embedding": ("", "Embedder Vector register_embedder resolve_embedder"),
    "core.history": ("MessageHistory ToolInvocationHistory", ""),
    "core.utils.system_info": (
        "get_git_info get_python_info get_system_info get_package_versions "
        "get_environment_variables gather_benchmark_config",
        "",
    ),
    "core.utils.message_utils": (
        "",
        "create_text_content create_image_url_content create_image_file_content "
        "create_image_from_pil create_image_from_numpy create_file_content create_audio_content "
        "create_multimodal_message create_tool_call extract_text_content has_images has_tool_calls "
        "count_tokens_estimate",
    ),
    "core.callbacks.progress_bar": (
        "ProgressBarCallback TqdmProgressBarCallback RichProgressBarCallback",
        "",
    ),
    "interface.agents.smolagents_optional": ("", ""),
    "interface.logging": ("", ""),
    "benchmark.macs.macs": (
        "",
        "MACSBenchmark MACSEnvironment MACSEvaluator MACSGenericTool MACSUser "
        "compute_benchmark_metrics",
    ),
    "benchmark.tau2.tau2": (
        "Tau2Benchmark Tau2User INITIAL_GREETING DefaultTau2Agent DefaultTau2AgentAdapter "
        "DefaultAgentTau2Benchmark",
        "_build_tool_definitions _to_json_str",
    ),
    "benchmark.tau2.utils": (
        "",
        "get_dict_hash get_pydantic_hash update_pydantic_model_with_dict load_file dump_file "
        "compare_tool_calls",
    ),
    "benchmark.tau2.domains.airline.db": ("AirlineDB", ""),
    "benchmark.tau2.domains.retail.db": ("RetailDB", ""),
    "benchmark.tau2.domains.telecom.db": ("TelecomDB", ""),
    "benchmark.tau2.data_loader": (
        "VALID_DOMAINS TASK_SPLITS load_tasks load_domain_config configure_model_ids "
        "download_domain_data ensure_data_exists",
        "DEFAULT_DATA_DIR URLS download_file download_json BASE_SPLIT_COUNTS",
    ),
    "benchmark.tau2.evaluator": (
        "Tau2Evaluator RewardType TerminationReason compute_benchmark_metrics compute_pass_at_k "
        "compute_pass_hat_k pass_hat_k",
        "",
    ),
}

# What is called with which keywords.
CALLS = [
    (
        "core.callbacks.message_tracing",
        "MessageTracingAgentCallback.get_conversations_by_agent",
        ["agent_name"],
    ),
    ("core.callback", "EnvironmentCallback.on_setup_start", ["environment"]),
    ("core.callback", "EnvironmentCallback.on_setup_end", ["environment"]),
    ("core.callback", "EnvironmentCallback.on_event", ["event_name"]),
    ("core.callback", "AgentCallback.on_event", ["event_name"]),
    ("core.callback", "AgentCallback.on_run_end", ["agent", "result"]),
    ("benchmark.tau2.domains.base", "ToolKitBase.update_db", ["update_data"]),
    ("benchmark.tau2.domains.base", "ToolKitBase.__init__", ["db"]),
    ("benchmark.tau2.environment", "get_environment_constructor", ["environment_data"]),
    ("benchmark.tau2.environment", "get_environment_constructor", ["task_data"]),
    ("benchmark.tau2.data_loader", "download_file", ["url", "timeout"]),
    ("benchmark.tau2.data_loader", "download_json", ["url"]),
    ("benchmark.tau2.tau2", "Tau2Benchmark._get_user_model_id", ["task"]),
    ("core.callbacks.progress_bar", "ProgressBarCallback._update_progress", ["current", "status"]),
    ("core.callbacks.progress_bar", "ProgressBarCallback._update_description", ["desc"]),
]


def module(name):
    return import_module(f"maseval.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_maseval_is_importable_and_shares_our_definitions(name):
    shared, alone = (names.split() for names in MODULES[name])
    found = module(name)

    for each in shared:
        assert any(getattr(found, each) is getattr(place, each, None) for place in OURS)
    for each in alone:
        assert getattr(found, each) is not None


@pytest.mark.parametrize(("place", "name", "keywords"), CALLS)
def test_a_function_takes_the_keywords_of_maseval(place, name, keywords):
    function = module(place)
    for part in name.split("."):
        function = getattr(function, part)
    receiver = [None] if "." in name else []

    inspect.signature(function).bind(*receiver, **dict.fromkeys(keywords))


def test_the_former_modules_are_listed_in_one_place_and_in_the_manual():
    former = {f"maseval.{name}" for name in MODULES if not folder(name).exists()}
    manual = (CHECKOUT / "docs" / "migrating.md").read_text(encoding="utf-8")

    assert {name for name, home in FORMER_MODULES.items() if home} == former
    for name in former:
        assert f"`{re.sub('airline|retail|telecom', '*', name).removeprefix('maseval.')}`" in manual


def folder(name):
    return CHECKOUT / "maseval" / f"{name.replace('.', '/')}.py"


def test_importing_a_former_module_warns_of_nothing_and_gives_its_home():
    program = "import maseval.core.history as old, maseval.core.messages as new; assert old is new"

    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


def test_the_limit_of_steps_is_an_attribute_of_the_benchmark():
    assert Tau2Benchmark.MAX_INVOCATIONS == DefaultAgentTau2Benchmark.MAX_INVOCATIONS == 200
