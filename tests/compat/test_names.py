"""Whoever comes from MASEval finds its names where they were, and each is ours."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

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


def module(name: str) -> ModuleType:
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


@pytest.mark.parametrize("name", ["gaia2", "converse", "multiagentbench", "mmlu"])
def test_a_benchmark_that_is_not_here_says_where_it_is(name):
    for statement in (f"import maseval.benchmark.{name}", f"from maseval.benchmark import {name}"):
        with pytest.raises(ImportError, match=f"maseval.benchmark.{name} of MASEval is not here"):
            exec(statement)


def test_the_clock_of_telecom_and_the_classes_of_domains_are_the_originals():
    from maseval.benchmark.tau2.domains.telecom import get_now, get_today
    from maseval.benchmark.tau2.environment import DOMAIN_USER_TOOLKIT_CLASSES

    assert (str(get_now()), str(get_today())) == ("2025-02-25 12:08:00", "2025-02-25")
    assert [kind.__name__ for kind in DOMAIN_USER_TOOLKIT_CLASSES.values()] == ["TelecomUserTools"]


def test_folders_are_looked_up_when_they_are_used(monkeypatch, tmp_path):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path))

    assert maseval.benchmark.tau2.Tau2User.GUIDELINES_DIR.is_relative_to(tmp_path)
    assert maseval.benchmark.macs.MACSEvaluator.DEFAULT_TEMPLATES_DIR.name == "prompt_templates"
