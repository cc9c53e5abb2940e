"""What MASEval keeps in ``maseval.core.utils``."""
