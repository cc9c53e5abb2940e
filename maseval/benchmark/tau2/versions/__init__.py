"""Releases of the benchmark: which tasks, which tools, which rules."""

from maseval.benchmark.tau2.versions.releases import (
    DEFAULT_RELEASE,
    RELEASES,
    V0_2_0,
    V1_0_1,
    AnyVersion,
    Release,
    release_named,
)
from maseval.benchmark.tau2.versions.rules import RuleSet

__all__ = [
    "DEFAULT_RELEASE",
    "RELEASES",
    "V0_2_0",
    "V1_0_1",
    "AnyVersion",
    "Release",
    "RuleSet",
    "release_named",
]
