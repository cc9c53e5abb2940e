"""Tau2Support: labels, explanations, timelines and results files for commands that take any run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maseval.app.benchmarks import (
    BenchmarkSupport,
    Diagnosis,
    OnScored,
    RecordedOutcomes,
)
from maseval.app.results.clean import PolicyCheck
from maseval.app.results.counting import ConventionScore
from maseval.app.results.sound import SoundCheck
from maseval.app.results.user_faults import UserCheck
from maseval.benchmark.tau2.app.results.audit import audit
from maseval.benchmark.tau2.app.results.certify import certify, verify
from maseval.benchmark.tau2.app.results.comply import check_report
from maseval.benchmark.tau2.app.results.explain import FailureDiagnosis, diagnose
from maseval.benchmark.tau2.app.results.outcomes import (
    data_digest,
    differing_data,
    outcomes_of_file,
    outcomes_of_run,
    verdict_checker,
    verdict_obstacle,
)
from maseval.benchmark.tau2.app.results.recorded_setup import RecordedSetup
from maseval.benchmark.tau2.app.results.results_file_run import ResultsFileRun
from maseval.benchmark.tau2.app.results.score import conventions_of_lines
from maseval.benchmark.tau2.app.results.sound import check_soundness
from maseval.benchmark.tau2.app.results.users import SCRIPTED, check_user_of_report
from maseval.benchmark.tau2.app.running.options import PlayOptions
from maseval.benchmark.tau2.app.running.tasks import reason_for_call
from maseval.benchmark.tau2.data.files import title_of
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import UnknownDomainError, domain_named
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.errata import errata_for
from maseval.benchmark.tau2.results import has_simulations
from maseval.benchmark.tau2.results.reports import Tau2Report, release_of_report
from maseval.benchmark.tau2.texts.loading import fetching_command
from maseval.benchmark.tau2.texts.original import format_texts_config
from maseval.benchmark.tau2.timeline import Timeline, timeline
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import SimulationLine
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.report.index import TaskFindings
from maseval.runs import RunFolder, Simulation
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictChecker

# The severities of audit findings that may change the meaning of a verdict.
_BADGES = ("error", "warning")


def report_timeline(report: Report) -> Timeline | None:
    """Return the timeline of a simulation, also of one that was cut off; None without messages."""
    parsed = Tau2Report(report)
    if not parsed.simulation.messages:
        return None
    return timeline(
        {**parsed.simulation.raw, "task_id": report["task_id"]},
        parsed.world,
        parsed.judged_by,
        solo=parsed.solo,
        version=parsed.release,
    )


class Tau2Support(BenchmarkSupport):
    """Explains failures, and reads results files of tau2-bench."""

    def diagnosis(self, report: Report) -> FailureDiagnosis | None:
        return diagnose(report)

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

    def policy_check(self, report: Report) -> PolicyCheck | None:
        return check_report(report)

    def sound_check(self, report: Report) -> SoundCheck | None:
        return check_soundness(report)

    def user_check(self, report: Report, diagnosis: Diagnosis | None) -> UserCheck | None:
        found = check_user_of_report(report, diagnosis)
        return None if found is None or found.obstacle == SCRIPTED else found

    def timeline(self, report: Report) -> Timeline | None:
        return report_timeline(report)

    def viewer_features(self, play: object | None = None) -> Sequence[Any]:
        if not isinstance(play, PlayOptions):
            return ()
        from maseval.benchmark.tau2.app.running.play_page import PlayHost  # only to play

        return [PlayHost(play).feature()]

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
        return [
            "Not comparable with published numbers: models read maseval's own texts; "
            f"`{fetching_command(release_named(setup.release).rules.version)}` gets the original's."
        ]

    def conventions(
        self, folder: Recording, lines: Sequence[SimulationLine]
    ) -> list[ConventionScore]:
        return conventions_of_lines(lines, folder.config.values)

    def task_title(self, report: Report) -> str | None:
        domain, task_id, _ = Simulation.of(report)
        try:
            release = release_of_report(report)
            return reason_for_call(load_raw_task(domain, task_id, version=release)) or None
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return None

    def findings(self, folder: Recording) -> TaskFindings:
        wanted = {one[:2] for one in folder.recorded}
        domains = [*dict.fromkeys(domain for domain, _ in wanted)]
        release = release_of_report(next(iter(folder.reports())))
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        try:
            for key in sorted(wanted):
                for each in errata_for(*key, release):
                    words = f"{each.what} Known from: {', '.join(each.known)}."
                    found.setdefault(key, []).append((f"erratum: {each.kind}", words))
            remarks = audit(domains, data_version=release.name).remarks
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return found
        for remark in remarks:
            key = remark.domain, str(remark.task_id)
            if key in wanted and remark.severity in _BADGES:
                words = f"{remark.meaning}: {remark.text}"
                found.setdefault(key, []).append((f"finding: {remark.kind}", words))
        return found

    def verdict_checker(self, folder: Recording) -> VerdictChecker:
        return verdict_checker(folder)

    def verdict_obstacle(self, folder: Recording) -> str | None:
        return verdict_obstacle(folder.config.values)

    def certificate(self, folder: RunFolder) -> str:
        return certify(folder.path, partial=True).certificate.to_json()

    def certificate_differences(self, certificate: Path, folder: RunFolder) -> list[str]:
        return verify(certificate, folder.path).differences

    def other_data(self, folder: RunFolder) -> list[str]:
        return differing_data(folder.config.values)

    def settings(self, folder: RunFolder) -> dict[str, object]:
        config = super().settings(folder)
        data = config.get("data")
        if isinstance(data, Mapping):
            # One word for each domain, so that other data takes one line to report.
            config["data"] = {name: data_digest(each) for name, each in data.items()}
        texts = config.get("texts")
        if isinstance(texts, Mapping):
            config["texts"] = format_texts_config(texts)
        return config

    def holds_results(self, path: Path) -> bool:
        return has_simulations(path)

    def recording(self, path: Path, options: ScoringOptions) -> ResultsFileRun:
        return ResultsFileRun(path, options)

    def recorded_outcomes(
        self, path: Path, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes:
        return outcomes_of_file(path, options, on_progress)

    def run_outcomes(
        self, folder: RunFolder, options: ScoringOptions, on_progress: OnScored | None = None
    ) -> RecordedOutcomes:
        return outcomes_of_run(folder, self.settings(folder), options, on_progress)


SUPPORT = Tau2Support()
