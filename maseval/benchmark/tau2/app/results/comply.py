"""``maseval tau2 comply``: which rules of the policy recorded conversations broke."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from maseval.app.results.examined import FINDINGS, examine_run
from maseval.app.results.finding import open_recording
from maseval.app.results.recording import notes_on
from maseval.app.results.variants import SOUND, VariantScore
from maseval.benchmark.tau2.app.results.recorded_setup import TAU2
from maseval.benchmark.tau2.app.results.sources import Files, FilesRead, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.results.reports import Tau2Report
from maseval.benchmark.tau2.review.policy import check_case, not_checked
from maseval.benchmark.tau2.review.policy.rules import Rule
from maseval.core.finding import Finding
from maseval.core.outcome import Simulation
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictCheck

STATEMENTS = "statements.json"
SCRIPTED = "a script, which does not talk, played the agent: only rules about the state were asked"


class RuleCount(NamedTuple):
    """The number of passes, and of all simulations, in which a rule came to one kind of finding."""

    rule: str
    kind: str
    passes: int
    simulations: int


@dataclass(frozen=True)
class CompliedRun:
    """A run or results file, and what the rules of the policy found in its simulations.

    ``without_rules`` names the domains that have no rules, so nothing is known of their passes.
    ``check`` compares the recorded verdicts with recomputed ones. ``estimate`` says that the tasks
    were chosen, if they were. ``notes`` say what is wrong with the record.
    """

    path: Path
    found: Mapping[Simulation, Sequence[Finding]]
    passes: AbstractSet[Simulation]
    scores: Sequence[VariantScore]
    without_rules: Sequence[str] = ()
    check: VerdictCheck | None = None
    estimate: str | None = None
    notes: Sequence[str] = ()

    @property
    def rules(self) -> list[RuleCount]:
        """The number of simulations by rule and kind; each counts once, however often it is so."""
        every, passing = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for one, findings in self.found.items():
            keys = {(each.rule, each.kind) for each in findings}
            every.update(keys)
            passing.update(keys if one in self.passes else ())
        ranked = sorted(every, key=lambda key: (key[1], -every[key], key[0]))
        return [RuleCount(*key, passing[key], every[key]) for key in ranked]

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "without_rules": list(self.without_rules),
            "verdicts": None if self.check is None else self.check.note_on_recomputed,
            "estimate": self.estimate,
            "notes": list(self.notes),
            "scores": [each.to_dict() for each in self.scores],
            "rules": [each._asdict() for each in self.rules],
            "simulations": [
                {
                    **one._asdict(),
                    "passed": one in self.passes,
                    "findings": [each.to_dict() for each in findings],
                }
                for one, findings in self.found.items()
            ],
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
    found = examine_run(folder, FINDINGS, on_progress)
    domains = dict.fromkeys(one.domain for one in folder.planned)
    without_rules = [name for name in domains if not domain_named(name).rules]
    first = next(iter(folder.reports()), None)
    scripted = first is not None and Tau2Report(first).is_scripted
    return CompliedRun(
        folder.path,
        {
            one: [each for each in findings if each.source == "policy"]
            for one, findings in found.findings.items()
            if one.domain not in without_rules
        },
        found.passes,
        [each for each in found.scores if each.counted != SOUND.name],
        without_rules,
        found.check,
        folder.config.subset and folder.config.subset.note,
        [*notes_on(folder), *([SCRIPTED] if scripted else [])],
    )


def check_report(report: Report) -> Sequence[Finding]:
    """Return what the rules of its domain find in a simulation."""
    found = read_report(report)
    if isinstance(found, Omitted):
        return ()
    domain = found.parsed.world
    if not domain.rules:
        return not_checked(f"the domain {domain.name} has no rules").findings
    try:
        return check_case(found.case, scripted=found.parsed.is_scripted).findings
    except UnknownTaskError as error:
        return not_checked(str(error)).findings


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
    place = resources.files("maseval.benchmark.tau2.review.policy") / name / STATEMENTS
    if not place.is_file():
        return ()
    return [PolicyStatement(**each) for each in json.loads(place.read_text(encoding="utf-8"))]
