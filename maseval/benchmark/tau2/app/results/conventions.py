"""The numbers of a run in both conventions of 1.0.x for infrastructure errors.

Its metrics leave such errors out, its leaderboard counts them as failures.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from maseval.app.results.variants import ConventionScore
from maseval.benchmark.tau2.app.results.support import RecordedSetup
from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.metrics import CONVENTIONS, LEFT_OUT, Convention, by_convention
from maseval.core.outcome import Outcome
from maseval.runs.recording import Recording

MEANINGS: Mapping[Convention, str] = {
    "metrics": "errors left out",
    "leaderboard": "errors counted as failures",
}
_ENDINGS = {reason.value for reason in TerminationReason}
Counted = tuple[str, str, str | None, bool]
"""The domain, task, ending and success of a simulation, which the conventions look at."""


def conventions_of_run(folder: Recording, lines: Iterable[Outcome]) -> list[ConventionScore]:
    return conventions_of_lines(lines, folder.config.values)


def conventions_of_lines(
    lines: Iterable[Outcome], config: Mapping[str, object]
) -> list[ConventionScore]:
    """Count a run of 1.0.x, or its results file; none for 0.2.0, which knows no such errors."""
    release = (RecordedSetup.of(config).release or "").partition("+")[0]
    is_run = release in RELEASES and RELEASES[release].rules.detailed_metrics
    every = [(one.domain, one.task_id, one.ended, one.kind == "pass") for one in lines]
    if not is_run and not any(ended == LEFT_OUT for _, _, ended, _ in every):
        return []
    return count_conventions(every)


def count_conventions(every: Iterable[Counted]) -> list[ConventionScore]:
    """Return pass^k of each domain without and with what failed outside the conversation."""
    records: dict[str, list[dict[str, object]]] = defaultdict(list)
    for domain, task_id, ended, passed in every:
        # tau2-bench stores an end that it does not know as an infrastructure error.
        reason = ended if ended in _ENDINGS else LEFT_OUT
        reward = {"reward": float(passed)}
        records[domain].append(
            {"task_id": task_id, "termination_reason": reason, "reward_info": reward}
        )
    metrics = {domain: by_convention(each, len(each)) for domain, each in records.items()}
    return [
        ConventionScore(
            domain,
            name,
            MEANINGS[name],
            found[name]["infra_error_count"],
            found[name]["total_simulations"],
            found[name]["total_tasks"],
            found[name]["pass_hat_ks"],
        )
        for domain, found in metrics.items()
        for name in CONVENTIONS
    ]
