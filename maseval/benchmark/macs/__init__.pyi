from maseval.benchmark.macs.benchmark import MACSBenchmark as MACSBenchmark
from maseval.benchmark.macs.benchmark import MACSUser as MACSUser
from maseval.benchmark.macs.data_loader import DEFAULT_DATA_DIR as DEFAULT_DATA_DIR
from maseval.benchmark.macs.data_loader import VALID_DOMAINS as VALID_DOMAINS
from maseval.benchmark.macs.data_loader import MACSDataError as MACSDataError
from maseval.benchmark.macs.data_loader import configure_model_ids as configure_model_ids
from maseval.benchmark.macs.data_loader import download_original_data as download_original_data
from maseval.benchmark.macs.data_loader import (
    download_prompt_templates as download_prompt_templates,
)
from maseval.benchmark.macs.data_loader import ensure_data_exists as ensure_data_exists
from maseval.benchmark.macs.data_loader import load_agent_config as load_agent_config
from maseval.benchmark.macs.data_loader import load_tasks as load_tasks
from maseval.benchmark.macs.data_loader import process_data as process_data
from maseval.benchmark.macs.data_loader import restructure_data as restructure_data
from maseval.benchmark.macs.default_benchmark import DefaultMACSBenchmark as DefaultMACSBenchmark
from maseval.benchmark.macs.environment import MACSEnvironment as MACSEnvironment
from maseval.benchmark.macs.environment import MACSGenericTool as MACSGenericTool
from maseval.benchmark.macs.evaluator import JudgeError as JudgeError
from maseval.benchmark.macs.evaluator import MACSEvaluator as MACSEvaluator
from maseval.benchmark.macs.metrics import compute_benchmark_metrics as compute_benchmark_metrics
from maseval.benchmark.macs.scoring import score_conversation as score_conversation
from maseval.benchmark.macs.scoring import score_conversations as score_conversations
