"""Infrastructure errors in both conventions of tau2-bench 1.0.x: its metrics' and leaderboard's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from maseval.app.results.conventions import ConventionScore
from maseval.app.results.simulation_lines import SimulationLine
from maseval.benchmark.tau2.domains.releases import RELEASES, release_named
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.recount.recount import Recount
from maseval.benchmark.tau2.run_metrics import CONVENTIONS, LEFT_OUT, Convention, by_convention

MEANINGS: Mapping[Convention, str] = {
    "metrics": "errors left out",
    "leaderboard": "errors counted as failures",
}

_ENDINGS = {reason.value for reason in TerminationReason}


class _CountedSimulation(NamedTuple):
    """A simulation as far as the conventions look at it."""

    domain: str
    task_id: str
    ended: str | None
    passed: bool

    def record(self) -> dict[str, object]:
        """In the form of tau2-bench; what did not end as it knows is stored as an error there."""
        return {
            "task_id": self.task_id,
            "termination_reason": self.ended if self.ended in _ENDINGS else LEFT_OUT,
            "reward_info": {"reward": float(self.passed)},
        }


def conventions_of_lines(
    lines: Iterable[SimulationLine], config: Mapping[str, object]
) -> list[ConventionScore]:
    """Of a run of 1.0.x, or of its results file; none for 0.2.0, which knows no such errors."""
    rules = str(config.get("rules", "")).removeprefix("tau2-bench v").partition("+")[0]
    of_run = rules in RELEASES and RELEASES[rules].rules.metrics.detailed
    every = [
        _CountedSimulation(one.domain, one.task_id, one.ended, one.outcome == "pass")
        for one in lines
        if of_run or one.ended is not None  # of a file, that one is missing
    ]
    return list(_scores(every)) if of_run or _any_error(every) else []


def conventions_of_recount(found: Recount) -> list[ConventionScore]:
    """The same of simulations that were judged again."""
    every = [
        _CountedSimulation(
            each.slot.domain, each.slot.task_id, each.ending, found.passes[each.slot]
        )
        for each in found.judged
    ]
    detailed = any(release_named(one.version).rules.metrics.detailed for one in found.judged)
    return list(_scores(every)) if detailed or _any_error(every) else []


def _any_error(every: Iterable[_CountedSimulation]) -> bool:
    return any(each.ended == LEFT_OUT for each in every)


def _scores(every: Sequence[_CountedSimulation]) -> Iterator[ConventionScore]:
    for domain in dict.fromkeys(each.domain for each in every):
        records = [each.record() for each in every if each.domain == domain]
        metrics = by_convention(records, len(records))
        for name in CONVENTIONS:
            found = metrics[name]
            yield ConventionScore(
                domain,
                name,
                MEANINGS[name],
                found["infra_error_count"],
                found["total_simulations"],
                found["total_tasks"],
                found["pass_hat_ks"],
            )
