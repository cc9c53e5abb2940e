"""Recordings as commands read them: the list of runs, their tags, and facts about each."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from maseval.core.agent import HUMAN
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import mapping
from maseval.core.storage.files import path_about
from maseval.core.words import count_of, money, text_or_none
from maseval.runs import (
    Annotations,
    RunState,
    change_note,
    change_tags,
    list_runs,
    read_annotations,
)
from maseval.runs.config_file import LOCK
from maseval.runs.lock import holder_of
from maseval.runs.recording import Recording


def name_of(recording: Recording) -> str:
    """Return the name of the folder, or of the file without its suffix."""
    path = recording.path
    return path.name if path.is_dir() else path.stem


def judging_in_words(recording: Recording) -> str | None:
    """Count what judges were asked about a run, and what it cost; None if nothing was.

    Unlike the reports of a run, this has what was asked afterwards, and what a kill interrupted.
    """
    path = path_about(recording.path, "judgements.jsonl")
    if not path.is_file():
        return None
    from maseval.core.judge_record import JudgeRecord  # loads what few runs need

    record = JudgeRecord(path)
    # A line for each request that was paid, and a judgement for each question.
    lines, ends = record.lines(), list(record.judgements())
    cost, tokens = (sum(e.usage.get(key) or 0 for e in lines) for key in ("cost", "total_tokens"))
    open_ends = sum(end.answer is None for end in ends)
    failed = sum(line.unanswered for line in lines)
    parts = [
        count_of(sum(end.answer is not None for end in ends), "judgement"),
        *([f"{open_ends} undecided"] if open_ends else []),
        *([count_of(failed, "failed request")] if failed else []),
        f"{tokens:,} tokens",
        *([money(cost)] if cost else []),
    ]
    who = dict.fromkeys(str(line.judge.get("model")) for line in lines)
    return f"Judged by {', '.join(who)}: {', '.join(parts)}" if lines else None


def notes_on(recording: Recording) -> list[str]:
    """Return notes on how the verdicts of a results file came about, or on damage to a folder."""
    return list(getattr(recording, "notes", ()))


_AT_FAULT = {
    "provider_error": "the provider",
    "quota_exhausted": "the account at the provider",
    "content_filtered": "the provider's filter",
    "user_error": "the simulated user",
    "environment_error": "the environment",
    "setup_failed": "the benchmark's setup",
    "evaluation_failed": "the evaluation",
    "judge_undecided": "the judge",
    "task_timeout": "the time limit",
    "machine_error": "this machine's memory, disk or limits",
    "worker_died": "the worker process",
    "missing": "no record",
}


def resume_note(recording: Recording, missing: Mapping[str, int]) -> str | None:
    """Say who is at fault for verdicts that are ``missing``, by reason, and how to get them.

    None for a run that has them all or is running, and for a file, which nobody can resume.
    """
    path = recording.path
    if not missing or not path.is_dir() or holder_of(path / LOCK) is not None:
        return None
    reasons = (
        f"{count} {reason} ({_AT_FAULT.get(reason, 'cause unknown')})"
        for reason, count in missing.items()
    )
    return (
        f"No verdict, and not held against the agent: {', '.join(reasons)}. To get the missing "
        f"verdicts, repeat the command that began the run, with --output {_from_here(path)}: it "
        "resumes."
    )


def _from_here(path: Path) -> Path:
    """Return a path as a command takes it: relative to the current folder where it lies below."""
    whole, folder = Path(os.path.abspath(path)), Path.cwd()
    return whole.relative_to(folder) if whole.is_relative_to(folder) else path


def first_obstacle(recording: Recording) -> str | None:
    """Say why a run without any verdict has none, by the error of its first simulation."""
    errors = (RecordedReport(report).error for report in recording.reports())
    first = next(filter(None, errors), None)
    if first is None:
        return None
    return f"No simulation has a verdict. The first ended with {first.type}: {first.message}"


_SIDES = {"agent": "agent", "user": "customer"}


def human_sides(config: Mapping[str, object]) -> list[str]:
    """List the sides that a person played, who must not be taken for a model."""
    return [
        who
        for side, who in _SIDES.items()
        if HUMAN in (mapping(config, side).get(key) for key in ("player", "model"))
    ]


def warnings_on(config: Mapping[str, object]) -> Iterator[str]:
    """Yield what must accompany the numbers of a run: no model was measured, a person took part."""
    from maseval.app.benchmarks import support_by_name  # help must not load it

    if player := mapping(config, "agent").get("rehearse"):
        yield f"A rehearsal: the agent's model was played by {player}."
    for who in human_sides(config):
        yield f"Human: a person played the {who}."
    yield from support_by_name(config.get("benchmark")).warnings(config)


def facts_of(config: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return what a page says of a run by its configuration: subject, command, origin and seed."""
    facts = {
        "Evaluated": evaluated_in_words(config),
        "Command": config.get("command"),
        "Origin": origin_in_words(config),
        "Only what failed in": config.get("failed_of"),
        "Seed": config.get("seed"),
    }
    return [(name, str(value)) for name, value in facts.items() if value not in (None, "")]


def evaluated_in_words(config: Mapping[str, object]) -> str | None:
    """Name what a run evaluates: a model, an agent of one's own, or what played in their place.

    None if the configuration does not say, as that of a benchmark that sets up its own agents.
    """
    agent = config.get("agent")
    if isinstance(agent, str):
        return agent or None
    given = mapping(config, "agent")
    parts = [text_or_none(given.get(key)) for key in ("function", "model", "rehearse", "player")]
    function, model, rehearsed, player = parts
    if HUMAN in (player, model):
        return "A person"
    if player:
        return f"The scripted agent {player}"
    if rehearsed:
        return f"The rehearsal of {function} with the scripted model {rehearsed}"
    # A provider is where a model was asked, and no part of what it is.
    known = model and (model.partition("/")[2] or model)
    return f"{known} with {function}" if known and function else known or function


ORIGIN = "origin"
"""The key of a run's configuration that names the simulation it continues."""


def origin_in_words(config: Mapping[str, object]) -> str | None:
    """Describe the simulation that a run continues; None if it continues none."""
    origin = mapping(config, ORIGIN)
    if not origin:
        return None
    return (
        f"{origin.get('run')}, {origin.get('task')}, trial {origin.get('trial')}, "
        f"after message {origin.get('at')}"
    )


def runs(root: str | os.PathLike[str] | None = None, tags: Sequence[str] = ()) -> list[RunState]:
    """List the runs below ``root`` (default ``./runs``), the latest first.

    With ``tags`` only the runs that have all of them.
    """
    return [state for state in list_runs(root) if set(tags) <= set(state.annotations.tags)]


def tag(
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    *,
    note: str | None = None,
) -> dict[Path, Annotations]:
    """Add tags to runs, remove others, replace their note; return what each run has now.

    A run is named by its folder, its name or ``last``; results files may be tagged, too. An empty
    ``note`` removes the one that is there.
    """
    from maseval.app.results.names import each_of, run_or_file_path  # a list needs no benchmark

    paths = [run_or_file_path(run) for run in each_of(runs)]  # all of them, before any is changed
    # What cannot be a tag or a note is refused before anything is written.
    Annotations().with_tags(add, remove).with_note(note)
    for path in paths:
        if add or remove:
            change_tags(path, add, remove)
        if note is not None:
            change_note(path, note or None)
    return {path: read_annotations(path) for path in paths}
