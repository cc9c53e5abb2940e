"""``maseval tau2 submit``: runs in the form of the public leaderboard's submissions.

All rules of the leaderboard are checked before anything is written, and every broken one is
reported with the way out.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.benchmarks import ExportedPath
from maseval.app.results.finding import open_run
from maseval.app.running.options import takes
from maseval.app.running.prices import unpriced_models
from maseval.benchmark.tau2.app.results.score import score
from maseval.benchmark.tau2.app.results.support import TAU2, RecordedSetup
from maseval.benchmark.tau2.app.running.options import SubmitOptions
from maseval.benchmark.tau2.data_loader import data_fingerprint, load_raw_tasks
from maseval.benchmark.tau2.domains.releases import V1_0_1
from maseval.benchmark.tau2.evaluator import RunMetrics, compute_run_metrics
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.results import ExportSummary, export_results
from maseval.benchmark.tau2.results.writing import Omitted, infrastructure_error, simulation_of
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.core.exceptions import ConfigurationError, NotRunError, OutputExistsError
from maseval.core.outcome import Simulation
from maseval.core.report import Report
from maseval.core.storage.files import atomic_folder, write_json
from maseval.core.words import count_of
from maseval.runs import RunFolder
from maseval.runs.config import UNTIL

RELEASE = V1_0_1
RULES = f"tau2-bench v{RELEASE.name}"
DOMAINS = ("airline", "retail", "telecom", "banking_knowledge")
SPLIT = "base"
MOST_K = 4
TYPES = ("standard", "custom")

_FEW = 5
_REQUIRED = ("model_name", "model_organization", "submitting_organization", "email")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class SubmittedDomain:
    """One domain of a run, as it is submitted to the leaderboard."""

    def __init__(self, folder: RunFolder, domain: str) -> None:
        self.folder = folder
        self.domain = domain
        self.setup = RecordedSetup.of(folder.config.values)
        self.where = f"{folder.path} ({domain})"
        self.planned = [one for one in folder.planned if one.domain == domain]

    @property
    def user(self) -> str:
        """The model or the script that played the user."""
        return self.setup.user.name or "nobody"

    def reports(self) -> Iterator[Report]:
        """Yield the reports of the domain."""
        every = self.folder.reports()
        return (report for report in every if Simulation.of(report).domain == self.domain)

    @cached_property
    def simulations(self) -> list[dict[str, Any]]:
        """The simulations without their conversations, as the results file will have them."""
        return [_in_brief(report) for report in self.reports()]

    @property
    def without_verdict(self) -> int:
        """The number of simulations without a verdict, infrastructure errors aside."""
        error = TerminationReason.INFRASTRUCTURE_ERROR
        found = (each for each in self.simulations if each["reward_info"] is None)
        return sum(each["termination_reason"] != error for each in found)

    @property
    def metrics(self) -> RunMetrics:
        """The metrics in the leaderboard's convention: an infrastructure error is a failure."""
        return compute_run_metrics(self.simulations, self.setup.trials, "leaderboard")

    def results(self) -> dict[str, float]:
        """Return pass^k in percent, and the mean cost of the agent where it is known."""
        found = self.metrics
        shares = found["pass_hat_ks"].items()
        percent = {f"pass_{k}": round(100 * value, 2) for k, value in shares if k <= MOST_K}
        cost = found["avg_agent_cost"]
        known = unpriced_models(self.folder.config.values) == [] and cost > 0
        return {**percent, "cost": round(cost, 4)} if known else percent

    def deviations(self) -> Iterator[str]:
        """Yield the differences from the reference agent under the benchmark's conditions."""
        agent, mode = self.setup.agent, self.setup.mode or "normal"
        if player := agent.player or agent.rehearse:
            yield f"the agent is scripted ({player})"
        elif agent.function:
            yield f"the agent is {agent.function}, not the reference agent"
        if self.setup.user.model is None:
            yield f"the user is not played by a model ({self.user})"
        if mode != "normal":
            yield f"the mode is {mode}"
        if self.has_other_texts:
            yield "models read other texts than the benchmark's"
        if policy := agent.model_args.get("reasoning_policy"):
            yield f"the agent's model is sent its own reasoning by the policy {policy}"

    @property
    def is_comparable(self) -> bool:
        """True if its tasks can be compared with those of the release at all."""
        return self.setup.rules == RULES and self.domain in {*DOMAINS} & {*RELEASE.domains}

    @property
    def scripted_agent(self) -> str | None:
        """The name of the script that played the agent, or its model; None if none did."""
        agent = self.setup.agent
        model = agent.model if str(agent.model).startswith("scripted/") else None
        return agent.player or agent.rehearse or model

    @property
    def has_other_texts(self) -> bool:
        """True if the prompts were not the original's."""
        return self.setup.texts not in (None, "original") or self.setup.agent.prompt is not None


def _in_brief(report: Report) -> dict[str, Any]:
    found = simulation_of(report)
    simulation = infrastructure_error(report) if isinstance(found, Omitted) else found
    keys = ("task_id", "trial", "termination_reason", "reward_info", "agent_cost", "start_time")
    return {key: (simulation or {}).get(key) for key in keys}


class BrokenRule(NamedTuple):
    """A rule of the leaderboard, what breaks it, and what to do."""

    rule: str
    what: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}; {self.way_out}"


class SubmissionRefusedError(ConfigurationError):
    """The runs or the details break rules of the leaderboard; ``broken`` lists all of them."""

    def __init__(self, broken: Sequence[BrokenRule]) -> None:
        listed = "\n".join(f"  {each}" for each in broken)
        super().__init__(f"nothing is written; broken rules of the leaderboard:\n{listed}")
        self.broken = broken


def broken_rules(
    entries: Sequence[SubmittedDomain], options: SubmitOptions
) -> Iterator[BrokenRule]:
    """Yield every rule that the details, a run, or all of them together break."""
    yield from _check_details(options)
    for entry in entries:
        if subset := entry.folder.config.subset:
            what = f"{entry.where} covers selected tasks only ({subset}), so it is not a score"
            yield BrokenRule("estimate", what, "run all tasks")
        if UNTIL in entry.folder.config.values:
            what = (
                f"{entry.where} stopped once its question was answered, so its size was not fixed"
            )
            yield BrokenRule("fixed size", what, "run without --until")
        yield from _check_release(entry)
        if entry.is_comparable:
            yield from _check_tasks(entry)
            if lacking := entry.without_verdict:
                what = f"{entry.where} has {count_of(lacking, 'simulation')} without a verdict"
                yield BrokenRule("verdicts", what, "judge them: run it with --judge-model")
        if entry.setup.mode == "oracle-plan":
            what = f"in {entry.where} the agent was shown the solution (mode oracle-plan)"
            yield BrokenRule("conditions", what, "run it in mode normal")
        elif options.submission_type == "standard":
            for deviation in entry.deviations():
                what = f"in {entry.where} {deviation}, which is not standard"
                yield BrokenRule("conditions", what, "submit it with --submission-type custom")
    yield from _check_together(entries)


def _check_details(options: SubmitOptions) -> Iterator[BrokenRule]:
    for name in _REQUIRED:
        if not (getattr(options, name) or "").strip():
            yield BrokenRule("details", f"{name} is missing", f"give --{name.replace('_', '-')}")
    if options.email and not _EMAIL.fullmatch(options.email.strip()):
        yield BrokenRule("details", f"email is {options.email!r}", "give an address like a@b.org")
    if options.submission_type not in (None, *TYPES):
        what = f"submission_type is {options.submission_type!r}"
        yield BrokenRule("details", what, f"choose one of: {', '.join(TYPES)}")
    try:
        usual = options.date and date.fromisoformat(options.date).isoformat()
    except ValueError:
        usual = None
    if usual != options.date:
        yield BrokenRule("details", f"date is {options.date!r}", "give it like 2026-07-31")


def _check_release(entry: SubmittedDomain) -> Iterator[BrokenRule]:
    if entry.setup.rules != RULES:
        again = f"run it with --data-version {RELEASE.version}"
        yield BrokenRule("release", f"{entry.where} was run by {entry.setup.rules}", again)
    if entry.domain not in DOMAINS:
        listed = ", ".join(DOMAINS)
        yield BrokenRule("domain", f"{entry.where} is not on the leaderboard", f"it has {listed}")
    elif entry.is_comparable:
        published = data_fingerprint(entry.domain, version=RELEASE)
        if entry.setup.data.get(entry.domain) != published:
            what = f"{entry.where} was run with other data than that of {RELEASE.version}"
            yield BrokenRule("data", what, "run it again with the published files")


def _check_tasks(entry: SubmittedDomain) -> Iterator[BrokenRule]:
    """Check that the tasks are the base tasks, each as often as the run says."""
    base = [str(task["id"]) for task in load_raw_tasks(entry.domain, SPLIT, version=RELEASE)]
    planned = list(dict.fromkeys(one.task_id for one in entry.planned))
    whole = f"{len(base)} {SPLIT} tasks"
    if absent := [task for task in base if task not in planned]:
        what = f"{entry.where} lacks {len(absent)} of the {whole} ({_few(absent)})"
        yield BrokenRule("tasks", what, "run all of them, without --task-id or --num-tasks")
    if foreign := [task for task in planned if task not in base]:
        what = f"{entry.where} has {len(foreign)} that are not among the {whole} ({_few(foreign)})"
        yield BrokenRule("tasks", what, f"run --split {SPLIT}")
    held = Counter(str(each["task_id"]) for each in entry.simulations)
    if odd := [task for task in planned if held[task] != entry.setup.trials]:
        missing = sum(max(0, entry.setup.trials - held[task]) for task in odd)
        what = f"{entry.where} does not have {count_of(entry.setup.trials, 'trial')} of each task"
        text = f"{what}: {missing} are missing ({_few(odd)})"
        yield BrokenRule("trials", text, f"resume it with --output {entry.folder.path}")


def _few(names: Sequence[str]) -> str:
    more = f", and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


def _check_together(entries: Sequence[SubmittedDomain]) -> Iterator[BrokenRule]:
    """Check that it is one agent, against one user, with each domain once."""
    for domain, number in Counter(entry.domain for entry in entries).items():
        if number > 1:
            yield BrokenRule("domain", f"{number} runs hold {domain}", "name one run of it")
    for side in ("agent", "user"):
        if len({str(entry.folder.config.values.get(side)) for entry in entries}) > 1:
            what = f"the runs have different configurations of the {side}"
            yield BrokenRule("one system", what, "submit them separately")


def export(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> list[ExportSummary]:
    """Write one results file for each domain of a run, by default into the run's folder.

    ``output`` is the file for a run of one domain, and the folder for one of several.
    """
    folder = open_run(run, TAU2)
    if RecordedSetup.of(folder.config.values).judge == RULE:
        raise ConfigurationError(
            f"the verdicts of {folder.path} are those of a rule, not the official ones, which the "
            "form cannot say; run it with --judge-model MODEL"
        )
    domains = list(dict.fromkeys(simulation.domain for simulation in folder.recorded))
    if not domains:
        raise NotRunError(f"{folder.path} has no finished simulation yet; nothing to export")
    target = None if output is None else Path(output)
    subset, stopped = folder.config.subset, folder.config.stopped
    return [
        export_results(
            (folder.report(one) for one in folder.recorded if one.domain == domain),
            _file(target or folder.path, domain, alone=target is not None and len(domains) == 1),
            domain=domain,
            overwrite=overwrite,
        )._replace(subset=subset, stopped=None if stopped is None else stopped.note)
        for domain in domains
    ]


def export_with_notes(
    run: str | os.PathLike[str], output: Path | None, *, overwrite: bool
) -> list[ExportedPath]:
    """Write the results files, and say of each what must be known about it."""
    found = []
    for each in export(run, output, overwrite=overwrite):
        notes = [*filter(None, (each.subset and each.subset.note, each.stopped))]
        if each.omitted:
            notes.append(
                f"{count_of(len(each.omitted), 'simulation')} of {each.domain} ended in a way "
                f"that v0.2.0 cannot represent, listed in {each.omitted_path}"
            )
        found.append(ExportedPath(each.path, notes))
    return found


def _file(target: Path, domain: str, *, alone: bool) -> Path:
    return target if alone and not target.is_dir() else target / f"tau2-{domain}.json"


SUBMISSION_NAME = "submission.json"
TRAJECTORIES_NAME = "trajectories"


@dataclass(frozen=True)
class WrittenSubmission:
    """A submission on disk: its folder, the content of ``submission.json``, and notes on it."""

    folder: Path
    content: dict[str, Any]
    files: Sequence[Path]
    notes: Sequence[str]

    def to_dict(self) -> dict[str, object]:
        return {
            "folder": str(self.folder),
            "files": [str(file) for file in self.files],
            "submission": self.content,
            "notes": list(self.notes),
        }


@takes(SubmitOptions)
def submit(options: SubmitOptions) -> WrittenSubmission:
    """Write runs as a submission to the leaderboard, after checking all of its rules.

    Raises ``SubmissionRefusedError``, which lists every broken rule. The folder appears whole or
    not at all.
    """
    target = Path(options.output)

    def check() -> None:
        if target.exists():
            raise OutputExistsError(f"{target} already exists; give the path of a new folder")

    check()
    entries = _entries(options)
    broken = [*broken_rules(entries, options)]
    broken += _check_recomputed(entries) if not broken else []
    if broken:
        raise SubmissionRefusedError(broken)
    content = _content(entries, options)
    files = {f"{TRAJECTORIES_NAME}/{_file_name(options, entry)}": entry for entry in entries}
    with atomic_folder(target, check) as folder:
        for name, entry in files.items():
            info = {"num_trials": entry.setup.trials}
            export_results(entry.reports(), folder / name, domain=entry.domain, info=info)
        write_json(folder / SUBMISSION_NAME, content)
    return WrittenSubmission(target, content, [target / name for name in files], _notes(entries))


def _entries(options: SubmitOptions) -> list[SubmittedDomain]:
    if not options.runs:
        raise ConfigurationError("no run is given; name one or more, such as runs/mine or last")
    folders = [open_run(run, TAU2) for run in options.runs]
    return [
        SubmittedDomain(folder, domain)
        for folder in folders
        for domain in dict.fromkeys(one.domain for one in folder.planned)
    ]


def _check_recomputed(entries: Sequence[SubmittedDomain]) -> list[BrokenRule]:
    """Return a broken rule for each run whose recorded verdicts do not come out again."""
    paths = dict.fromkeys(entry.folder.path for entry in entries)
    return [
        BrokenRule(
            "verdicts",
            f"{found.path}: not confirmed: "
            f"{count_of(len(found.disagreements), 'recorded verdict')}",
            f"look at `maseval score {found.path}`",
        )
        for found in score(list(paths))
        if found.disagreements
    ]


def _content(entries: Sequence[SubmittedDomain], options: SubmitOptions) -> dict[str, Any]:
    deviations = list(dict.fromkeys(each for entry in entries for each in entry.deviations()))
    days = (str(each["start_time"])[:10] for entry in entries for each in entry.simulations)
    standard, custom = TYPES
    contact = {"email": options.email, "name": options.contact_name, "github": options.github}
    return {
        "model_name": options.model_name,
        "model_organization": options.model_organization,
        "submitting_organization": options.submitting_organization,
        "submission_date": options.date or date.today().isoformat(),
        "submission_type": options.submission_type or (custom if deviations else standard),
        "modality": "text",
        "contact_info": {key: value for key, value in contact.items() if value},
        "trajectories_available": True,
        "results": {entry.domain: entry.results() for entry in entries},
        "methodology": {
            "evaluation_date": max(days),
            "tau2_bench_version": RELEASE.version,
            "user_simulator": entries[0].user,
            "notes": options.notes,
            "verification": {
                "modified_prompts": any(entry.has_other_texts for entry in entries),
                "omitted_questions": False,
                "details": "; ".join(["run and scored with maseval", *deviations]),
            },
        },
    }


def _file_name(options: SubmitOptions, entry: SubmittedDomain) -> str:
    words = (options.model_name or "", entry.domain, entry.user.rpartition("/")[2])
    kept = ("".join(c if c.isalnum() or c in ".-" else "-" for c in word) for word in words)
    return f"{'_'.join(kept)}_{entry.setup.trials}trials.json"


def _notes(entries: Sequence[SubmittedDomain]) -> list[str]:
    scripted = dict.fromkeys(entry.scripted_agent for entry in entries if entry.scripted_agent)
    notes = [
        f"the agent is scripted ({name}), not a real system: this shows what a "
        "submission looks like, and is not an entry for a leaderboard"
        for name in scripted
    ]
    for entry in entries:
        if errors := entry.metrics["infra_error_count"]:
            notes.append(
                f"{entry.domain}: {count_of(errors, 'infrastructure error')} counted as failure; "
                f"resuming the run with --output {entry.folder.path} tries again"
            )
    return notes
