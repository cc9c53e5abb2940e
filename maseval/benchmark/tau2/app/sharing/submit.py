"""``maseval tau2 submit``: runs in the form of the public leaderboard's submissions."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from maseval.app.benchmarks import ExportedPath
from maseval.app.results.finding import open_run
from maseval.app.running.options import takes
from maseval.benchmark.tau2.app.results.recorded_setup import TAU2
from maseval.benchmark.tau2.app.results.score import score
from maseval.benchmark.tau2.app.running.options import SubmitOptions
from maseval.benchmark.tau2.app.sharing.leaderboard import (
    RELEASE,
    TYPES,
    BrokenRule,
    SubmissionRefusedError,
    SubmittedDomain,
    broken_rules,
)
from maseval.benchmark.tau2.results import ExportSummary, export_results
from maseval.core.exceptions import ConfigurationError, NotRunError, OutputExistsError
from maseval.core.storage.files import write_json
from maseval.core.words import count_of


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
    if target.exists():
        raise OutputExistsError(f"{target} already exists; give the path of a new folder")
    entries = _entries(options)
    broken = [*broken_rules(entries, options)]
    broken += _check_recomputed(entries) if not broken else []
    if broken:
        raise SubmissionRefusedError(broken)
    content = _content(entries, options)
    names = [_file_name(options, entry) for entry in entries]
    _write(target, content, entries, names)
    files = [target / TRAJECTORIES_NAME / name for name in names]
    return WrittenSubmission(target, content, files, _notes(entries))


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


def _write(
    target: Path, content: dict[str, Any], entries: Sequence[SubmittedDomain], names: Sequence[str]
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        folder = Path(name) / target.name
        for entry, file in zip(entries, names, strict=True):
            info = {"num_trials": entry.setup.trials}
            path = folder / TRAJECTORIES_NAME / file
            export_results(entry.reports(), path, domain=entry.domain, info=info)
        write_json(folder / SUBMISSION_NAME, content)
        folder.rename(target)


def _notes(entries: Sequence[SubmittedDomain]) -> list[str]:
    scripted = dict.fromkeys(entry.scripted_agent for entry in entries if entry.scripted_agent)
    return [
        *(
            f"the agent is scripted ({name}), not a real system: this shows what a "
            "submission looks like, and is not an entry for a leaderboard"
            for name in scripted
        ),
        *_notes_on_errors(entries),
    ]


def _notes_on_errors(entries: Sequence[SubmittedDomain]) -> list[str]:
    return [
        f"{entry.domain}: {count_of(errors, 'infrastructure error')} counted as failure; resuming "
        f"the run with --output {entry.folder.path} tries again"
        for entry in entries
        if (errors := entry.metrics["infra_error_count"])
    ]
