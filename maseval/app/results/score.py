"""``maseval score``: recorded conversations judged again, by the benchmark that they are of."""

from typing import Any

from maseval.app.benchmarks import all_support, support_that_answers
from maseval.app.results.files import Files
from maseval.app.results.finding import UnknownRunError, open_run_or_file
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder


def score(files: Files, **options: Any) -> Any:
    """Judge runs and results files again; ``options`` are those of the benchmark's ``score``."""
    for file in files:
        try:
            found = open_run_or_file(file)
        except UnknownRunError:  # a folder of files, or nothing: whoever judges says so
            continue
        if isinstance(found, RunFolder):
            support = support_that_answers(found, "score", built_on=True)
            return support.score(files, **options)
    for support in all_support():
        if support.answers("score"):
            return support.score(files, **options)
    raise ConfigurationError("no installed benchmark can judge recorded conversations again")
