from maseval.interface.trackers.tracked_run import MLflowCallback as MLflowCallback
from maseval.interface.trackers.tracked_run import WandbCallback as WandbCallback
