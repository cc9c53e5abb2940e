"""Whoever comes from MASEval finds its names where they were, and each is ours."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import maseval.benchmark.macs
import maseval.benchmark.tau2
import maseval.core.callbacks
import maseval.core.system_info
from maseval.benchmark.tau2 import DefaultAgentTau2Benchmark, Tau2Benchmark
from maseval.compat import FORMER_MODULES
from tests.compat.test_promised import NAMES

CHECKOUT = Path(__file__).parents[2]

OURS = (
    *(maseval, maseval.core.callbacks, maseval.core.system_info),
    *(maseval.benchmark.tau2, maseval.benchmark.macs),
)

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


FORMER = [name for name, home in FORMER_MODULES.items() if home]


@pytest.mark.parametrize("name", FORMER)
def test_a_former_module_shares_our_definitions(name):
    found = import_module(name)

    for each in NAMES[name].split():
        ours = [getattr(place, each) for place in OURS if hasattr(place, each)]
        assert not ours or any(getattr(found, each) is one for one in ours)


@pytest.mark.parametrize(("place", "name", "keywords"), CALLS)
def test_a_function_takes_the_keywords_of_maseval(place, name, keywords):
    function = module(place)
    for part in name.split("."):
        function = getattr(function, part)
    receiver = [None] if "." in name else []

    inspect.signature(function).bind(*receiver, **dict.fromkeys(keywords))


def test_the_former_modules_are_listed_in_the_manual():
    manual = (CHECKOUT / "docs" / "migrating.md").read_text(encoding="utf-8")

    for name in FORMER:
        assert f"`{re.sub('airline|retail|telecom', '*', name).removeprefix('maseval.')}`" in manual


def test_importing_a_former_module_warns_of_nothing_and_gives_its_home():
    program = "import maseval.core.history as old, maseval.core.messages as new; assert old is new"

    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


def test_the_limit_of_steps_is_an_attribute_of_the_benchmark():
    assert Tau2Benchmark.MAX_INVOCATIONS == DefaultAgentTau2Benchmark.MAX_INVOCATIONS == 200
