"""Tau2Support: labels, explanations, timelines and results files for commands that take any run.

``RecordedSetup`` are the settings of a recorded run, parsed once where they enter. They come from
the configuration of a run folder, which may be of an earlier version or of another benchmark, or
from the ``info`` of a results file, which forks write in any form. A setting that is missing or of
another kind counts as not recorded.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maseval.app.benchmarks import BenchmarkSupport
from maseval.app.results.measured import IF_UNDECIDED, SOUND, WITHOUT_BREACHES
from maseval.benchmark.tau2.data import title_of, version_titled
from maseval.benchmark.tau2.domains import DOMAINS, UnknownDomainError, domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.recorded import Shape, mapping, whole_number
from maseval.core.report import Report
from maseval.core.storage.files import JUDGEMENTS, path_about
from maseval.core.storage.redaction import REDACTED
from maseval.core.words import text_or_none
from maseval.data.kept import package_fingerprint
from maseval.runs.recording import Recording
from maseval.stats import Measure

if TYPE_CHECKING:  # most runs are not in a results file
    from maseval.benchmark.tau2.results import ResultsFile

TAU2 = "tau2"
"""The name of this benchmark in the configuration of a run."""

_MODES = {"llm_agent_solo": "solo", "llm_agent_gt": "oracle-plan"}
_LIMITS = ("max_steps", "max_errors", "seed")


@dataclass(frozen=True)
class RecordedSide:
    """The agent or the user of a run.

    ``player`` is a scripted participant, or in a results file the name of the implementation.
    """

    model: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    player: str | None = None
    error_rate: object = None
    function: str | None = None
    rehearse: str | None = None
    prompt: str | None = None

    @classmethod
    def of(cls, given: object) -> "RecordedSide":
        if not isinstance(given, Mapping):
            return cls(player=text_or_none(given or None))
        args = {**mapping(given, "args"), **mapping(given, "options")}
        texts = {
            name: text_or_none(given.get(name))
            for name in ("model", "player", "function", "rehearse", "prompt")
        }
        return cls(model_args=args, error_rate=given.get("error_rate"), **texts)

    @classmethod
    def of_info(cls, given: Shape) -> "RecordedSide":
        """Parse ``agent_info`` or ``user_info`` of a results file."""
        return cls(
            model=text_or_none(given.get("llm")),
            model_args=mapping(given, "llm_args"),
            player=text_or_none(given.get("implementation")),
        )

    @property
    def name(self) -> str | None:
        """The model, or whoever plays without one."""
        return self.model or self.player

    def model_options(self, role: str) -> dict[str, object]:
        """Return the model as options of a new run, in which it plays ``role``."""
        args = {key: arg for key, arg in self.model_args.items() if REDACTED not in str(arg)}
        return {role: "llm", f"{role}_model": self.model, f"{role}_args": args}


@dataclass(frozen=True)
class RecordedSetup:
    """The participants, rules and data of a recorded run.

    ``limits`` are those of ``max_steps``, ``max_errors`` and ``seed`` that are recorded. ``data``
    has the hash of each file by domain.
    """

    agent: RecordedSide = RecordedSide()
    user: RecordedSide = RecordedSide()
    judge: str | None = None
    mode: str | None = None
    rules: str | None = None
    texts: str | None = None
    trials: int = 1
    limits: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "RecordedSetup":
        return cls(
            agent=RecordedSide.of(config.get("agent")),
            user=RecordedSide.of(config.get("user")),
            judge=text_or_none(mapping(config, "judge").get("model")),
            mode=text_or_none(config.get("mode")),
            rules=text_or_none(config.get("rules")),
            texts=text_or_none(mapping(config, "texts").get("name")),
            trials=whole_number(config.get("trials")) or 1,
            limits={key: config[key] for key in _LIMITS if key in config},
            data=mapping(config, "data"),
        )

    @classmethod
    def of_file(cls, file: "ResultsFile") -> "RecordedSetup":
        """Parse the ``info`` of a results file; a file of lines records none."""
        info = file.raw_info
        agent = RecordedSide.of_info(mapping(info, "agent_info"))
        limits = {key: whole_number(info.get(key)) for key in _LIMITS}
        return cls(
            agent=agent,
            user=RecordedSide.of_info(mapping(info, "user_info")),
            mode=_MODES.get(str(agent.player), "normal"),
            limits={key: limit for key, limit in limits.items() if limit is not None},
        )

    @property
    def release(self) -> str | None:
        """The release by whose rules the run was made."""
        return None if self.rules is None else version_titled(self.rules)


def reason_for_call(raw: Mapping[str, Any]) -> str:
    """Return the reason why the customer of a task calls, in one line; empty if it has none."""
    told = (raw.get("user_scenario") or {}).get("instructions") or {}
    reason = told.get("reason_for_call") if isinstance(told, Mapping) else told
    return " ".join(str(reason or raw.get("ticket") or "").split())


def has_rules(domain: str) -> bool:
    """Return True if the policy of a domain has rules; ours all have, and take time to load."""
    return domain in DOMAINS or bool(domain_named(domain).rules)


def _function(module: str, name: str) -> Any:
    """Return a method that is a function of a module of tau2, loaded when it is asked."""

    def answer(self: BenchmarkSupport, *given: Any, **options: Any) -> Any:
        found = getattr(import_module(f"maseval.benchmark.tau2.{module}"), name)
        return found(*given, **options)

    return answer


class Tau2Support(BenchmarkSupport):
    """Explains failures, and reads results files of tau2-bench.

    Each answer loads what it needs: a run whose findings are kept needs next to nothing of it.
    """

    review = _function("app.results.explain", "review")
    harm = _function("app.results.explain", "harm")
    limits = _function("app.results.explain", "limits")
    task_findings = _function("app.results.explain", "task_findings")
    timeline = _function("app.results.explain", "timeline_of")
    policies = _function("app.results.outcomes", "policies_of")
    run_outcomes = _function("app.results.outcomes", "run_outcomes")
    verdict_checker = _function("app.results.sources", "verdict_checker")
    other_data = _function("app.results.outcomes", "differing_data")
    settings = _function("app.results.outcomes", "settings_of_run")
    score = _function("app.results.score", "score")
    judge_question = _function("app.judging.requests", "judge_question")
    judge_request = _function("app.judging.requests", "judge_request")
    judged_findings = _function("app.judging.requests", "judged_findings")
    labelled_cases = _function("app.judging.pairs", "labelled_cases")
    label_questions = _function("app.results.labelling", "label_questions")
    judges = _function("app.results.labelling", "judge_answers")
    calibration = _function("app.results.labelling", "calibration_in_words")
    recording = _function("app.results.sources", "FileRecording")
    holds_results = _function("results", "has_simulations")
    conversations = _function("app.sharing.export", "conversations")
    exports = "tau2-bench"
    public_name = "tau_bench.text"
    export = _function("app.sharing.export", "export_with_notes")

    def made(self, folder: Recording) -> bool:
        return any(TAU2 in RecordedReport(report).benchmark for report in folder.reports())

    def findings_version(self, folder: Recording) -> object:
        fingerprint = package_fingerprint()
        # The code of a domain of one's own can be anywhere; the files of ours have their hashes in
        # the package, and are read with no other content (``maseval.data.folder``).
        names = {one.domain for every in (folder.recorded, folder.planned) for one in every}
        names |= {*RecordedSetup.of(folder.config.values).data}
        if fingerprint is None or not all(name in DOMAINS for name in names):
            return None
        judgements = path_about(folder.path, JUDGEMENTS)
        if not judgements.is_file():
            return [fingerprint, None]
        from maseval.data.folder import hash_file  # loads what reads archives

        hashed = hash_file(judgements)
        return [fingerprint, hashed and hashed.sha256]

    def version(self, config: Mapping[str, object]) -> str | None:
        if "rules" not in config and config.get("version"):
            # Results files have only the number.
            return f"tau2-bench {title_of(str(config['version']))}"
        return super().version(config)

    def warnings(self, config: Mapping[str, object]) -> list[str]:
        setup = RecordedSetup.of(config)
        words = []
        if setup.judge == "rule" and "retail" in mapping(config, "tasks"):
            from maseval.benchmark.tau2.scoring.rule import MEASURED

            words = [f"A rule decided retail's assertions; {MEASURED}."]
        # An agent of the user's own may ask no model, and is then given texts that none reads.
        models = setup.agent.model or setup.user.model or setup.judge
        if setup.texts != "ours" or not models:
            return words
        from maseval.benchmark.tau2.texts.loading import fetching_command

        version = release_named(setup.release).rules.version
        return [
            *words,
            "Not comparable with published numbers: models read maseval's own texts; "
            f"`{fetching_command(version)}` gets the original's.",
        ]

    def measures(self, folder: Recording) -> Sequence[Measure]:
        found: Sequence[Measure] = ()
        for name in {one.domain for one in folder.planned}:
            with suppress(UnknownDomainError):
                if has_rules(name):
                    return [WITHOUT_BREACHES, IF_UNDECIDED, SOUND]
                found = [SOUND]
        return found

    def task_title(self, report: Report) -> str | None:
        from maseval.benchmark.tau2.data_loader import load_raw_task
        from maseval.benchmark.tau2.results.writing import Tau2Report

        domain, task_id, _ = Simulation.of(report)
        try:
            release = Tau2Report(report).release
            return reason_for_call(load_raw_task(domain, task_id, version=release)) or None
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return None


SUPPORT = Tau2Support()
