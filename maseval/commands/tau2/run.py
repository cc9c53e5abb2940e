"""``maseval tau2 run``: simulations into a run folder."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.commands.budget import Budget
from maseval.commands.options import takes
from maseval.commands.prices import Prices, PriceTable
from maseval.commands.probe import probe
from maseval.commands.results import RunResult
from maseval.commands.session import Session
from maseval.commands.tau2.cast import CastBenchmark
from maseval.commands.tau2.options import RunOptions
from maseval.commands.tau2.own_domains import named_domain, own_domains
from maseval.commands.tau2.setup import ModelSpec, OwnAgent, RunSetup
from maseval.commands.tau2.tasks import TasksByDomain, select_tasks
from maseval.core.storage.secrets import Secrets
from maseval.runs import RunFolder, default_root, task_ids
from maseval.runs.config import RunConfig
from maseval.runs.config_file import CONFIG
from maseval.server import ModelServer


@takes(RunOptions)
def run(options: RunOptions) -> RunResult:
    """Run tau2 tasks into a folder, or resume the run that is there.

    ``agent`` may also be a function of an ``AgentBrief``. ``display`` shows the progress for as
    long as the context it returns is open.
    """
    options = replace(options, domain=[named_domain(name) for name in options.domains])
    setup = RunSetup.of(options)
    budget = None if options.budget is None else Budget.of(options.budget)
    tasks = select_tasks(
        options.domains,
        split=options.split,
        task_ids=options.task_id,
        num_tasks=options.num_tasks,
        timeout=options.timeout,
    )
    for each in tasks.values():
        setup.assign_models(each)
    setup.check_mode(tasks)
    setup.check_models()
    prices = Prices.of(options.prices)
    priced = PriceTable.of(prices, [(m.model_id, m.options) for m in setup.paid_models])
    if budget is not None:
        budget.check_watchable(priced.unknown)
    config = {**_config(tasks), **setup.to_config(), **priced.to_config()}
    path = Path(options.output) if options.output is not None else _new_folder(setup)
    if options.probe and _has_work(path, config, retry_failed=options.retry_failed):
        probe(setup.probes)
    rehearsed = isinstance(setup.agent, OwnAgent) and setup.agent.rehearse
    with (
        RunFolder.open(path, config, fork=options.fork) as folder,
        ModelServer() if rehearsed else nullcontext() as server,
    ):
        benchmark = CastBenchmark(setup, server, prices)
        session = Session(
            folder,
            benchmark,
            Secrets.of(config),
            turn=benchmark.turn,
            budget=budget,
            priced=bool(priced.known),
            time_limit=options.timeout,
            retry_failed=options.retry_failed,
            display=options.display,
        )
        # Domain by domain, because each has a task "1".
        result = session.run(tasks.values(), benchmark.agent_data)
        return replace(result, notes=benchmark.rehearsal.notes())


def _config(tasks: TasksByDomain) -> dict[str, object]:
    own = own_domains(tasks)
    return {
        "tasks": task_ids(task for each in tasks.values() for task in each),
        "data": {domain: data_fingerprint(domain) for domain in tasks},
        **({"own_domains": own} if own else {}),
    }


def _has_work(path: Path, config: Mapping[str, object], *, retry_failed: bool) -> bool:
    """Whether any simulation is still to be run."""
    if not (path / CONFIG).exists():
        return True
    folder, wanted = RunFolder.read(path), RunConfig.of(config)
    return wanted.planned.keys() != folder.planned or bool(
        folder.missing(retry_failed=retry_failed)
    )


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
