"""A run before it begins: what its options ask for, and whether that can be done."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.commands.budget import Budget
from maseval.commands.prices import Prices, PriceTable
from maseval.commands.tau2.options import RunOptions
from maseval.commands.tau2.own_domains import named_domain, own_domains
from maseval.commands.tau2.participants import ModelSpec, OwnAgent
from maseval.commands.tau2.setup import RunSetup
from maseval.commands.tau2.tasks import TasksByDomain, select_tasks
from maseval.core.exceptions import MASEvalError
from maseval.runs import RunFolder, Simulation, default_root, task_ids
from maseval.runs.config import RunConfig
from maseval.runs.config_file import CONFIG


@dataclass(frozen=True)
class PreparedRun:
    """Who takes part in which tasks, at which prices, and where it is kept."""

    setup: RunSetup
    tasks: TasksByDomain
    budget: Budget | None
    prices: Prices
    priced: PriceTable
    path: Path

    @classmethod
    def of(cls, options: RunOptions) -> "PreparedRun":
        """What the options mean; raises for what makes no sense."""
        options = replace(options, domain=[named_domain(name) for name in options.domains])
        setup = RunSetup.of(options)
        budget = None if options.budget is None else Budget.of(options.budget)
        prices = Prices.of(options.prices)
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
        path = Path(options.output) if options.output is not None else _new_folder(setup)
        return cls(setup, tasks, budget, prices, priced, path)

    @property
    def options(self) -> RunOptions:
        """The options, with each domain by its name."""
        return self.setup.options

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

    def missing(self) -> list[Simulation]:
        """The simulations that are still to be run."""
        planned = RunConfig.of(self.config).planned
        if not (self.path / CONFIG).exists() or self.options.fork:
            return list(planned)
        folder = RunFolder.read(self.path)
        left = set(folder.missing(retry_failed=self.options.retry_failed))
        return [one for one in planned if one in left or one not in folder.recorded]


def _new_folder(setup: RunSetup) -> Path:
    moment = datetime.now().strftime("%Y%m%d-%H%M%S")
    agent = _as_file_name(_title(setup.agent))
    return default_root() / f"{moment}-{'+'.join(setup.options.domains)}-{agent}"


def _title(agent: ModelSpec | OwnAgent | str) -> str:
    match agent:
        case ModelSpec():
            return agent.model_id
        case OwnAgent():
            rehearsed = f"-rehearsed-{agent.rehearse}" if agent.rehearse else ""
            return agent.name.replace(".py:", "-") + rehearsed
        case _:
            return agent


def _as_file_name(text: str) -> str:
    """A model id without what a file system or a shell could take for something else."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in text)
    return kept.strip("-")[:60] or "model"
