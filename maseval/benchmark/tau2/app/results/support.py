"""Tau2Support: labels, explanations, timelines and results files for commands that take any run."""

import hashlib
import marshal
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maseval.app.benchmarks import (
    BenchmarkSupport,
    ExportedPath,
    OnProgress,
    RecordedOutcomes,
    WorldTimeline,
)
from maseval.app.results.explained import VerdictExplanation
from maseval.app.results.variants import (
    IF_UNDECIDED,
    SOUND,
    WITHOUT_BREACHES,
    ConventionScore,
    Variant,
)
from maseval.benchmark.tau2.app.results.conventions import conventions_of_lines
from maseval.benchmark.tau2.app.results.recorded_setup import TAU2, RecordedSetup, memory_path
from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.domains import DOMAINS, UnknownDomainError, domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import Finding
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.core.recorded import entries, mapping
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import count_of
from maseval.data.kept import package_fingerprint
from maseval.runs import RunFolder
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictChecker

if TYPE_CHECKING:  # for pages, and for commands that judge again
    from maseval.app.results.questions import FilesRead
    from maseval.benchmark.tau2.app.results.explain import Explained
    from maseval.benchmark.tau2.app.results.score import FileScore
    from maseval.report.index import TaskFindings


def reason_for_call(raw: Mapping[str, Any]) -> str:
    """Return the reason why the customer of a task calls, in one line; empty if it has none."""
    told = (raw.get("user_scenario") or {}).get("instructions") or {}
    reason = told.get("reason_for_call") if isinstance(told, Mapping) else told
    return " ".join(str(reason or raw.get("ticket") or "").split())


def has_rules(domain: str) -> bool:
    """Return True if the policy of a domain has rules; ours all have, and take time to load."""
    return domain in DOMAINS or bool(domain_named(domain).rules)


class Tau2Support(BenchmarkSupport):
    """Explains failures, and reads results files of tau2-bench.

    Each method loads what it needs: a run whose findings are kept needs next to nothing of it.
    """

    def findings(self, report: Report) -> Sequence[Finding]:
        from maseval.benchmark.tau2.app.results.explain import diagnose
        from maseval.benchmark.tau2.app.results.reviewed import (
            check_report,
            check_soundness,
            check_user_of_report,
        )
        from maseval.benchmark.tau2.review.causes import beside_policy

        found, policy, sound = diagnose(report), check_report(report), check_soundness(report)
        cause = None if found is None else beside_policy(found.cause, policy)
        return [
            *([] if cause is None else [cause]),
            *policy,
            *check_user_of_report(report, cause),
            *([] if sound is None else [sound]),
        ]

    def explanation(self, report: Report) -> VerdictExplanation | None:
        from maseval.benchmark.tau2.app.results.explain import diagnose

        found = diagnose(report)
        return None if found is None else found.explanation

    def made(self, folder: Recording) -> bool:
        return any(TAU2 in RecordedReport(report).benchmark for report in folder.reports())

    def explain(
        self, folder: Recording, task: str, trial: int | None, options: ScoringOptions
    ) -> "Explained":
        from maseval.benchmark.tau2.app.results.explain import explain_trial

        return explain_trial(folder, task, trial, options)

    def domains_without_rules(self, folder: Recording) -> list[str]:
        return [name for name in super().domains_without_rules(folder) if not has_rules(name)]

    def conduct_notes(self, folder: Recording) -> list[str]:
        from maseval.benchmark.tau2.app.results.reviewed import conduct_notes

        return conduct_notes(folder)

    def user_faults(self) -> str:
        from maseval.benchmark.tau2.review.causes.users import LOOKED_FOR

        return LOOKED_FOR

    def score(
        self, files: Sequence[str | os.PathLike[str]], **options: Any
    ) -> "FilesRead[FileScore]":
        from maseval.benchmark.tau2.app.results.score import score

        return score(files, **options)

    def findings_version(self, folder: Recording) -> object:
        fingerprint = package_fingerprint()
        # The code of a domain of one's own can be anywhere; the files of ours have their hashes in
        # the package, and are read with no other content (``maseval.data.folder``).
        names = {one.domain for every in (folder.recorded, folder.planned) for one in every}
        names |= {*RecordedSetup.of(folder.config.values).data}
        if fingerprint is None or not all(name in DOMAINS for name in names):
            return None
        replies = memory_path(folder.path)
        if not replies.is_file():
            return [fingerprint, None]
        from maseval.data.folder import hash_file  # loads what reads archives

        hashed = hash_file(replies)
        return [fingerprint, hashed and hashed.sha256]

    def explanation_obstacle(self, folder: Recording) -> str | None:
        own = RecordedSetup.of(folder.config.values).own_domains
        for name in sorted({one.domain for one in folder.planned}):
            try:
                domain_named(name)
            except UnknownDomainError:
                return (
                    f"failures are not explained, because domain {name!r} is not known here; "
                    f"name its file: --domain {own.get(name) or 'FILE.py:NAME'}"
                )
        return None

    def timeline(self, report: Report) -> WorldTimeline | None:
        from maseval.benchmark.tau2.results.reports import Tau2Report
        from maseval.benchmark.tau2.review.timeline import timeline

        parsed = Tau2Report(report)
        if not entries(parsed.simulation.raw.get("messages")):
            return None
        return timeline(
            {**parsed.simulation.raw, "task_id": report["task_id"]},
            parsed.world,
            parsed.judged_by,
            solo=parsed.solo,
            version=parsed.release,
        )

    def likeness(self, report: Report) -> str | None:
        from maseval.benchmark.tau2.results.reports import Tau2Report

        parsed = Tau2Report(report)
        if not (parsed.is_scripted and parsed.has_scripted_user):
            return None
        messages = entries(parsed.simulation.raw.get("messages"))
        said = [{**mapping(each), "timestamp": None} for each in messages]
        setting = {**parsed.settings, "gathered_at": None}
        where = (parsed.raw.get("task"), report["task_id"], setting, parsed.lenient)
        ended = parsed.simulation.raw.get("termination_reason")
        how = (report["status"], report["error"], report["eval"], parsed.texts, ended)
        content: Any = (where, how, said)
        try:
            return hashlib.sha256(marshal.dumps(content, 2)).hexdigest()
        except ValueError:  # values that are no JSON, of somebody's own
            return None

    def version(self, config: Mapping[str, object]) -> str | None:
        if "rules" not in config and config.get("version"):
            # Results files have only the number.
            return f"tau2-bench {title_of(str(config['version']))}"
        return super().version(config)

    def warnings(self, config: Mapping[str, object]) -> list[str]:
        setup = RecordedSetup.of(config)
        # An agent of the user's own may ask no model, and is then given texts that none reads.
        models = setup.agent.model or setup.user.model or setup.judge
        if setup.texts != "ours" or not models:
            return []
        from maseval.benchmark.tau2.texts.loading import fetching_command

        return [
            "Not comparable with published numbers: models read maseval's own texts; "
            f"`{fetching_command(release_named(setup.release).rules.version)}` gets the original's."
        ]

    def variants(self, folder: Recording) -> Sequence[Variant]:
        for name in {one.domain for one in folder.planned}:
            with suppress(UnknownDomainError):
                if has_rules(name):
                    return [WITHOUT_BREACHES, IF_UNDECIDED, SOUND]
        return [SOUND]

    def user_model(self, config: Mapping[str, object]) -> str | None:
        user = RecordedSetup.of(config).user
        # A results file names the model alone, or the implementation if it records no model.
        return user.model or (None if "rules" in config else user.player)

    def conventions(self, folder: Recording, lines: Sequence[Outcome]) -> list[ConventionScore]:
        return conventions_of_lines(lines, folder.config.values)

    def policies(self, folder: Recording) -> Mapping[str, Sequence[str]]:
        from maseval.benchmark.tau2.rescoring.tasks import policies

        release, found = release_named(RecordedSetup.of(folder.config.values).release), {}
        for name in sorted({one.domain for one in folder.planned}):
            with suppress(MASEvalError):  # the data is elsewhere, or the domain somebody else's
                found[name] = policies(release.domain(name))
        return found

    def task_title(self, report: Report) -> str | None:
        from maseval.benchmark.tau2.data_loader import load_raw_task
        from maseval.benchmark.tau2.results.reports import release_of_report

        domain, task_id, _ = Simulation.of(report)
        try:
            release = release_of_report(report)
            return reason_for_call(load_raw_task(domain, task_id, version=release)) or None
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return None

    def task_findings(self, folder: Recording) -> "TaskFindings":
        from maseval.benchmark.tau2.results.reports import Tau2Report
        from maseval.benchmark.tau2.review.errata import errata_for

        wanted = {one[:2]: one for one in folder.recorded}
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        try:
            for key, one in sorted(wanted.items()):
                parsed = Tau2Report(folder.report(one))
                for each in errata_for(*key, parsed.release, parsed.judged_by):
                    words = f"{each.what} Known from: {', '.join(each.known)}."
                    name = f"{'remark' if each.is_remark else 'erratum'}: {each.kind}"
                    found.setdefault(key, []).append((name, words))
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return found
        return found

    def verdict_checker(self, folder: Recording) -> VerdictChecker:
        from maseval.benchmark.tau2.app.results.outcomes import verdict_checker

        return verdict_checker(folder)

    def verdict_obstacle(self, folder: Recording) -> str | None:
        from maseval.benchmark.tau2.app.results.outcomes import verdict_obstacle

        return verdict_obstacle(folder.config.values)

    def certificate(self, folder: RunFolder) -> str:
        from maseval.benchmark.tau2.app.results.certify import certify

        return certify(folder.path, partial=True).certificate.to_json()

    def certificate_differences(self, certificate: Path, folder: RunFolder) -> list[str]:
        from maseval.benchmark.tau2.app.results.certify import verify

        return verify(certificate, folder.path).differences

    def other_data(self, folder: RunFolder) -> list[str]:
        from maseval.benchmark.tau2.app.results.outcomes import differing_data

        return differing_data(folder.config.values)

    def settings(self, folder: Recording) -> dict[str, object]:
        from maseval.benchmark.tau2.app.results.outcomes import settings_of_run

        return settings_of_run(super().settings(folder))

    def holds_results(self, path: Path) -> bool:
        from maseval.benchmark.tau2.results import has_simulations

        return has_simulations(path)

    exports = "tau2-bench"

    def export(
        self, run: str | os.PathLike[str], output: Path | None, *, overwrite: bool
    ) -> list[ExportedPath]:
        from maseval.benchmark.tau2.app.sharing.submit import export

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

    def results_below(self, folder: Path) -> list[Path]:
        from maseval.benchmark.tau2.app.results.sources import results_below

        return results_below(folder)

    def recording(
        self, path: Path, options: ScoringOptions, on_progress: OnProgress | None = None
    ) -> Recording:
        from maseval.benchmark.tau2.app.results.results_file_run import ResultsFileRun

        return ResultsFileRun(path, options, on_progress)

    def run_outcomes(
        self, folder: Recording, options: ScoringOptions, on_progress: OnProgress | None = None
    ) -> RecordedOutcomes:
        from maseval.benchmark.tau2.app.results.outcomes import run_outcomes

        return run_outcomes(folder, self.settings, options, on_progress)


SUPPORT = Tau2Support()
