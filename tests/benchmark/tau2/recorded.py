"""Recorded conversations that are in no file and no run."""

from collections.abc import Callable, Iterator
from typing import Any

from maseval.benchmark.tau2.results.recorded import Claims, report_of_recorded


class Recorded:
    """Reports, or simulations in the form of tau2-bench, like a file that holds them."""

    def __init__(self, those: list[dict[str, Any]], claims: None = None) -> None:
        self.claims = claims or Claims()
        self.those = those

    def reports(self, on_malformed: Callable[..., Any] | None = None) -> Iterator[dict[str, Any]]:
        for each in self.those:
            yield each if "repeat_idx" in each else report_of_recorded(each)
