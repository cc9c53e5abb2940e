"""The labelling page: one conversation at a time, without what any judge says of it.

The viewer writes nothing unless it was started with ``write``; then only this page does, and only
labels. What is drawn follows from the request, so that the page can be closed at any time.
"""

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from maseval.app.benchmarks import support_for
from maseval.app.judging.label import USUAL_NUMBER, Labelling, begin_labelling
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.storage import strict_json
from maseval.report.conversation import conversation
from maseval.view.library import Library
from maseval.view.query import BadRequestError, Query, number_in, required_parts
from maseval.view.written import read_body

LABEL = "/api/label"


def label_state(library: Library, query: Query) -> object:
    """Answer with the conversation to label next, and how far the labeller is."""
    return _state(_labelling(library, query))


async def add_label(request: Request) -> Mapping[str, object]:
    """Keep a label, and answer with what comes next and what the judge had said."""
    library: Library = request.app.state.library
    given = await read_body(request, "label")
    try:
        one = Simulation(str(given["domain"]), str(given["task_id"]), int(given["trial"]))
        answer, note = str(given["answer"]), given.get("note")
    except (KeyError, TypeError, ValueError) as error:
        raise BadRequestError(f"this is no label: {error!s}") from error

    def keep() -> Mapping[str, object]:
        labelling = _labelling(library, request.query_params)
        if one not in labelling.chosen:
            raise ConfigurationError(f"{one} was not drawn; reload the page")
        labelling.add(one, answer, None if note is None else str(note))
        return {**_state(labelling), "said": labelling.judge_in_words(one)}

    return await run_in_threadpool(keep)


def _labelling(library: Library, query: Query) -> Labelling:
    run, by = required_parts(query, "run", "by")
    numbers = number_in(query, "numbers", USUAL_NUMBER)
    about, judge = query.get("about") or None, query.get("judge") or None
    path = library.path_of(run)
    return begin_labelling(path, by, about=about, judge=judge, numbers=numbers)


def _state(labelling: Labelling) -> dict[str, Any]:
    remaining = labelling.remaining
    state: dict[str, Any] = {
        "question": labelling.question.text,
        "answers": [*labelling.question.answers, "unsure"],
        "total": len(labelling.chosen),
        "labelled": len(labelling.chosen) - len(remaining),
        "shares": [str(each) for each in labelling.shares],
        "agreement": labelling.agreements,
    }
    if remaining:
        state["next"] = _conversation(labelling, remaining[0])
    return state


def _conversation(labelling: Labelling, one: Simulation) -> dict[str, Any]:
    report = labelling.folder.report(one)
    policies = support_for(labelling.folder).policies(labelling.folder)
    return {
        **one._asdict(),
        "wish": str(report["task"].get("query") or ""),
        "policy": next(iter(policies.get(one.domain, ())), ""),
        "messages": conversation(RecordedReport(report)),
    }


async def label_endpoint(request: Request) -> Response:
    """Answer a POST; the guard has checked that it comes from our own page."""
    found = await add_label(request)
    return Response(strict_json.dumps(found).encode("ascii"), media_type="application/json")
