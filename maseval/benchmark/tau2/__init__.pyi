from maseval.benchmark.tau2.agent import DefaultTau2Agent as DefaultTau2Agent
from maseval.benchmark.tau2.agent import DefaultTau2AgentAdapter as DefaultTau2AgentAdapter
from maseval.benchmark.tau2.benchmark import Tau2Benchmark as Tau2Benchmark
from maseval.benchmark.tau2.data_loader import TASK_SPLITS as TASK_SPLITS
from maseval.benchmark.tau2.data_loader import VALID_DOMAINS as VALID_DOMAINS
from maseval.benchmark.tau2.data_loader import configure_model_ids as configure_model_ids
from maseval.benchmark.tau2.data_loader import download_domain_data as download_domain_data
from maseval.benchmark.tau2.data_loader import ensure_data_exists as ensure_data_exists
from maseval.benchmark.tau2.data_loader import load_domain_config as load_domain_config
from maseval.benchmark.tau2.data_loader import load_raw_task as load_raw_task
from maseval.benchmark.tau2.data_loader import load_tasks as load_tasks
from maseval.benchmark.tau2.default_benchmark import (
    DefaultAgentTau2Benchmark as DefaultAgentTau2Benchmark,
)
from maseval.benchmark.tau2.domains import Domain as Domain
from maseval.benchmark.tau2.domains import domain_names as domain_names
from maseval.benchmark.tau2.domains import register_domain as register_domain
from maseval.benchmark.tau2.domains.airline.models import AirlineDB as AirlineDB
from maseval.benchmark.tau2.domains.airline.tools import AirlineTools as AirlineTools
from maseval.benchmark.tau2.domains.base import DB as DB
from maseval.benchmark.tau2.domains.base import ToolKitBase as ToolKitBase
from maseval.benchmark.tau2.domains.base import ToolType as ToolType
from maseval.benchmark.tau2.domains.base import for_tasks as for_tasks
from maseval.benchmark.tau2.domains.base import is_tool as is_tool
from maseval.benchmark.tau2.domains.domain import Customers as Customers
from maseval.benchmark.tau2.domains.domain import MoneyField as MoneyField
from maseval.benchmark.tau2.domains.domain import OpenChoice as OpenChoice
from maseval.benchmark.tau2.domains.domain import PermanenceRule as PermanenceRule
from maseval.benchmark.tau2.domains.domain import once_set as once_set
from maseval.benchmark.tau2.domains.retail.models import RetailDB as RetailDB
from maseval.benchmark.tau2.domains.retail.tools import RetailTools as RetailTools
from maseval.benchmark.tau2.domains.telecom.models import TelecomDB as TelecomDB
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools as TelecomTools
from maseval.benchmark.tau2.environment import Tau2Environment as Tau2Environment
from maseval.benchmark.tau2.environment import (
    get_environment_constructor as get_environment_constructor,
)
from maseval.benchmark.tau2.evaluator import Tau2Evaluator as Tau2Evaluator
from maseval.benchmark.tau2.evaluator import compute_benchmark_metrics as compute_benchmark_metrics
from maseval.benchmark.tau2.evaluator import compute_pass_at_k as compute_pass_at_k
from maseval.benchmark.tau2.evaluator import compute_pass_hat_k as compute_pass_hat_k
from maseval.benchmark.tau2.evaluator import compute_run_metrics as compute_run_metrics
from maseval.benchmark.tau2.evaluator import pass_hat_k as pass_hat_k
from maseval.benchmark.tau2.formats.message import INITIAL_GREETING as INITIAL_GREETING
from maseval.benchmark.tau2.formats.simulation import TerminationReason as TerminationReason
from maseval.benchmark.tau2.players import PlayerTau2Benchmark as PlayerTau2Benchmark
from maseval.benchmark.tau2.review.policy.confirming import explicit_yes as explicit_yes
from maseval.benchmark.tau2.review.policy.confirming import (
    no_text_beside_a_call as no_text_beside_a_call,
)
from maseval.benchmark.tau2.review.policy.confirming import one_call_at_a_time as one_call_at_a_time
from maseval.benchmark.tau2.review.policy.rules import Broken as Broken
from maseval.benchmark.tau2.review.policy.rules import CannotTell as CannotTell
from maseval.benchmark.tau2.review.policy.rules import Kind as Kind
from maseval.benchmark.tau2.review.policy.rules import Rule as Rule
from maseval.benchmark.tau2.review.policy.rules import rule as rule
from maseval.benchmark.tau2.review.policy.rules import talk_rule as talk_rule
from maseval.benchmark.tau2.review.talk import CallMoment as CallMoment
from maseval.benchmark.tau2.review.talk import Talk as Talk
from maseval.benchmark.tau2.scoring.score import score_simulation as score_simulation
from maseval.benchmark.tau2.texts.loading import load_texts as load_texts
from maseval.benchmark.tau2.user import Tau2User as Tau2User
from maseval.benchmark.tau2.world.state.records import Record as Record
from maseval.benchmark.tau2.world.state.records import Table as Table
from maseval.benchmark.tau2.world.tasks import RewardType as RewardType
from maseval.benchmark.tau2.world.world import World as World
from maseval.core.agent_brief import AgentBrief as AgentBrief
from maseval.core.agent_brief import AgentModel as AgentModel
from maseval.core.agent_brief import MakeAgent as MakeAgent
