"""What a mark or a call asks of an evaluation, checked before anything is run."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from maseval.app.running.options import list_options
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.core.exceptions import ConfigurationError
from maseval.stats.planning import ALPHA, check_alpha, check_at_least

# The agent is what a test gives, and the place of the run what --maseval-runs says.
_NOT_ASKED = frozenset({"agent", "output", "fork"})
_OWN = ("tasks", "at_least", "alpha")


@dataclass(frozen=True)
class EvaluationOptions:
    """The pass rate asked for, the accepted chance to fail a good agent, and how to run it."""

    at_least: float
    alpha: float
    of_run: Mapping[str, Any]

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> "EvaluationOptions":
        """Raises ``ConfigurationError`` for what cannot be asked."""
        settings = dict(asked)
        _check_names(settings)
        at_least, alpha = settings.pop("at_least", 0.0), settings.pop("alpha", ALPHA)
        check_at_least(at_least)
        check_alpha(alpha)
        if "domain" not in settings:
            raise ConfigurationError(
                "no domain to evaluate in; mark the test with @pytest.mark.maseval(domain='retail')"
            )
        tasks = settings.pop("tasks", ())
        settings.setdefault("task_id", [tasks] if isinstance(tasks, str) else tasks)
        return cls(at_least, alpha, settings)


def _check_names(asked: Mapping[str, Any]) -> None:
    names = [each.name for each in list_options(RunOptions)]
    known = [*_OWN, *(name for name in names if name not in _NOT_ASKED)]
    unknown = next((name for name in asked if name not in known), None)
    if unknown is None:
        return
    alike = get_close_matches(unknown, known, n=1)
    hint = f"did you mean {alike[0]!r}?" if alike else f"choose among {', '.join(known)}"
    raise ConfigurationError(f"maseval evaluates agents without an option {unknown!r}; {hint}")
