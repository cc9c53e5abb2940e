"""``maseval tau2 run``: simulations into a run folder."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.benchmark import MAX_INVOCATIONS
from maseval.benchmark.tau2.data_loader import DEFAULT_TIMEOUT_SECONDS, data_fingerprint
from maseval.commands.moments import Display
from maseval.commands.results import RunResult
from maseval.commands.summary import lines_of, run_summary
from maseval.commands.tau2.budget import Budget
from maseval.commands.tau2.cast import CastBenchmark
from maseval.commands.tau2.options import Model, OwnAgent, RunOptions, run_options
from maseval.commands.tau2.own_agents import MakeAgent
from maseval.commands.tau2.progress import RunProgress
from maseval.commands.tau2.selection import TasksByDomain, cast_models, select_tasks
from maseval.commands.tau2.stopping import INTERRUPTED, RunWatch, interruptible
from maseval.core.exceptions import ConfigurationError, RunStoppedError
from maseval.core.storage.secrets import Secrets
from maseval.runs import RunFolder, default_root, run_into, task_ids
from maseval.server import ModelServer

DEFAULT_SEED = 300
"""The original's."""

DEFAULT_CONCURRENCY = 4


def run(
    *,
    domain: str | Sequence[str],
    split: str = "base",
    task_id: Sequence[str] = (),
    num_tasks: int | None = None,
    trials: int = 1,
    agent: str | MakeAgent = "llm",
    user: str | None = None,
    agent_model: str | None = None,
    user_model: str | None = None,
    judge_model: str | None = None,
    agent_args: Mapping[str, Any] | None = None,
    user_args: Mapping[str, Any] | None = None,
    base_url: str | None = None,
    rehearse: str | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    max_steps: int = MAX_INVOCATIONS,
    seed: int | None = DEFAULT_SEED,
    timeout: float | None = DEFAULT_TIMEOUT_SECONDS,
    budget: str | None = None,
    mode: str = "normal",
    output: str | os.PathLike[str] | None = None,
    fork: bool = False,
    retry_failed: bool = True,
    display: Display | None = None,
) -> RunResult:
    """Run tau2 tasks into a folder, or go on with the run that is there.

    Args:
        domain: One domain or several.
        split: Which of the domain's tasks: ``base``, or for telecom also ``small`` and ``full``.
        task_id: Only these tasks; where ids repeat between domains, ``domain/id``.
        num_tasks: The most tasks of each domain.
        trials: How often each task is run.
        agent: ``llm``; a player: ``gold``, ``noop``, ``noisy``; or your own: a function of an
            ``AgentBrief``, or where it stands, ``my_agent.py:function``.
        user: ``llm`` or ``scripted``; by default scripted for a player, else llm.
        agent_model: The model of the agent, such as ``openai/gpt-4.1``.
        user_model: The model that plays the customer.
        judge_model: The model that judges assertions in natural language.
        agent_args: For the agent's model (``temperature``, ``api_key``, ...), or for a player.
        user_args: For the user's model.
        base_url: The address of an OpenAI-compatible server, for all models.
        rehearse: Give an agent of your own a scripted model, which plays this player's part.
        concurrency: How many simulations run at once.
        max_steps: How long a conversation may be.
        seed: Makes players, and models that take a seed, repeatable.
        timeout: Seconds for one simulation; None for no limit.
        budget: Start nothing more after this much: ``5usd``, ``2M tokens``.
        mode: ``normal``, ``solo`` or ``oracle-plan``.
        output: The run folder; by default a new one below ``runs``.
        fork: If the folder holds a run with another configuration, begin one beside it.
        retry_failed: Run again what failed through no fault of the agent.
        display: Shows the progress for as long as the context it gives is open.
    """
    options = run_options(
        agent=agent,
        user=user,
        agent_model=agent_model,
        user_model=user_model,
        judge_model=judge_model,
        agent_args=agent_args,
        user_args=user_args,
        base_url=base_url,
        rehearse=rehearse,
        mode=mode,
        max_steps=max_steps,
        seed=seed,
        timeout=timeout,
    )
    limit = None if budget is None else Budget.of(budget)
    if concurrency < 1:
        raise ConfigurationError(f"concurrency is {concurrency}; give at least 1")
    domains = [domain] if isinstance(domain, str) else list(domain)
    tasks = select_tasks(
        domains, split=split, task_ids=task_id, num_tasks=num_tasks, timeout=timeout
    )
    cast_models(tasks, options)
    for model in options.models.values():
        model.check()
    config = {**_config(tasks, trials), **options.to_config()}
    path = Path(output) if output is not None else _new_folder(domains, options)
    with RunFolder.open(path, config, fork=fork) as folder:
        session = _Session(folder, options, tasks, Secrets.of(config), limit)
        return session.run(concurrency, retry_failed, display or (lambda progress: nullcontext()))


def _config(tasks: TasksByDomain, trials: int) -> dict[str, Any]:
    return {
        "tasks": task_ids(task for each in tasks.values() for task in each),
        "trials": trials,
        "data": {domain: data_fingerprint(domain) for domain in tasks},
    }


def _new_folder(domains: Sequence[str], options: RunOptions) -> Path:
    moment = datetime.now().strftime("%Y%m%d-%H%M%S")
    agent = _title(options.agent)
    name = f"{moment}-{'+'.join(dict.fromkeys(domains))}-{_as_file_name(agent)}"
    return default_root() / name


def _title(agent: Model | OwnAgent | str) -> str:
    match agent:
        case Model():
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


class _Session:
    """One call's part of a run."""

    def __init__(
        self,
        folder: RunFolder,
        options: RunOptions,
        tasks: TasksByDomain,
        secrets: Secrets,
        budget: Budget | None,
    ) -> None:
        self.folder = folder
        self.options = options
        self.tasks = tasks
        self.secrets = secrets
        self.budget = budget

    def run(self, concurrency: int, retry_failed: bool, display: Display) -> RunResult:
        with self._rehearsals() as server:
            return self._run(
                CastBenchmark(self.options, concurrency, server), retry_failed, display
            )

    def _rehearsals(self) -> AbstractContextManager[ModelServer | None]:
        agent = self.options.agent
        rehearsed = isinstance(agent, OwnAgent) and agent.rehearse
        return ModelServer() if rehearsed else nullcontext()

    def _run(self, benchmark: CastBenchmark, retry_failed: bool, display: Display) -> RunResult:
        began = time.monotonic()
        progress = RunProgress(len(self.folder.planned), self.options.timeout)
        for line in lines_of(self.folder):
            progress.recall(line)
        progress.watch(benchmark.worlds)
        watch = RunWatch(benchmark, progress, self.budget)
        benchmark.add_callback(watch)
        watch.check_budget()
        with interruptible(watch), display(progress):
            self._run_domains(benchmark, progress, retry_failed)
        return RunResult(
            folder=self.folder.path,
            summary=run_summary(lines_of(self.folder), self.folder.planned),
            ran=progress.ran,
            seconds=time.monotonic() - began,
            stopped=progress.stopping,
        )

    def _run_domains(
        self, benchmark: CastBenchmark, progress: RunProgress, retry_failed: bool
    ) -> None:
        """Domain by domain, because each has a task "1"."""
        try:
            for tasks in self.tasks.values():
                if progress.stopping is None:
                    run_into(
                        self.folder,
                        benchmark,
                        tasks,
                        benchmark.agent_data,
                        retry_failed=retry_failed,
                    )
        except KeyboardInterrupt:
            progress.stopping = INTERRUPTED
        except RunStoppedError as error:
            progress.stopping = str(self.secrets.removed_from({"why": str(error)})["why"])
