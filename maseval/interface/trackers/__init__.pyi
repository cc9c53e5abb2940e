from maseval.interface.trackers.callback import MLflowCallback as MLflowCallback
from maseval.interface.trackers.callback import WandbCallback as WandbCallback
