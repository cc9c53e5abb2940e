"""tau2: agents in customer service, scored by what they did to a real database.

A native implementation of tau2-bench v0.2.0 (https://github.com/sierra-research/tau2-bench),
developed by Sierra Research and licensed under the MIT License, Copyright (c) 2025 Sierra
Research. The code here is our own; the data is fetched from the original. PROVENANCE.md maps our
files to theirs and lists every intended difference.
"""

from maseval.benchmark.tau2.agent import DefaultTau2Agent, DefaultTau2AgentAdapter
from maseval.benchmark.tau2.benchmark import Tau2Benchmark
from maseval.benchmark.tau2.conversation.messages import INITIAL_GREETING
from maseval.benchmark.tau2.data_loader import (
    TASK_SPLITS,
    VALID_DOMAINS,
    configure_model_ids,
    download_domain_data,
    ensure_data_exists,
    load_domain_config,
    load_tasks,
)
from maseval.benchmark.tau2.default_benchmark import DefaultAgentTau2Benchmark
from maseval.benchmark.tau2.domains.airline.models import AirlineDB
from maseval.benchmark.tau2.domains.airline.tools import AirlineTools
from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType, is_tool
from maseval.benchmark.tau2.domains.retail.models import RetailDB
from maseval.benchmark.tau2.domains.retail.tools import RetailTools
from maseval.benchmark.tau2.domains.telecom.models import TelecomDB
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools
from maseval.benchmark.tau2.environment import Tau2Environment, get_environment_constructor
from maseval.benchmark.tau2.evaluator import RewardType, Tau2Evaluator
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.metrics import (
    compute_benchmark_metrics,
    compute_pass_at_k,
    compute_pass_hat_k,
    pass_hat_k,
)
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.user import Tau2User
from maseval.compat import former_modules

__path__.append(former_modules(__name__))

__all__ = [
    "DB",
    "INITIAL_GREETING",
    "TASK_SPLITS",
    "VALID_DOMAINS",
    "AirlineDB",
    "AirlineTools",
    "DefaultAgentTau2Benchmark",
    "DefaultTau2Agent",
    "DefaultTau2AgentAdapter",
    "RetailDB",
    "RetailTools",
    "RewardType",
    "Tau2Benchmark",
    "Tau2Environment",
    "Tau2Evaluator",
    "Tau2User",
    "TelecomDB",
    "TelecomTools",
    "TerminationReason",
    "ToolKitBase",
    "ToolType",
    "compute_benchmark_metrics",
    "compute_pass_at_k",
    "compute_pass_hat_k",
    "configure_model_ids",
    "download_domain_data",
    "ensure_data_exists",
    "get_environment_constructor",
    "is_tool",
    "load_domain_config",
    "load_tasks",
    "pass_hat_k",
    "score_simulation",
]
