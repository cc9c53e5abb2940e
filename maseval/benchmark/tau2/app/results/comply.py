"""``maseval tau2 comply``: which rules of the policy recorded conversations broke."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from maseval.app.results.clean import PolicyCheck, PolicyFinding, RunCompliance, run_compliance
from maseval.app.results.examined import examine_run
from maseval.app.results.finding import open_recording
from maseval.app.results.recording import notes_on
from maseval.benchmark.tau2.app.results.recorded_setup import TAU2
from maseval.benchmark.tau2.app.results.sources import Files, FilesRead, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.rescoring.record import RecordItem
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.review.policy import Breach, Compliance, check_case
from maseval.benchmark.tau2.review.policy.rules import Kind, Rule
from maseval.benchmark.tau2.scoring.case import Case, open_case
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictCheck

STATEMENTS = "statements.json"


@dataclass(frozen=True)
class CompliedRun:
    """A run or results file, and which of its simulations kept the policy.

    ``without_rules`` names the domains that have no rules, whose passes cannot be told apart.
    ``check`` compares the recorded verdicts with recomputed ones. ``estimate`` says that the tasks
    were chosen, if they were. ``notes`` say what is wrong with the record.
    """

    path: Path
    compliance: RunCompliance
    without_rules: Sequence[str] = ()
    check: VerdictCheck | None = None
    estimate: str | None = None
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, object]:
        """Return all findings as JSON values."""
        return {
            "path": str(self.path),
            "without_rules": list(self.without_rules),
            "verdicts": None if self.check is None else self.check.note_on_recomputed,
            "estimate": self.estimate,
            "notes": list(self.notes),
            **self.compliance.to_dict(),
        }


def comply(
    files: Files,
    *,
    on_progress: Callable[[int, int], object] | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> FilesRead[CompliedRun]:
    """Check the simulations of runs and results files against the rules of their policy.

    A file that cannot be read does not stop the others; if none can, the first error is raised.
    ``scoring`` are the fields of ``ScoringOptions``.
    """
    found, options = FilesRead[CompliedRun](), ScoringOptions(**scoring)
    found.add_files(files, lambda file: _comply(open_recording(file, options, TAU2), on_progress))
    return found


def _comply(folder: Recording, on_progress: Callable[[int, int], object] | None) -> CompliedRun:
    found = examine_run(folder, ("policy",), on_progress)
    domains = dict.fromkeys(one.domain for one in folder.planned)
    return CompliedRun(
        folder.path,
        found.compliance or run_compliance(found.lines, folder.planned, {}),
        [name for name in domains if not domain_named(name).rules],
        found.check,
        folder.config.subset and folder.config.subset.note,
        notes_on(folder),
    )


def check_report(report: Report) -> PolicyCheck | None:
    """Check one simulation; None if its domain has no rules, or nothing of it was recorded."""
    found = read_report(report)
    if isinstance(found, Omitted):
        return None
    scripted = found.parsed.is_scripted
    return _check(found.parsed.world, lambda: found.case, scripted=scripted)


def check_item(item: RecordItem, task: Mapping[str, object] | None) -> PolicyCheck | None:
    """Check a simulation of a file by the rules of its domain; None if it has none."""
    given = item.simulation, item.domain, task
    return _check(
        item.domain, lambda: open_case(*given, solo=item.solo, version=item.version, graded=True)
    )


def _check(
    domain: Domain, find_case: Callable[[], Case], *, scripted: bool = False
) -> PolicyCheck | None:
    if not domain.rules:
        return None
    try:
        case = find_case()
    except UnknownTaskError as error:
        return PolicyCheck(None, obstacle=str(error))
    return replace(policy_check(check_case(case, scripted=scripted)), state_only=scripted)


def policy_check(found: Compliance) -> PolicyCheck:
    """Return what the rules found, in the form for commands and pages."""
    findings = [_of_breach(each) for each in found.breaches]
    findings += [
        PolicyFinding(
            *(each.rule, each.kind.value, "cannot tell", each.reason, each.message_index),
            None if each.call is None else render_call(each.call),
        )
        for each in found.doubts
    ]
    findings += [
        PolicyFinding(
            *(each.rule, each.kind.value, "rule failed", each.error, each.message_index),
            None if each.call is None else render_call(each.call),
        )
        for each in found.faults
    ]
    return PolicyCheck(found.clean, tuple(findings), found.unreadable)


def _of_breach(breach: Breach) -> PolicyFinding:
    call = None if breach.call is None else render_call(breach.call)
    return PolicyFinding(
        breach.rule,
        breach.kind.value,
        "form"
        if breach.kind is Kind.FORM
        else "tried"
        if not breach.done
        else "demanded"
        if breach.demanded
        else "broken",
        breach.text,
        breach.message_index,
        call,
        breach.values,
    )


class PolicyStatement(NamedTuple):
    """A statement of a policy, in our words, with its rules or the reason why it has none."""

    id: str
    heading: str
    pointer: str
    statement: str
    decidable: str
    rules: Sequence[str] = ()
    reason: str | None = None
    releases: Sequence[str] = ()


@dataclass(frozen=True)
class RuleBook:
    """The rules of a domain, and the statements of its policy that they come from."""

    domain: str
    rules: Sequence[Rule]
    statements: Sequence[PolicyStatement]

    @property
    def coverage(self) -> dict[str, tuple[int, int]]:
        """The statements that have a rule, and all of them, counted by what decides them."""
        return {
            kind: (sum(bool(each.rules) for each in mine), len(mine))
            for kind in ("records", "words", "no")
            if (mine := [each for each in self.statements if each.decidable == kind])
        }

    def to_dict(self) -> dict[str, Any]:
        """Return rules and statements as JSON values."""
        kept = ("id", "text", "place")
        return {
            "domain": self.domain,
            "rules": [
                {
                    **{name: getattr(each, name) for name in kept},
                    "kind": each.kind.value,
                    "tools": sorted(each.tools),
                    "releases": sorted(each.releases),
                }
                for each in self.rules
            ],
            "statements": [each._asdict() for each in self.statements],
        }


def rule_book(domain: str | Domain) -> RuleBook:
    """Return the rules of a domain's policy."""
    found = domain_named(domain)
    return RuleBook(found.name, list(found.rules), _statements(found.folder_name))


@cache
def _statements(name: str) -> Sequence[PolicyStatement]:
    place = resources.files("maseval.benchmark.tau2.domains") / name / STATEMENTS
    if not place.is_file():
        return ()
    return [PolicyStatement(**each) for each in json.loads(place.read_text(encoding="utf-8"))]
