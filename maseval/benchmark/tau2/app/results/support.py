"""Tau2Support: labels, explanations, timelines and results files for commands that take any run."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from maseval.app.benchmarks import BenchmarkSupport
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
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.core.report import Report
from maseval.data.kept import package_fingerprint
from maseval.runs.recording import Recording


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

    findings = _function("app.results.explain", "find_all")
    explanation = _function("app.results.explain", "explanation_of")
    explain = _function("app.results.explain", "explain_trial")
    conduct_notes = _function("app.results.explain", "conduct_notes")
    user_faults = _function("app.results.explain", "user_faults")
    task_findings = _function("app.results.explain", "task_findings")
    timeline = _function("app.results.explain", "timeline_of")
    policies = _function("app.results.outcomes", "policies_of")
    run_outcomes = _function("app.results.outcomes", "run_outcomes")
    verdict_checker = _function("app.results.outcomes", "verdict_checker")
    verdict_obstacle = _function("app.results.outcomes", "verdict_obstacle")
    other_data = _function("app.results.outcomes", "differing_data")
    certificate = _function("app.results.certify", "certificate_of")
    certificate_differences = _function("app.results.certify", "certificate_differences")
    score = _function("app.results.score", "score")
    recording = _function("app.results.results_file_run", "ResultsFileRun")
    results_below = _function("app.results.sources", "results_below")
    holds_results = _function("results", "has_simulations")
    exports = "tau2-bench"
    export = _function("app.sharing.submit", "export_with_notes")

    def settings(self, folder: Recording) -> dict[str, object]:
        from maseval.benchmark.tau2.app.results.outcomes import settings_of_run

        return settings_of_run(super().settings(folder))

    def made(self, folder: Recording) -> bool:
        return any(TAU2 in RecordedReport(report).benchmark for report in folder.reports())

    def domains_without_rules(self, folder: Recording) -> list[str]:
        return [name for name in super().domains_without_rules(folder) if not has_rules(name)]

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

    def task_title(self, report: Report) -> str | None:
        from maseval.benchmark.tau2.data_loader import load_raw_task
        from maseval.benchmark.tau2.results.reports import release_of_report

        domain, task_id, _ = Simulation.of(report)
        try:
            release = release_of_report(report)
            return reason_for_call(load_raw_task(domain, task_id, version=release)) or None
        except MASEvalError:  # the data is elsewhere, or the domain somebody else's
            return None


SUPPORT = Tau2Support()
