from maseval.benchmark.macs.app import data as data
from maseval.benchmark.macs.app.results import export as export
from maseval.benchmark.macs.app.results import rates as rates
from maseval.benchmark.macs.app.results import score as score
from maseval.benchmark.macs.app.run import run as run
