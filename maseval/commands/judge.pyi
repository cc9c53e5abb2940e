from maseval.app.judging.ask import AskedRun as AskedRun
from maseval.app.judging.ask import ask as ask
from maseval.app.judging.calibrate import CalibratedJudge as CalibratedJudge
from maseval.app.judging.calibrate import calibrate as calibrate
