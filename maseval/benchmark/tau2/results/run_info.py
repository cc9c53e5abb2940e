"""The ``info`` of a results file, gathered from the configuration in a report."""

import logging
from collections.abc import Mapping
from typing import Any

from maseval.benchmark.tau2.data_loader import load_domain_config, load_guidelines
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import DEFAULT_RELEASE, Release
from maseval.benchmark.tau2.formats.simulation import RunInfo, SideInfo, UserInfo
from maseval.benchmark.tau2.results.checking import RUN_INFO, checked
from maseval.data.store import AnyPath

logger = logging.getLogger(__name__)

# Of the original's command line, for reports that do not name them.
_MAX_STEPS = 200
_MAX_ERRORS = 10

_DEFAULT_AGENT = "default_agent"
_AGENTS = {"normal": "llm_agent", "solo": "llm_agent_solo", "oracle-plan": "llm_agent_gt"}


def run_info(
    config: Mapping[str, Any],
    domain: Domain,
    known: Mapping[str, object],
    data_dir: AnyPath | None = None,
    release: Release = DEFAULT_RELEASE,
) -> RunInfo:
    """The ``info`` of a results file, from the ``config`` of one of its reports.

    What is ``known``, such as seed and number of trials, takes precedence.
    """
    benchmark = config.get("benchmark") or {}
    rules = benchmark.get("tau2") or {}
    mode = rules.get("mode", "normal")
    if rules.get("lenient_order_ids"):
        logger.warning(
            "the run accepted order ids without their #, which the original does not: "
            "it may score these simulations differently"
        )
    folder = load_domain_config(domain, data_dir, version=release)["db_path"].parent
    gathered = {
        "git_commit": (benchmark.get("git") or {}).get("commit_hash", "unknown"),
        "max_steps": rules.get("max_steps", _MAX_STEPS),
        "max_errors": rules.get("max_errors", _MAX_ERRORS),
        "user_info": _user_info(config.get("user"), domain, rules, data_dir, release),
        "agent_info": _agent_info(config.get("agents") or {}, mode),
        "environment_info": {
            "domain_name": domain.name,
            "policy": domain.policy(folder, solo=mode == "solo"),
            "tool_defs": None,
        },
    }
    return checked(RUN_INFO, {**gathered, **known}, "info")


def _agent_info(agents: Mapping[str, Mapping[str, Any]], mode: str) -> SideInfo:
    only = next(iter(agents.values())) if len(agents) == 1 else {}
    ours = list(agents) == [_DEFAULT_AGENT]
    return {
        "implementation": _AGENTS[mode] if ours else ", ".join(sorted(agents)) or "unknown",
        "llm": only.get("model_id"),
        "llm_args": only.get("llm_args"),
    }


def _user_info(
    user: Mapping[str, Any] | None,
    domain: Domain,
    rules: Mapping[str, object],
    data_dir: AnyPath | None,
    release: Release,
) -> UserInfo:
    if not user:
        return {
            "implementation": "dummy_user",
            "llm": None,
            "llm_args": None,
            "global_simulation_guidelines": None,
        }
    # Guidelines that a run has changed are not the original's, so they are not reported as such.
    guidelines = (
        None
        if rules.get("short_conversations")
        else load_guidelines(domain.user_toolkit is not None, data_dir, version=release)
    )
    return {
        "implementation": "user_simulator",
        "llm": user.get("model_id"),
        "llm_args": user.get("llm_args"),
        "global_simulation_guidelines": guidelines,
    }
