"""Findings in words: as sections for the terminal and for pages, and as names to filter by."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from maseval.core.finding import Finding, Section, Source, Weight, read_findings
from maseval.core.report import Report


@dataclass(frozen=True)
class VerdictExplanation:
    """The explanation of a verdict beside the findings.

    ``summary`` says in a sentence what decided it, ``sections`` what led to it, and ``fields``
    lists what is wrong in the end state, in the form of the HTML page. ``record`` has all of it
    for scripts.
    """

    summary: str
    sections: Sequence[Section] = ()
    fields: Sequence[Mapping[str, object]] = ()
    record: Mapping[str, object] | None = None

    def to_dict(self) -> Mapping[str, object]:
        return self.record or {"summary": self.summary, "sections": list(self.sections)}


class Review(NamedTuple):
    """A review of a simulation by its benchmark: the findings, and what explains the verdict."""

    findings: Sequence[Finding] = ()
    explanation: VerdictExplanation | None = None

    @property
    def sections(self) -> list[Section]:
        """All of it in words, who failed first."""
        sections = [
            Section(f"{each.name} (rule: {each.rule})", _fact_and_evidence(each))
            for each in self.findings
            if each.source == "cause"
        ]
        if (told := self.explanation) is not None:
            sections += [Section(told.summary), *told.sections]
        return [*sections, *_sections_below(self.findings)]

    def to_dict(self) -> dict[str, Any]:
        told = self.explanation
        return {
            "findings": [each.to_dict() for each in self.findings],
            "explanation": None if told is None else asdict(told),
        }

    @classmethod
    def read(cls, form: Mapping[str, Any]) -> "Review":
        told = form["explanation"]
        if told is not None:
            sections = [Section(*each) for each in told["sections"]]
            told = VerdictExplanation(**{**told, "sections": sections})
        return cls(read_findings(form["findings"]), told)


MISFIT = "task does not fit"
"""The kind of the finding that the task is not that of the conversation."""


def misfit(words: str, *, passed: bool = False) -> Finding:
    """Return the finding that a task does not fit, so that nothing else is looked for.

    Nobody failed it, as far as anyone can tell.
    """
    source: Source = "record" if passed else "cause"
    weight: Weight = "remark" if passed else "state"
    rule = "task of another conversation"
    return Finding(source, "unclear", MISFIT, rule, words, weight=weight)


# A cause stands above the explanation of the verdict, and all else below it.
_TITLES: Mapping[Source, str] = {
    "policy": "The policy",
    "user": "The simulated user",
    "erratum": "The task",
    "audit": "The task",
    "record": "The record",
}


def cause_in(findings: Iterable[Finding]) -> Finding | None:
    """Return the finding that says who failed; None if there is none."""
    return next((each for each in findings if each.source == "cause"), None)


def names_of(findings: Iterable[Finding]) -> list[str]:
    """Return the names to filter simulations by, each once; a remark is no reason to look."""
    return [*dict.fromkeys(each.name for each in findings if each.weight != "remark")]


def lines_of(findings: Iterable[Finding]) -> list[str]:
    """Return findings in sentences, what counts first; rules that say the same share one."""
    order = ("state", "manner", "remark")
    alike: dict[Finding, list[str]] = {}
    for each in sorted(findings, key=lambda each: (not each.counts, order.index(each.weight))):
        alike.setdefault(replace(each, rule=""), []).append(each.rule)
    lines: list[str] = []
    for each, rules in alike.items():
        lines.append(str(replace(each, rule=", ".join(dict.fromkeys(rules)))))
        lines += (f"  {line}" for line in each.evidence)
    return lines


def _sections_below(findings: Sequence[Finding]) -> list[Section]:
    sections = []
    for source, title in _TITLES.items():
        if mine := [each for each in findings if each.source == source]:
            kinds = ", ".join(dict.fromkeys(each.kind for each in mine))
            sections.append(Section(f"{title}: {kinds}", lines_of(mine)))
    judged = [each for each in findings if each.source == "judge"]
    for judge in dict.fromkeys(each.by for each in judged):
        mine = [each for each in judged if each.by == judge]
        sections.append(Section(f"Judged by {judge}", lines_of(mine)))
    return sections


def _fact_and_evidence(cause: Finding) -> list[str]:
    where = "" if cause.message is None else f"message {cause.message}: "
    return [f"{where}{cause.text}", *cause.evidence]


def labels_of(review: Review) -> list[str]:
    """Return the names to filter simulations by: of the findings, and of the calls at fault."""
    fields = () if review.explanation is None else review.explanation.fields
    calls = dict.fromkeys(filter(None, map(_call_at_fault, fields)))
    return [*names_of(review.findings), *calls]


def without_words(review: Review) -> Review:
    """Return a review that says who and what; equal findings are one object."""
    # Shared objects: a large run has thousands of findings, and few that differ once their words
    # are gone.
    findings = [
        _same(replace(each, text="", message=None, call=None, evidence=()))
        for each in review.findings
    ]
    if review.explanation is None:
        return Review(findings)
    fields = [{part: _tool(each, part) for part in _CALLS} for each in review.explanation.fields]
    return Review(findings, VerdictExplanation("", fields=fields))


@lru_cache(maxsize=4096)
def _same(found: Finding) -> Finding:
    return found


_CALLS = ("call", "remedy")


def _tool(field: Mapping[str, object], part: str) -> str:
    # A few names of tools stand in thousands of reviews, which then share them.
    return sys.intern(str(field.get(part) or "").partition("(")[0])


def _call_at_fault(field: Mapping[str, object]) -> str | None:
    """Name the call that left a field wrong, by which failures with the same fault are found."""
    made, wanted = (_tool(field, part) for part in _CALLS)
    if made and made == wanted:
        return f"wrong arguments: {made}"
    if wanted:
        return f"missing call: {wanted}"
    return f"wrong call: {made}" if made else None


def complete_report(report: Report, title: str | None, review: Review) -> dict[str, object]:
    """Return a report with all that pages show of it beside the record: labels and reasons."""
    findings, explanation = review
    shown: dict[str, object] = {**report, "title": title}
    if labels := labels_of(review):
        shown["labels"] = labels
    form: dict[str, object] = {}
    if cause := cause_in(findings):
        wrote = [each.get("message") for each in explanation.fields] if explanation else []
        # Where the cause names no message, the page points to the first that left a field wrong.
        first = min((each for each in wrote if isinstance(each, int)), default=None)
        form["message"] = first if cause.message is None else cause.message
        form["label"] = {
            "name": cause.name,
            "rule": cause.rule,
            "evidence": _fact_and_evidence(cause),
            "meaning": cause.text,
        }
    if explanation is not None:
        form |= {"summary": explanation.summary, "fields": list(explanation.fields)}
    sections = [*(explanation.sections if explanation else ()), *_sections_below(findings)]
    if on_page := [each for each in sections if each.on_page]:
        form["sections"] = [{"title": each.title, "lines": list(each.lines)} for each in on_page]
    return {**shown, "explanation": form} if form else shown
