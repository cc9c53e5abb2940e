"""Team: a supervisor talks to the customer, and two clerks do the work.

maseval tau2 run --domain retail --agent examples/systems/team.py:agent --rehearse gold
"""

from collections.abc import Callable, Mapping

from tool_loop import ToolLoop

from maseval import AgentAdapter
from maseval.benchmark.tau2 import AgentBrief

SUPERVISOR = """You talk to a customer; two clerks, who do not hear the customer, do the work. The
reader can {reader}; the writer can {writer}. Obey this policy:

{policy}"""
CLERK = "Do what your supervisor asks, and report. This is the policy:\n\n{policy}"
READING = ("calculate", "check_", "find_", "get_", "list_", "search_")
Tools = Mapping[str, Callable[..., str]]


class Member(ToolLoop):
    """Can be asked by another member."""

    def ask(self, request: str) -> str:
        """Ask this clerk for something, with all that is needed to do it."""
        return self.run(request)


def agent(brief: AgentBrief) -> tuple[list[AgentAdapter], dict[str, AgentAdapter]]:
    looking = {name: tool for name, tool in brief.tools.items() if name.startswith(READING)}
    changing = {name: tool for name, tool in brief.tools.items() if name not in looking}
    known = {"policy": brief.policy, "reader": ", ".join(looking), "writer": ", ".join(changing)}

    def member(name: str, tools: Tools, role: str) -> Member:
        return Member(brief.chat_model(f"{name}_model"), tools, role.format(**known), name)

    clerks = [member("reader", looking, CLERK), member("writer", changing, CLERK)]
    asking = {f"ask_{clerk.name}": clerk.ask for clerk in clerks}
    supervisor = member("supervisor", asking, SUPERVISOR)
    return [supervisor], {each.name: each for each in (supervisor, *clerks)}
