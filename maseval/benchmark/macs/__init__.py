"""MACS: teams of agents on enterprise tasks, their tools played by a model, judged by assertions.

After the Multi-Agent Collaboration Scenario benchmark
(https://github.com/aws-samples/multiagent-collab-scenario-benchmark, arXiv:2412.05449). Copyright
Amazon.com, Inc. or its affiliates; data CC BY 4.0, code MIT-0. The code here is our own; data and
judge prompts are fetched from the original. PROVENANCE.md lists every intended difference.
"""

from pathlib import Path

from maseval.benchmark.macs.benchmark import MACSBenchmark
from maseval.benchmark.macs.data.files import default_data_dir
from maseval.benchmark.macs.data_loader import (
    VALID_DOMAINS,
    MACSDataError,
    configure_model_ids,
    download_original_data,
    download_prompt_templates,
    ensure_data_exists,
    load_agent_config,
    load_tasks,
    process_data,
    restructure_data,
)
from maseval.benchmark.macs.default_benchmark import DefaultMACSBenchmark
from maseval.benchmark.macs.environment import MACSEnvironment
from maseval.benchmark.macs.evaluator import MACSEvaluator
from maseval.benchmark.macs.judging import JudgeError
from maseval.benchmark.macs.metrics import compute_benchmark_metrics
from maseval.benchmark.macs.scoring import score_conversation, score_conversations
from maseval.benchmark.macs.tool import MACSGenericTool
from maseval.benchmark.macs.user import MACSUser

__all__ = [
    "DEFAULT_DATA_DIR",
    "VALID_DOMAINS",
    "DefaultMACSBenchmark",
    "JudgeError",
    "MACSBenchmark",
    "MACSDataError",
    "MACSEnvironment",
    "MACSEvaluator",
    "MACSGenericTool",
    "MACSUser",
    "compute_benchmark_metrics",
    "configure_model_ids",
    "download_original_data",
    "download_prompt_templates",
    "ensure_data_exists",
    "load_agent_config",
    "load_tasks",
    "process_data",
    "restructure_data",
    "score_conversation",
    "score_conversations",
]

DEFAULT_DATA_DIR: Path


def __getattr__(name: str) -> object:
    if name == "DEFAULT_DATA_DIR":
        return default_data_dir()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
