"""Tags and notes, changed in the viewer's page if it was started with ``--edit``."""

from collections.abc import Mapping

from maseval.runs import Annotations, change_note, change_tags, read_annotations
from maseval.view.answers import Answers, Body
from maseval.view.exceptions import BadRequestError
from maseval.view.library import Library


def remarks() -> Answers:
    """What the list of runs sends."""
    return Answers("remarks", sent={"/api/run/tags": _tags, "/api/run/note": _note})


def _tags(library: Library, body: Body) -> Mapping[str, object]:
    """Only what the reader changed is changed: others may have added tags meanwhile.

    ``was`` are the tags that the page had shown, by default those that are there now.
    """
    path = library.path_of(_text(body, "run"))
    tags = _texts(body, "tags")
    was = _texts(body, "was") if "was" in body else list(read_annotations(path).tags)
    gone = [tag for tag in was if tag not in tags]
    return _in_json(change_tags(path, [tag for tag in tags if tag not in was], gone))


def _note(library: Library, body: Body) -> Mapping[str, object]:
    """With ``was``, a note that somebody else has changed meanwhile is not overwritten."""
    path = library.path_of(_text(body, "run"))
    text = _text(body, "text")
    was = body.get("was")
    shown = was if isinstance(was, str) and was else None
    return _in_json(change_note(path, text, was=shown, check="was" in body))


def _in_json(found: Annotations) -> Mapping[str, object]:
    return {"tags": list(found.tags), "note": found.note}


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise BadRequestError(f"{name} must be a text")
    return value


def _texts(body: Body, name: str) -> list[str]:
    value = body.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRequestError(f"{name} must be a list of texts")
    return value
