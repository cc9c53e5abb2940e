"""A run before it begins: what its options ask for, and whether that can be done."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from maseval.app.results.origins import ORIGIN
from maseval.app.running.folder_run import FolderRun, as_file_name, budget_of, path_of
from maseval.app.running.prices import Prices, PriceTable
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.own_domains import named_domain, own_domains
from maseval.benchmark.tau2.app.running.participants import ModelSpec, OwnAgent, SeatedHuman
from maseval.benchmark.tau2.app.running.setup import RunSetup
from maseval.benchmark.tau2.app.running.tasks import TasksByDomain, select_tasks
from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.core.agent import HUMAN
from maseval.core.exceptions import MASEvalError
from maseval.runs import task_ids


@dataclass(frozen=True)
class PreparedRun(FolderRun):
    """Who takes part in which tasks, at which prices, and where it is kept."""

    options: RunOptions  # with each domain by its name
    setup: RunSetup
    tasks: TasksByDomain
    priced: PriceTable
    origin: Mapping[str, object] | None = None  # of a run that continues another's conversation

    @classmethod
    def of(cls, options: RunOptions) -> Self:
        """What the options mean; raises for what makes no sense."""
        options = replace(options, domain=[named_domain(name) for name in options.domains])
        setup = RunSetup.of(options)
        budget, prices = budget_of(options), Prices.of(options.prices)
        tasks = select_tasks(
            options.domains,
            split=options.split,
            task_ids=options.task_id,
            num_tasks=options.num_tasks,
            timeout=setup.deadline,
            data_version=options.data_version,
        )
        for each in tasks.values():
            setup.assign_models(each)
        priced = PriceTable.of(prices, [(m.model_id, m.options) for m in setup.paid_models])
        path = path_of(options, "+".join(options.domains), as_file_name(_title(setup)))
        return cls(options, budget, prices, path, setup, tasks, priced)

    @cached_property
    def config(self) -> dict[str, object]:
        """The run's configuration."""
        own = own_domains(self.tasks)
        return {
            "tasks": task_ids(task for each in self.tasks.values() for task in each),
            "data": {
                domain: data_fingerprint(domain, version=self.setup.options.data_version)
                for domain in self.tasks
            },
            **({"own_domains": own} if own else {}),
            **self.setup.to_config(),
            **self.priced.to_config(),
            **({ORIGIN: dict(self.origin)} if self.origin else {}),
        }

    def check(self) -> None:
        """Raise now what would make every simulation fail."""
        for problem in self.problems():
            raise problem

    def problems(self) -> Iterator[MASEvalError]:
        """Why the run would be refused."""
        for check in (self._check_mode, self.setup.check_models, self._check_budget):
            try:
                check()
            except MASEvalError as error:
                yield error

    def _check_mode(self) -> None:
        self.setup.check_mode(self.tasks)

    def _check_budget(self) -> None:
        if self.budget is not None:
            self.budget.check_watchable(self.priced.unknown)


def _title(setup: RunSetup) -> str:
    title = _title_of(setup.agent)
    return f"{title}-for-{HUMAN}" if isinstance(setup.user, SeatedHuman) else title


def _title_of(agent: ModelSpec | OwnAgent | SeatedHuman | str) -> str:
    match agent:
        case SeatedHuman():
            return HUMAN
        case ModelSpec():
            return agent.model_id
        case OwnAgent():
            rehearsed = f"-rehearsed-{agent.rehearse}" if agent.rehearse else ""
            return agent.name.replace(".py:", "-") + rehearsed
        case _:
            return agent
