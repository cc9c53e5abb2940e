from maseval.commands import tau2 as tau2
from maseval.commands.compare import compare as compare
from maseval.commands.demo import demo as demo
from maseval.commands.plots import plots as plots
from maseval.commands.replay_server import replay_server as replay_server
from maseval.commands.report import report as report
from maseval.commands.runs import runs as runs
from maseval.commands.show import show as show
