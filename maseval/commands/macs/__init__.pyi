from maseval.benchmark.macs.app import data as data
from maseval.benchmark.macs.app.export import export as export
from maseval.benchmark.macs.app.rates import rates as rates
from maseval.benchmark.macs.app.run import run as run
from maseval.benchmark.macs.app.score import score as score
