"""The seeds of a run's trials, as the original derives them from the run's own.

After tau2-bench v0.2.0, src/tau2/run.py (MIT, Sierra Research).
"""

import random

_HIGHEST = 1_000_000


def trial_seed(seed: int, trial: int) -> int:
    """The seed of a trial, counted from 0; it is the same for all tasks."""
    numbers = random.Random(seed)
    return [numbers.randint(0, _HIGHEST) for _ in range(trial + 1)][-1]
