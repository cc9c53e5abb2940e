"""``maseval export --format``: a run as files that other programs read."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from maseval.app.benchmarks import ExportedPath, all_support, support_for
from maseval.app.results.names import open_recording, warn_of_damage
from maseval.app.results.recording import name_of
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.outcome import RecordedReport
from maseval.core.report_parts import RecordedSoftware
from maseval.core.scoring_options import ScoringOptions
from maseval.core.storage import strict_json
from maseval.core.storage.files import atomic_file, atomic_folder, check_free
from maseval.exchange.atif_writing import Conversation, trajectory_of
from maseval.runs.recording import Recording

ATIF, EEE = "atif", "eee"


def export_formats() -> list[str]:
    """Return the names of the forms that are written, beside tables."""
    return [ATIF, EEE, *(each.exports for each in all_support() if each.exports)]


def export(
    run: str | os.PathLike[str],
    form: str,
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    single: bool = False,
    options: ScoringOptions | None = None,
) -> Sequence[ExportedPath]:
    """Write a run as ``atif``, ``eee``, or the files of its original benchmark (``tau2-bench``).

    ``single`` writes all trajectories of ATIF into one file, one on each line. With ``options``
    that name their tasks, trajectories of other programs are written so that they name them.
    """
    target = None if output is None else Path(output)
    if single and form != ATIF:
        raise ConfigurationError(f"single is for the form {ATIF!r}, but form is {form!r}")
    if form == ATIF:
        return [_write_trajectories(_open(run, options), target, overwrite, single)]
    if form == EEE:
        from maseval.app.sharing.every_eval_ever import write_results  # loads statistics

        return [write_results(_open(run, options), target, overwrite)]
    if options not in (None, ScoringOptions()):
        raise ConfigurationError(f"{form} is written as recorded; leave the scoring options out")
    for each in all_support():
        if each.exports == form:
            return each.export(run, target, overwrite=overwrite)
    raise ConfigurationError(f"form is {form!r}; give one of {', '.join(export_formats())}")


def _open(run: str | os.PathLike[str], options: ScoringOptions | None) -> Recording:
    recording = open_recording(run, options)
    warn_of_damage(recording)
    return recording


def _write_trajectories(
    recording: Recording, output: Path | None, overwrite: bool, single: bool
) -> ExportedPath:
    target = output or Path(f"{name_of(recording)}.{ATIF}{'.jsonl' if single else ''}")
    check_free(target, overwrite)
    every = _trajectories(recording)
    # Before any file is made: a run without simulations leaves none behind.
    first = next(every, None)
    if first is None:
        raise NotRunError(f"{recording.path} has no finished simulation yet; nothing to export")
    changed = 0
    if single:
        with atomic_file(target) as file:
            for _, text, notes in chain([first], every):
                file.write(f"{text}\n".encode("ascii"))
                changed += bool(notes)
    else:
        with atomic_folder(target, lambda: check_free(target, overwrite)) as folder:
            for name, text, notes in chain([first], every):
                (folder / f"{name}.atif.json").write_text(f"{text}\n", encoding="ascii")
                changed += bool(notes)
    words = f"{changed} of the trajectories hold what ATIF cannot say; see their notes"
    return ExportedPath(target, [words] if changed else [])


def _trajectories(recording: Recording) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each trajectory with the name of its file and what was changed in it."""
    own = support_for(recording).conversations(recording)
    every = map(conversation_of, map(RecordedReport, recording.reports())) if own is None else own
    for number, conversation in enumerate(every):
        record = conversation.record
        trajectory, notes = trajectory_of(conversation)
        # An id may hold anything, and be longer than a file system lets a name be.
        task = re.sub(r"[^A-Za-z0-9_.-]+", "-", str(record.get("task_id")))[:60].strip("-.")
        name = f"{number:05}-{task}-{record.get('trial') or 0}"
        yield name, strict_json.dumps(trajectory), notes


def conversation_of(report: RecordedReport) -> Conversation:
    """Return the conversation of any benchmark's report, with the members of a team."""
    said = [(message.raw, agent) for agent, message in report.said()]
    record = {
        "id": "/".join(filter(None, (report.run_id, *map(str, report.key)))),
        "task_id": report.task_id,
        "trial": report.trial,
        "seed": report.seed,
        "start_time": report.started_at,
        "duration": report.seconds,
        "termination_reason": report.termination,
        "messages": [raw if agent is None else {**raw, "agent": agent} for raw, agent in said],
        "evaluation": report.evaluations[0].raw if report.evaluations else None,
    }
    user = report.user.model_id or report.models_of("user")
    told = {"domain": report.domain or None, "status": report.status, "user_model": user}
    models = [each.model_id for each in report.agents.values() if each.model_id]
    agent = {
        "name": next(iter(report.agents), None),
        "version": RecordedSoftware(report.benchmark).packages.get("maseval"),
        "model_name": ", ".join(dict.fromkeys(models)) or report.models_of("agent"),
    }
    mine = [each for each in report.usage if each.role == "agent"]
    used = {
        "prompt_tokens": int(sum(each.input_tokens or 0 for each in mine)) or None,
        "completion_tokens": int(sum(each.output_tokens or 0 for each in mine)) or None,
        "cost_usd": report.cost,
    }
    own = {
        name: report.traced_agents[name].messages
        for name in report.team
        if name in report.traced_agents
    }
    members = {name: [message.raw for message in said] for name, said in own.items()}
    return Conversation(record, told, agent, members=members, used=used)
