from maseval.app.results.questions import comply as comply
from maseval.app.results.questions import explain as explain
from maseval.benchmark.tau2.agent_brief import AgentBrief as AgentBrief
from maseval.benchmark.tau2.agent_brief import AgentModel as AgentModel
from maseval.benchmark.tau2.agent_brief import MakeAgent as MakeAgent
from maseval.benchmark.tau2.app.results import data as data
from maseval.benchmark.tau2.app.results.audit import audit as audit
from maseval.benchmark.tau2.app.results.audit import errata as errata
from maseval.benchmark.tau2.app.results.audit import rule_book as rule_book
from maseval.benchmark.tau2.app.results.score import certify as certify
from maseval.benchmark.tau2.app.results.score import score as score
from maseval.benchmark.tau2.app.results.score import verify as verify
from maseval.benchmark.tau2.app.results.show import show as show
from maseval.benchmark.tau2.app.running.branch import branch as branch
from maseval.benchmark.tau2.app.running.mcp import mcp as mcp
from maseval.benchmark.tau2.app.running.options import PlayOptions as PlayOptions
from maseval.benchmark.tau2.app.running.plan import plan as plan
from maseval.benchmark.tau2.app.running.run import play as play
from maseval.benchmark.tau2.app.running.run import run as run
from maseval.benchmark.tau2.app.running.tasks import tasks as tasks
from maseval.benchmark.tau2.app.sharing.submit import (
    SubmissionRefusedError as SubmissionRefusedError,
)
from maseval.benchmark.tau2.app.sharing.submit import export as export
from maseval.benchmark.tau2.app.sharing.submit import submit as submit
