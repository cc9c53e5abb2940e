from maseval.interface import agents as agents
from maseval.interface import inference as inference
from maseval.interface import telemetry as telemetry
from maseval.interface import trackers as logging_  # noqa: F401 - its name in MASEval
from maseval.interface import trackers as trackers
