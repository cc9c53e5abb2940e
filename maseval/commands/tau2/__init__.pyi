from maseval.commands.tau2 import data as data
from maseval.commands.tau2.auditing import audit as audit
from maseval.commands.tau2.certifying import certify as certify
from maseval.commands.tau2.certifying import verify as verify
from maseval.commands.tau2.explaining import explain as explain
from maseval.commands.tau2.exporting import export as export
from maseval.commands.tau2.own_agents import AgentBrief as AgentBrief
from maseval.commands.tau2.own_agents import AgentModel as AgentModel
from maseval.commands.tau2.running import run as run
from maseval.commands.tau2.scoring import score as score
from maseval.commands.tau2.serving_mcp import mcp as mcp
from maseval.commands.tau2.worlds import show as show
from maseval.commands.tau2.worlds import tasks as tasks

__all__ = [
    "AgentBrief",
    "AgentModel",
    "audit",
    "certify",
    "data",
    "explain",
    "export",
    "mcp",
    "run",
    "score",
    "show",
    "tasks",
    "verify",
]
