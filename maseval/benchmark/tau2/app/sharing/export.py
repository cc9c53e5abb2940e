"""``maseval export``: a run as results files of the original, or its conversations in ATIF."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from maseval.app.benchmarks import ExportedPath, warn_once
from maseval.app.results.names import open_run
from maseval.app.sharing.export import conversation_of
from maseval.benchmark.tau2.app.results.sources import FileRecording
from maseval.benchmark.tau2.app.results.support import TAU2, RecordedSetup
from maseval.benchmark.tau2.rescoring.tasks import policies
from maseval.benchmark.tau2.results import ExportSummary, Omitted, export_results
from maseval.benchmark.tau2.results.recorded import FILED
from maseval.benchmark.tau2.results.writing import Tau2Report
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.benchmark.tau2.wording import wording_of
from maseval.core.exceptions import ConfigurationError, MASEvalError, NotRunError
from maseval.core.perturbation import PERTURB, mark_of_perturbation
from maseval.core.recorded import Shape, entries, mapping
from maseval.core.words import count_of, text_or_none
from maseval.exchange.atif_writing import Conversation
from maseval.runs.recording import Recording


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
    subset, stopped = folder.config.subset, folder.config.stopped
    found = []
    for domain in domains:
        target = folder.path if output is None else Path(output)
        if output is None or len(domains) > 1 or target.is_dir():
            target /= f"tau2-{domain}.json"
        reports = (folder.report(one) for one in folder.recorded if one.domain == domain)
        written = export_results(reports, target, domain=domain, overwrite=overwrite)
        found.append(
            written._replace(
                subset=subset,
                stopped=stopped.note if stopped else None,
                perturbed=mark_of_perturbation(folder.config.values),
            )
        )
    return found


def export_with_notes(
    run: str | os.PathLike[str], output: Path | None, *, overwrite: bool
) -> list[ExportedPath]:
    """Write the results files, and say of each what must be known about it."""
    found = []
    for each in export(run, output, overwrite=overwrite):
        marks = (each.subset and each.subset.note, each.stopped, each.perturbed)
        notes = [*filter(None, marks)]
        if each.omitted:
            notes.append(
                f"{count_of(len(each.omitted), 'simulation')} of {each.domain} ended in a way "
                f"that v0.2.0 cannot represent, listed in {each.omitted_path}"
            )
        found.append(ExportedPath(each.path, notes))
    return found


_REFERENCE_AGENT = "default_agent"


def conversations(recording: Recording) -> Iterator[Conversation]:
    """Yield every recorded conversation, of a results file as it stands there."""
    if isinstance(recording, FileRecording):
        yield from _of_file(recording)
        return
    setup = RecordedSetup.of(recording.config.values)
    for report in recording.reports():
        found = _of_report(Tau2Report(report), setup)
        perturb = recording.config.values.get(PERTURB)
        yield replace(found, told={**found.told, PERTURB: perturb})


def _of_file(run: FileRecording) -> Iterator[Conversation]:
    file, asked, setup = run.file, run.options, RecordedSetup.of_file(run.file)
    environment = mapping(file.raw_info, "environment_info")
    for raw in file.reports(lambda error: warn_once(f"left out: {error}")):
        if mapping(raw, FILED).get("problem"):
            continue
        report = Tau2Report(raw)
        verdict = report.recorded_verdict or None
        simulation: dict[str, Any] = {**report.conversation, "reward_info": verdict}
        yield Conversation(
            simulation,
            {
                "domain": asked.domain or text_or_none(report.settings.get("domain")),
                "version": asked.data_version
                or report.settings.get("version")
                or file.claims.version,
                "solo": report.solo,
                "lenient": report.lenient or None,
                PERTURB: file.claims.perturb,
                "user_model": setup.user.model,
            },
            {
                "name": setup.agent.player,
                "model_name": setup.agent.model,
                "tool_definitions": entries(environment.get("tool_defs")) or None,
            },
            # Where the policy depends on the task, each simulation has its own.
            prompt=text_or_none(simulation.get("policy") or environment.get("policy")),
        )


def _of_report(report: Tau2Report, setup: RecordedSetup) -> Conversation:
    """Return the conversation of a report; one that its release has no word for is kept as it is.

    The prompt is that of the reference agent; any other agent was given the policy.
    """
    simulation: Shape | Omitted = report.form
    if isinstance(simulation, Omitted):
        simulation = {
            **report.simulation.raw,
            "task_id": report.task_id,
            "trial": report.trial,
            "seed": report.seed,
        }
    prompt, tools = _briefing(report, setup)
    found = conversation_of(report)
    agent = {**found.agent, "tool_definitions": tools or None}
    told = {
        **found.told,
        "version": report.release.name,
        "solo": report.solo,
        "lenient": report.lenient or None,
    }
    return replace(found, record=simulation, told=told, agent=agent, prompt=prompt)


def _briefing(report: Tau2Report, setup: RecordedSetup) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the prompt and the tools of the agent, if they are still those of the run."""
    with suppress(MASEvalError):
        # A policy that has changed since is not the one that the agent was given.
        wanted = report.settings.get("policy_sha256")
        policy = next(
            (p for p in policies(report.world) if sha256(p.encode()).hexdigest() == wanted), None
        )
        wording = wording_of("ours" if report.texts.get("name") == "ours" else None, report.release)
        # Tools would be described in other words than those that the agent read.
        if report.texts and wording.sha256 != report.texts.get("sha256"):
            return policy, []
        kit, names = report.world.toolkit, entries(report.settings.get("tool_names"))
        definitions = wording.tools(kit.definitions(), report.world.folder_name)
        tools = [each for each in definitions if each["function"]["name"] in names]
        if policy is None or report.solo or _REFERENCE_AGENT not in report.agents:
            return policy, tools
        if setup.agent.prompt is not None:
            return setup.agent.prompt.replace("{policy}", policy), tools
        return wording.agent_prompt(policy), tools
    return None, []
