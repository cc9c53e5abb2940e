"""An explained verdict in the form that the HTML report shows."""

from collections.abc import Iterator
from typing import Any

from maseval.benchmark.tau2.trust.explain import Explanation, WrongField
from maseval.benchmark.tau2.trust.explain.text import shown, shown_call
from maseval.commands.tau2.diagnosis import Diagnosis

# The page shows the checks with the verdict, and the fields of the end state as a table.
_SHOWN_ELSEWHERE = ("Checks", "End state")


def for_page(diagnosis: Diagnosis) -> dict[str, Any]:
    """The label, the wrong fields, and all else in words."""
    label, explanation = diagnosis.label, diagnosis.explanation
    form: dict[str, Any] = {
        "label": {"name": diagnosis.name, "rule": label.rule, "evidence": list(label.evidence)}
    }
    if explanation is not None:
        form["summary"] = explanation.summary
        form["fields"] = [_field(each) for each in explanation.wrong_fields]
        form["sections"] = list(_sections(explanation))
    return form


def _field(field: WrongField) -> dict[str, Any]:
    wrote, action = field.written_by, field.gold_action
    return {
        "place": str(field.place),
        "expected": shown(field.expected),
        "found": shown(field.found),
        "message": None if wrote is None else wrote.message_index,
        "call": None if wrote is None else shown_call(wrote.call),
        "remedy": None if action is None else shown_call(action.model_dump()),
    }


def _sections(explanation: Explanation) -> Iterator[dict[str, Any]]:
    """The text's paragraphs: a title, and lines below it."""
    for paragraph in explanation.text().split("\n\n")[1:]:
        title, *lines = paragraph.splitlines()
        if title not in _SHOWN_ELSEWHERE:
            yield {"title": title, "lines": lines}
