"""One domain of a run, as it is submitted to the leaderboard."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from maseval.app.running.prices import unpriced_models
from maseval.benchmark.tau2.results.reports import Omitted, infrastructure_error, simulation_of
from maseval.benchmark.tau2.run_metrics import RunMetrics, compute_run_metrics
from maseval.core.report import Report
from maseval.core.shapes import mapping, text_or_none
from maseval.runs import RunFolder, Simulation

MOST_K = 4


class SubmittedDomain:
    """One domain of a run."""

    def __init__(self, folder: RunFolder, domain: str) -> None:
        self.folder = folder
        self.domain = domain
        self.config: Mapping[str, Any] = folder.config.values

    @property
    def where(self) -> str:
        """The run and the domain."""
        return f"{self.folder.path} ({self.domain})"

    @property
    def rules(self) -> str:
        """By which release it was run."""
        return str(self.config.get("rules"))

    @property
    def planned(self) -> list[Simulation]:
        """Every simulation that there should be."""
        return [one for one in self.folder.planned if one.domain == self.domain]

    @property
    def trials(self) -> int:
        """How often each task was to be tried."""
        return int(self.config.get("trials", 1))

    @property
    def agent(self) -> str | None:
        """The model of the agent, if there is one."""
        return text_or_none(mapping(self.config, "agent").get("model"))

    @property
    def user(self) -> str:
        """Who played the user."""
        user = self.config.get("user")
        return str(user["model"] if isinstance(user, Mapping) else user or "nobody")

    def reports(self) -> Iterator[Report]:
        """The reports of the domain."""
        return (report for report in self.folder.reports() if self._is_of(report))

    def _is_of(self, report: Report) -> bool:
        return Simulation.of(report).domain == self.domain

    @cached_property
    def simulations(self) -> list[dict[str, Any]]:
        """The simulations without their conversations, as the results file will have them."""
        return [_in_brief(report) for report in self.reports()]

    @property
    def metrics(self) -> RunMetrics:
        """In the leaderboard's convention: an infrastructure error is a failed trial."""
        return compute_run_metrics(self.simulations, self.trials, "leaderboard")

    def results(self) -> dict[str, float]:
        """pass^k in percent, and the mean cost of the agent where it is known."""
        found = self.metrics
        shares = found["pass_hat_ks"].items()
        percent = {f"pass_{k}": round(100 * value, 2) for k, value in shares if k <= MOST_K}
        cost = found["avg_agent_cost"]
        known = unpriced_models(self.config) == [] and cost > 0
        return {**percent, "cost": round(cost, 4)} if known else percent

    def deviations(self) -> Iterator[str]:
        """Why it is not a run of the reference agent under the benchmark's own conditions."""
        config, agent = self.config, mapping(self.config, "agent")
        if player := agent.get("player") or agent.get("rehearse"):
            yield f"the agent is scripted ({player})"
        elif function := agent.get("function"):
            yield f"the agent is {function}, not the reference agent"
        if not isinstance(config.get("user"), Mapping):
            yield f"the user is not played by a model ({self.user})"
        if config.get("mode", "normal") != "normal":
            yield f"the mode is {config['mode']}"
        if self.other_texts:
            yield "models read other texts than the benchmark's"

    @property
    def other_texts(self) -> bool:
        """Whether the prompts were not the original's."""
        return mapping(self.config, "texts").get("name") not in (None, "original")


def _in_brief(report: Report) -> dict[str, Any]:
    found = simulation_of(report)
    simulation = infrastructure_error(report) if isinstance(found, Omitted) else found
    keys = ("task_id", "trial", "termination_reason", "reward_info", "agent_cost", "start_time")
    return {key: (simulation or {}).get(key) for key in keys}
