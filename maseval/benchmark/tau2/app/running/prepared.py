"""PreparedRun: everything that a run of tau2 needs, made of its options.

These are its participants, its tasks, its prices and its folder. ``check`` raises what would make
every simulation fail, before anything is written or paid for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

from maseval.app.results.recording import ORIGIN
from maseval.app.running.folder_run import FolderRun, path_of
from maseval.app.running.prices import ModelPrice, noted_prices
from maseval.app.running.run_options import check_timeout
from maseval.benchmark.tau2.app.results.support import SUPPORT
from maseval.benchmark.tau2.app.running.failed_only import FailedTasks, find_failed
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.participants import (
    Agent,
    ModelSpec,
    OwnAgent,
    User,
    choose_participants,
    title_of_agent,
)
from maseval.benchmark.tau2.app.running.rewording import apply_rewordings
from maseval.benchmark.tau2.app.running.tasks import (
    TasksByDomain,
    broken_golds,
    code_of_domains,
    domain_name,
    load_chosen,
    own_domain_origins,
)
from maseval.benchmark.tau2.benchmark import Mode
from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data_loader import configure_model_ids, data_fingerprint
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.perturbation import Perturbation
from maseval.benchmark.tau2.scoring.judge import OFFICIAL_JUDGE, needs_judge
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.wording import OURS, wording_of
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.model import resolve_model
from maseval.core.outcome import TaskKey
from maseval.core.perturbation import PERTURB
from maseval.runs import task_ids
from maseval.runs.config import CODE

# The rules look at the clock between steps; this is the least time for the last one.
_LAST_STEP = 60.0


@dataclass(frozen=True)
class PreparedRun(FolderRun):
    """The participants, tasks and prices of a run, and the folder it is kept in.

    ``past``, ``first_trial`` and ``origin`` are those of a run that continues a recorded
    conversation: its messages, the trial whose seeds repetition 0 has, and where it is from.
    """

    options: RunOptions  # with each domain by its name
    agent: Agent
    user: User
    judge: ModelSpec | str | None
    mode: Mode
    wording: Wording = OURS
    tasks: TasksByDomain = field(default_factory=dict)
    past: Sequence[Tau2Message] = ()
    first_trial: int = 0
    origin: Mapping[str, object] | None = None
    failed: FailedTasks | None = None

    @classmethod
    def of(cls, options: RunOptions) -> Self:
        """Prepare the run that the options ask for; raises ``ConfigurationError``."""
        for name in ("max_steps", "max_errors"):
            if (limit := getattr(options, name)) < 1:
                raise ConfigurationError(f"{name} is {limit}; give at least 1")
        failed = None
        if options.failed_only is not None:
            options, failed = find_failed(options)
        named = [options.domain] if isinstance(options.domain, str) else options.domain
        domains = [domain_name(each) for each in dict.fromkeys(named)]
        # A limit of 0 seconds means no limit.
        options = replace(options, domain=domains, timeout=options.timeout or None)
        check_timeout(options.timeout)
        agent, user, mode = choose_participants(options)
        judge = options.judge_model
        run = cls(
            options,
            path_of(options, "+".join(domains), title=title_of_agent(agent)),
            agent,
            user,
            ModelSpec.of(judge, None, options.base_url) if judge and judge != RULE else judge,
            mode,
        )
        # Where nobody reads texts, none are looked for: scripted players run on a machine without
        # any.
        if options.texts is not None or run.asks_models:
            run = replace(run, wording=wording_of(options.texts, options.data_version))
        tasks = load_chosen(options, run.time_limit)
        if failed is not None:
            tasks = {
                domain: [each for each in some if TaskKey(domain, str(each.id)) in failed.tasks]
                for domain, some in tasks.items()
            }
            tasks = {domain: some for domain, some in tasks.items() if some}
            run = replace(run, failed=failed)
        if run.perturbation and (file := run.perturbation.file):
            if not isinstance(user, ModelSpec):
                raise ConfigurationError(
                    "perturb prompt=FILE rewords what a model is told; the "
                    "user is none: use --user llm --user-model MODEL"
                )
            apply_rewordings([task for each in tasks.values() for task in each], file)
        model = user if isinstance(user, ModelSpec) else None
        for each in tasks.values():
            user_id = model.model_id if model else None
            configure_model_ids(each, user_model_id=user_id, evaluator_model_id=judge)
            for task in each if model else ():
                task.user_data["llm_args"] = model and model.llm_args
        return replace(run, tasks=tasks)

    @cached_property
    def perturbation(self) -> Perturbation | None:
        return Perturbation.parse(self.options.perturb) if self.options.perturb else None

    @property
    def asks_models(self) -> bool:
        """True if any model reads texts of ours, be it one of an agent's own."""
        own = isinstance(self.agent, OwnAgent) and not self.agent.rehearse
        return own or bool(self.models)

    @property
    def models(self) -> dict[str, ModelSpec]:
        """The models by the role for which the benchmark asks for them."""
        roles = {"agent_model": self.agent, "user_simulator": self.user, "nl_evaluator": self.judge}
        return {role: model for role, model in roles.items() if isinstance(model, ModelSpec)}

    @property
    def judged_by(self) -> str | None:
        if not any(needs_judge(task) for tasks in self.tasks.values() for task in tasks):
            return None
        if not isinstance(self.judge, ModelSpec):
            return "judge: rule, not the official number" if self.judge else None
        model = self.judge.model_id
        own = model.endswith(OFFICIAL_JUDGE)
        return None if own else f"judge: {model}, in the original {OFFICIAL_JUDGE}"

    @property
    def own_model(self) -> ModelSpec | None:
        """The model of an own agent; None in a rehearsal, which replaces it."""
        agent = self.agent
        return agent.model if isinstance(agent, OwnAgent) and not agent.rehearse else None

    @cached_property
    def model_prices(self) -> dict[str, ModelPrice | None]:
        """The price of each model that takes part; None where it is not known."""
        return {
            each.model_id: self.prices.at(each.model_id, each.options.get("base_url"))
            for each in filter(None, (self.own_model, *self.models.values()))
        }

    @property
    def knows_prices(self) -> bool:
        # A rehearsal asks no model that anybody pays for.
        is_free = self.options.rehearse is not None and not self.model_prices
        return is_free or any(self.model_prices.values())

    @property
    def timeout(self) -> float | None:
        """The seconds after which the rules end a conversation; None if they do not."""
        endings = release_named(self.options.data_version).rules.loop.endings
        return self.options.timeout if TerminationReason.TIMEOUT in endings else None

    @property
    def time_limit(self) -> float | None:
        """The seconds after which a simulation is given up."""
        limit = self.options.timeout
        if limit is None or self.options.patience is not None:
            return self.options.patience
        # Where the rules themselves end a conversation by time, this limit only catches a step that
        # hangs, and must not come before them.
        return limit if self.timeout is None else limit + max(limit, _LAST_STEP)

    @cached_property
    def config(self) -> dict[str, object]:
        options, agent, user = self.options, self.agent, self.user
        own = own_domain_origins(self.tasks)
        tasks = task_ids(task for each in self.tasks.values() for task in each)
        code = code_of_domains(self.tasks, agent.make if isinstance(agent, OwnAgent) else None)
        release = release_named(options.data_version)
        return {
            "tasks": tasks,
            **options.question_config(tasks),
            "data": {
                domain: data_fingerprint(domain, version=options.data_version)
                for domain in self.tasks
            },
            **({"own_domains": own} if own else {}),
            **({CODE: code} if code else {}),
            "benchmark": "tau2",
            "rules": f"tau2-bench {title_of(release.name)}",
            "agent": agent.to_config(),
            "user": user if user is None or isinstance(user, str) else user.to_config(),
            "judge": self.judge.to_config()
            if isinstance(self.judge, ModelSpec)
            else self.judge and {"model": self.judge},
            "mode": self.mode.value,
            **({PERTURB: self.perturbation.to_config()} if self.perturbation else {}),
            **({"asks_confidence": True} if options.ask_confidence else {}),
            **({"texts": self.wording.to_config()} if self.asks_models else {}),
            **({"max_errors": options.max_errors} if release.rules.loop.counts_errors else {}),
            **options.recorded,
            **(noted_prices(self.model_prices) if self.model_prices else {}),
            **({ORIGIN: dict(self.origin)} if self.origin else {}),
            **(self.failed.to_config() if self.failed else {}),
        }

    def problems(self) -> Iterator[MASEvalError]:
        """Yield the errors with which the run would be refused."""
        unpriced = [model for model, price in self.model_prices.items() if price is None]
        for check in (
            self._check_mode,
            self.check_models,
            partial(self.budget.check_watchable, unpriced) if self.budget else None,
        ):
            try:
                if check is not None:
                    check()
            except MASEvalError as error:
                yield error

    def _check_mode(self) -> None:
        """Raise if the tasks of a domain cannot be run here, or not in this mode."""
        for domain in self.tasks:
            domain_named(domain).require_ready()
        for domain, tasks in self.tasks.items() if self.mode is Mode.SOLO else ():
            lacking = [task.id for task in tasks if not task.metadata.get("ticket")]
            needs_ticket = isinstance(self.agent, ModelSpec)
            if domain_named(domain).solo_refusal or (lacking and needs_ticket):
                raise ConfigurationError(
                    f"mode is 'solo', but the tasks of {domain} cannot be done without a user; "
                    "choose telecom, whose tasks have a ticket for that, or mode 'normal'"
                )

    def check_models(self) -> None:
        """Raise if a model is unknown or lacks its key."""
        for model in self.models.values():
            resolve_model(model.model_id, **model.options)

    def warnings(self) -> Iterator[str]:
        """Yield what must be known before the run is paid for."""
        yield from SUPPORT.warnings(self.config)
        yield from broken_golds(self.tasks)
