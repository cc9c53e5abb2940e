from maseval.benchmark.macs import MACSBenchmark as MACSBenchmark
from maseval.benchmark.macs import MACSEnvironment as MACSEnvironment
from maseval.benchmark.macs import MACSEvaluator as MACSEvaluator
from maseval.benchmark.macs import MACSGenericTool as MACSGenericTool
from maseval.benchmark.macs import MACSUser as MACSUser
