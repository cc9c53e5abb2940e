"""``maseval demo``: a whole run that needs no key, and its report."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from maseval.app.benchmarks import OnProgress
from maseval.app.results.report import report
from maseval.app.results.results import RunResult
from maseval.app.running.progress import Display
from maseval.benchmark.tau2.app.running.run import run
from maseval.benchmark.tau2.app.running.tasks import BASE_DOMAINS
from maseval.benchmark.tau2.data_loader import Tau2DataError, ensure_data_exists

BUILT_IN = ("library",)
TRIALS = 4

DATA = "looking for the data of tau2-bench, and fetching what is missing"
RUN = "running every task four times, with a scripted agent that makes mistakes"
REPORT = "explaining what failed, and writing the report"
STAGES = (DATA, RUN, REPORT)


@dataclass(frozen=True)
class DemoResult:
    """The run and its report; ``without_data`` says why it is not on the real data."""

    run: RunResult
    report: Path | None
    without_data: str | None = None

    def to_dict(self) -> dict[str, object]:
        page = None if self.report is None else str(self.report)
        return {**self.run.to_dict(), "report": page, "without_data": self.without_data}


def demo(
    *,
    output: str | os.PathLike[str] | None = None,
    concurrency: int = 4,
    display: Display | None = None,
    command: str | None = None,
    on_missing_data: Callable[[str], object] | None = None,
    on_stage: Callable[[str], object] = lambda stage: None,
    on_result: Callable[[RunResult], object] = lambda result: None,
    on_progress: OnProgress | None = None,
) -> DemoResult:
    """Run every base task four times with the scripted agent ``noisy``, and write the report.

    Without the data of tau2-bench, ``on_missing_data`` is called with the reason, and the tasks are
    those of the built-in library domain. ``on_stage`` is called with what is done next,
    ``on_result`` with the run when it is over, and ``on_progress`` with how many of its simulations
    have been explained. ``command`` is noted as how the run was started.
    """
    on_stage(DATA)
    problem = _problem_with_data()
    if problem and on_missing_data:
        on_missing_data(problem)
    on_stage(RUN)
    result = run(
        domain=BUILT_IN if problem else BASE_DOMAINS,
        agent="noisy",
        trials=TRIALS,
        output=output,
        concurrency=concurrency,
        display=display,
        command=command,
    )
    on_result(result)
    if not result.complete:
        return DemoResult(result, None, problem)
    on_stage(REPORT)
    page = report(result.folder, title="maseval demo", on_progress=on_progress)
    return DemoResult(result, page, problem)


def _problem_with_data() -> str | None:
    try:
        ensure_data_exists()
    except Tau2DataError as error:
        return str(error)
    return None
