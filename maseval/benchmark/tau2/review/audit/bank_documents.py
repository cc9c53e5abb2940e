"""Findings about documents of the bank that are wrong in themselves, or against each other.

Figures within one product agree, label by label. What does not are sums that do not add up, values
that a tool refuses, blanks that nobody filled in, and lists of the same things that differ.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from maseval.benchmark.tau2.domains.domain import DomainDocument
from maseval.benchmark.tau2.review.audit.bank import CONFLICT, BankGold
from maseval.benchmark.tau2.review.audit.references import document_finding
from maseval.benchmark.tau2.review.audit.subject import AuditedDomain, AuditedTask, Finding

_BLANK = re.compile(r"\[\[\w{3,60}\]\]")
_SUM = re.compile(
    r"(\d\.\d{1,3})% bonus APY on top of the base (\d\.\d{1,3})%[^\n]{0,20}total: (\d\.\d{1,3})%"
    r"|: (\d\.\d{1,3})%\n- [^\n]{0,40}: \+(\d\.\d{1,3})%\n- Total[^\n]{0,40}: (\d\.\d{1,3})%"
)
_CHOICES = re.compile(
    r"\d\. (?:\*\*)?(\w{5,40})(?:\*\*)? \(string\)[^\n]{0,120}\n((?: {2,6}- '[^\n]{3,200}\n){2,12})"
)
_ITEM = re.compile(r"- '(\w{3,60})'")
_CATEGORY = re.compile(
    r"^- (?:\*\*)?([A-Z][a-z]{3,14})(?:\*\*)?(?:: | \()([^)\n]{10,120})", re.MULTILINE
)


def faults_of_documents(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[Finding]:
    """Find what is wrong in the documents, with the tasks that need them."""
    for document in audited.documents:
        for blank in dict.fromkeys(_BLANK.findall(document.content)):
            text = f"{document.id} has {blank} where a figure should be"
            yield document_finding(audited, tasks, CONFLICT, text, document)
        for found in _SUM.finditer(document.content):
            one, other, total = (each for each in found.groups() if each)
            if abs(float(one) + float(other) - float(total)) > 1e-6:
                text = f"{document.id} adds {one}% and {other}% to {total}%"
                yield document_finding(audited, tasks, CONFLICT, text, document)
        yield from _values_refused(audited, tasks, document)
    yield from _categories(audited, tasks)


def _values_refused(
    audited: AuditedDomain, tasks: Sequence[AuditedTask], document: DomainDocument
) -> Iterator[Finding]:
    """Call a tool with each value that its document offers for an argument."""
    for name, listed in _CHOICES.findall(document.content):
        golds = (BankGold(task) for task in tasks)
        steps = (
            (gold, step)
            for gold in golds
            for step in gold.steps
            if name in step.arguments and step.tool in document.content
        )
        gold, step = next(steps, (None, None))
        for value in _ITEM.findall(listed) if gold and step else ():
            assert gold is not None and step is not None
            answer = gold.answer(gold.vary(step, **{name: value}), step.number)
            if answer.startswith(f"Error: Invalid {name}"):
                text = f"{document.id} offers {name} {value!r}, which {step.tool} refuses"
                yield document_finding(audited, tasks, CONFLICT, text, document)


def _categories(audited: AuditedDomain, tasks: Sequence[AuditedTask]) -> Iterator[Finding]:
    """Find kinds of spending that two lists of categories put into different ones."""
    places: dict[str, dict[str, DomainDocument]] = defaultdict(dict)
    for document in audited.documents:
        if "Rewards Categories" in document.title:
            for category, examples in _CATEGORY.findall(document.content):
                for each in re.split(r", (?:and )?", examples):
                    places[each.lower()][category] = document
    for example, named in places.items():
        documents = list(dict.fromkeys(named.values()))
        if len(named) > 1 and len(documents) > 1:
            by = " and to ".join(f"{name} by {document.id}" for name, document in named.items())
            text = f"{example!r} belong to {by}"
            yield document_finding(audited, tasks, CONFLICT, text, *documents)
