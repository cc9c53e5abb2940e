"""tau2: agents in customer service, scored by what they did to a real database.

A native implementation of tau2-bench v0.2.0 (https://github.com/sierra-research/tau2-bench),
developed by Sierra Research and licensed under the MIT License, Copyright (c) 2025 Sierra
Research. The code here is our own; the data is fetched from the original. PROVENANCE.md maps our
files to theirs and lists every intended difference.
"""

from maseval.core import lazy

__all__ = lazy.attach(__name__, __file__)
