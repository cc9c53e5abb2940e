"""What the parts of the review find in one report: breaches, known faults of its task, its user's.

The rules of a policy can be listed, too.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from maseval.benchmark.tau2.app.results.sources import ReadReport, read_report
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.formats.simulation import RewardInfo
from maseval.benchmark.tau2.results import Omitted
from maseval.benchmark.tau2.results.reports import Tau2Report
from maseval.benchmark.tau2.review.causes import user_findings, user_not_read
from maseval.benchmark.tau2.review.causes.users import LOOKED_FOR
from maseval.benchmark.tau2.review.errata import Erratum, errata_for, sound_finding
from maseval.benchmark.tau2.review.policy import check_case, not_checked
from maseval.benchmark.tau2.review.policy.rules import Rule
from maseval.benchmark.tau2.review.timeline import Timeline, timeline
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.world.replay import ReplayError
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, Finding
from maseval.core.outcome import verdict_for
from maseval.core.recorded import entries, mapping, number
from maseval.core.report import Report
from maseval.runs.recording import Recording

STATEMENTS = "statements.json"
SCRIPTED = "a script, which does not talk, played the agent: only rules about the state were asked"


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


def conduct_notes(folder: Recording) -> list[str]:
    """Say so where a script, which does not talk, played the agent."""
    first = next(iter(folder.reports()), None)
    return [SCRIPTED] if first is not None and Tau2Report(first).is_scripted else []


def user_faults() -> str:
    """Say which faults of simulated users are looked for."""
    return LOOKED_FOR


def timeline_of(report: Report) -> Timeline | None:
    """Return the world after each message; None without a conversation."""
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


def task_findings(folder: Recording) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the known faults of the tasks of a run."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    with suppress(MASEvalError):  # the data is elsewhere, or the domain somebody else's
        for key, one in sorted({one[:2]: one for one in folder.recorded}.items()):
            parsed = Tau2Report(folder.report(one))
            for each in errata_for(*key, parsed.release, parsed.judged_by):
                words = f"{each.what} Known from: {', '.join(each.known)}."
                name = f"{'remark' if each.is_remark else 'erratum'}: {each.kind}"
                found.setdefault(key, []).append((name, words))
    return found


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


def check_soundness(report: Report) -> Finding | None:
    """Return how a known fault of the task changes what counts; None if it changes nothing."""
    found = read_report(report)
    if isinstance(found, Omitted):
        return None
    passed = verdict_for(found.parsed.kind, found.parsed.status).passed
    try:
        case, errata = found.case, errata_of_report(found)
    except UnknownTaskError:
        return None
    try:
        sound = sound_finding(case, errata, _whole(found.simulation["reward_info"]))
    except (NoJudgeError, ReplayError):  # no judge was asked, or messages were deleted
        return None
    if sound is None or sound.kind == LEFT_OUT:
        return sound
    # A forged verdict counts otherwise than the conversation that the finding is about.
    return sound if passed is (sound.kind == SOUND_FAIL) else None


def errata_of_report(found: ReadReport) -> tuple[Erratum, ...]:
    """Return the known faults of the task of a report."""
    parsed, task_id = found.parsed, str(found.simulation["task_id"])
    return errata_for(parsed.world, task_id, parsed.release.name, parsed.judged_by)


def _whole(verdict: RewardInfo | None) -> RewardInfo | None:
    """Return a recorded verdict if it has what is needed of it; anybody may have written it."""
    given = mapping(verdict)
    is_whole = number(given.get("reward")) is not None and "reward_breakdown" in given
    return verdict if is_whole else None


def check_user_of_report(report: Report, cause: Finding | None) -> Sequence[Finding]:
    """Return the faults of the user of one simulation, if a model played it.

    A failure whose ``cause`` is the user is a fault as well, unless it was found already.
    """
    found = read_report(report)
    if isinstance(found, Omitted):
        return ()
    parsed = found.parsed
    if parsed.has_scripted_user:
        return ()
    if parsed.solo:
        return [user_not_read("no user took part")]
    try:
        case = open_case(
            found.simulation, parsed.world, parsed.judged_by, version=parsed.release.name
        )
    except UnknownTaskError as error:
        return [user_not_read(str(error))]
    return user_findings(case, cause)
