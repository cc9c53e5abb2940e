from maseval.commands import tau2 as tau2
from maseval.commands.comparing import compare as compare
from maseval.commands.demonstration import demo as demo
from maseval.commands.listing import runs as runs
from maseval.commands.plotting import plots as plots
from maseval.commands.reporting import report as report
from maseval.commands.serving import replay_server as replay_server
from maseval.commands.viewing import show as show

__all__ = ["compare", "demo", "plots", "replay_server", "report", "runs", "show", "tau2"]
