"""Why a simulation got its verdict, if its report comes with an explanation."""

from maseval.core.shapes import Shape, entries, mapping, number, text, text_or_none


def explanation(report: Shape) -> dict[str, object] | None:
    """A report's ``explanation`` in the form that the page shows, or nothing."""
    given = mapping(report, "explanation")
    shown: dict[str, object] = {
        "summary": text_or_none(given.get("summary")),
        "label": _label(mapping(given.get("label"))),
        "fields": [_field(mapping(each)) for each in entries(given.get("fields"))],
        "sections": [_section(mapping(each)) for each in entries(given.get("sections"))],
    }
    return shown if any(shown.values()) else None


def _label(label: Shape) -> dict[str, object] | None:
    if not label:
        return None
    return {
        "name": text(label.get("name", "")),
        "rule": text_or_none(label.get("rule")),
        "evidence": [text(line) for line in entries(label.get("evidence"))],
    }


def _field(field: Shape) -> dict[str, object]:
    """A field with a wrong value in the end state; ``message`` is the one that wrote it."""
    return {
        "place": text(field.get("place", "")),
        "expected": text_or_none(field.get("expected")),
        "found": text_or_none(field.get("found")),
        "message": number(field.get("message")),
        "call": text_or_none(field.get("call")),
        "remedy": text_or_none(field.get("remedy")),
    }


def _section(section: Shape) -> dict[str, object]:
    return {
        "title": text(section.get("title", "")),
        "lines": [text(line) for line in entries(section.get("lines"))],
    }
