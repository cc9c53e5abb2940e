"""AgentDojo on maseval: how well do agents work, and resist instructions hidden in what they read?"""

from maseval_agentdojo.benchmark import AgentDojo

__all__ = ["AgentDojo"]
