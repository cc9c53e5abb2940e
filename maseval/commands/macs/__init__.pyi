from maseval.commands.macs import data as data
from maseval.commands.macs.export import export as export
from maseval.commands.macs.rates import rates as rates
from maseval.commands.macs.run import run as run
from maseval.commands.macs.score import score as score
